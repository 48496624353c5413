"""Extract the claims of a session: every clause of every turn, read by the rules. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from functools import cache, partial
from itertools import islice

import msgspec

from lamina.engines.claims import (
    Claim,
    Turn,
    answers,
    attributes,
    changes,
    contrasts,
    denials,
    instructions,
    judge,
    languages,
    mentions,
    notes,
    people,
    predicates,
    quantities,
    reasons,
    references,
    sentences,
    spoken,
    statements,
    tagged,
    tagger,
    updates,
    words,
)
from lamina.engines.claims.changes import Ending
from lamina.engines.claims.denials import Affirmed
from lamina.engines.claims.memory import Memory, Taken
from lamina.engines.claims.opening import Judge, Opening
from lamina.engines.claims.people import People, Relation
from lamina.engines.claims.predicates import Parsed, Subject
from lamina.engines.claims.revocations import Standing
from lamina.engines.claims.rule import Cues, Phrase
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import Clause, by_sentence
from lamina.engines.claims.tagger import Network, Tags
from lamina.text.patterns import LONGEST

MOST_CLAIMS = 200  # of one turn: more is a list, and no speech
# The names under which unread text is counted.
LONG_TURNS, STRETCHES, TALKATIVE = "long turns", "stretches", "talkative turns"
PHRASES, ENDINGS = Cues(statements.PHRASES), Cues(changes.ENDINGS)
EATING = frozenset({"diet", "allergy"})
SHORTLY = timedelta(days=2)
HEARD = 600  # characters of a machine's turn in which its question is looked for


def extract(
    turns: Sequence[Turn],
    known: Sequence[Claim] = (),
    check: Callable[[], None] = lambda: None,
    unread: Counter[str] | None = None,
    judged: Judge = judge.judged,
    network: Callable[[], Network] = tagger.shipped,
) -> list[list[Claim]]:
    """Extract the claims of each turn of a session, in order.

    `known` is what holds already, the latest last. `check` is called before each turn, and may
    raise to end the reading; `unread` counts what was too long to be read. `judged` says how sure
    a claim with some features is, `network` tags the words of turns.
    """
    reader = _Reader(turns, known, Counter() if unread is None else unread, judged, network)
    claims = []
    for number, turn in enumerate(turns):
        check()
        claims.append(reader.read(number, turn))
    return claims


class _Reader:
    """Reads one session, turn by turn."""

    def __init__(
        self,
        turns: Sequence[Turn],
        known: Sequence[Claim],
        unread: Counter[str],
        judged: Judge,
        network: Callable[[], Network],
    ) -> None:
        self.unread, self.judged, self.network, self.known = unread, judged, network, known
        self.people = People([turn.speaker for turn in turns])
        self.people.remember({claim.subject for claim in known})
        self.memory = Memory(known)
        self.heard = ""  # the turn before
        self.question: Callable[[], str] = str  # looks for the attribute that it asked for
        self.lately: dict[str, list[Claim]] = {}  # the last claims of each speaker by rules
        self.stated: dict[str, Sequence[Claim]] = {}  # all claims of their last turns
        self.affirmed = Affirmed(known)
        self.standing = Standing(known)

    def read(self, number: int, turn: Turn) -> list[Claim]:
        is_machine = people.is_machine(turn.speaker)
        plain = sentences.said(turn.text[-HEARD:] if is_machine else turn.text)
        plain = plain if turn.speaker else sentences.noted(plain)
        said = Said(turn, plain, turn.speaker or "", number)
        self.unread[LONG_TURNS] += len(turn.text) > sentences.LONGEST
        if is_machine and _has_no_stretch(plain):
            self.heard, self.question = plain, lambda: answers.asked(plain, self._clauses(said))
            return []
        clauses = self._clauses(said)
        claims = [] if is_machine else self._read(said, clauses)
        self.unread[TALKATIVE] += len(claims) >= MOST_CLAIMS
        self.heard, self.question = plain, partial(answers.asked, plain, clauses)
        return _in_order(claims)

    def _read(self, said: Said, clauses: Sequence[Clause]) -> list[Claim]:
        """Read a person's turn, in the language that it is in."""
        is_alone = not self.people.hear(said.speaker)
        if said.speaker and (tongue := spoken.of(said.plain)):
            claims = list(languages.read(tongue, said, clauses, alone=is_alone))
            tags, stated = self._tags(said, clauses), languages.stated(tongue, said.plain, clauses)
            turn = self._opening(said, stated, tags)
            claims += turn.noted(claims, is_foreign=True)
            return self._ended(said, stated, claims[:MOST_CLAIMS], tags)
        if not spoken.is_english(said.plain):
            return []
        if not said.speaker:
            return self._noted(said, clauses)[:MOST_CLAIMS]
        tags = self._tags(said, clauses)
        claims = self._claims(said, clauses, tags)
        return [*claims, *self._instructed(said, clauses, tags)] if is_alone else claims

    def _instructed(
        self, said: Said, clauses: Sequence[Clause], tags: Callable[[], Tags]
    ) -> list[Claim]:
        """Read what the speaker wants from now on, and what no longer."""
        claims = list(instructions.given(said, clauses, tags, self.standing))
        for claim in claims:
            self.standing.note(claim)
        return claims

    def _noted(self, said: Said, clauses: Sequence[Clause]) -> list[Claim]:
        """Claim what a note says, also what it says in the place of whom it is about."""
        claims = list[Claim]()
        if ours := notes.shared(said, clauses):
            claims += self._ours(*ours[:2])
            clauses = ours[2]
        owned, rest = notes.owned(said, clauses)
        claims += self._claims(said, rest, self._tags(said, rest))
        for voice in owned:
            claims += self._voiced(voice)
        for voice in notes.acting(said, rest, claims, self.people.knows):
            claims += self._voiced(voice)
        return claims

    def _ours(self, said: Said, clauses: Sequence[Clause]) -> Iterator[Claim]:
        """Claim what a note of a project says in its place."""
        found = self._claims(said, clauses, self._tags(said, clauses))
        return (one for one in found if notes.is_shared(one, said.speaker))

    def _voiced(self, voice: notes.Voice) -> Iterator[Claim]:
        tags = self._tags(voice.said, voice.clauses)
        return voice.told(self._claims(voice.said, voice.clauses, tags))

    def _tags(self, said: Said, clauses: Sequence[Clause]) -> Callable[[], Tags]:
        """Ask the network about a turn once, and only if anybody wants to know."""
        return cache(partial(self._tagged, said, clauses))

    def _tagged(self, said: Said, clauses: Sequence[Clause]) -> Tags:
        is_talk = bool(self.people.listener(said.speaker))
        return self.network().tag(said.plain, clauses, is_talk=is_talk)

    def _clauses(self, said: Said) -> list[Clause]:
        """List the clauses that are read, and count what is not."""
        clauses = list(sentences.clauses(said.plain))
        read = [clause for clause in clauses if clause.end - clause.start <= LONGEST]
        self.unread[STRETCHES] += len(clauses) - len(read)
        return read

    def _claims(
        self, said: Said, clauses: Sequence[Clause], tags: Callable[[], Tags]
    ) -> list[Claim]:
        self.people.listen(said.plain, said.speaker, said.number)
        lowered = said.plain.lower()
        phrases = PHRASES.found(lowered) if said.speaker else []
        endings = ENDINGS.found(lowered)
        taken, hearsay = Taken(), set[int]()
        self._take(self._related(said, clauses), taken)
        for clause, before in zip(clauses, (None, *clauses), strict=False):
            parsed = predicates.parse(said.plain, clause, statements.VERBS, self.people.named)
            is_unsure = clause.asks or clause.doubted
            if not is_unsure and denials.is_denied(said, clause, before):
                hearsay.add(clause.start)
                self._take(denials.turned(self._stated(said, clause, parsed, phrases)), taken)
            elif not is_unsure and self._is_hearsay(said, parsed, clause, before):
                hearsay.add(clause.start)
            elif not is_unsure:
                self._take(self._stated(said, clause, parsed, phrases), taken)
                updated = self._updated(said, clause, parsed, endings)
                self._take(_not_stated(updated, clause, taken.claims), taken)
                self._take(updates.instead(said, clause, taken.claims), taken)
        if not said.speaker:
            return taken.claims
        self._take(_whole(said, clauses, phrases), taken)
        self._take(updates.outcomes(said), taken)
        self._take(updates.over(said, self.heard, self.memory), taken)
        self._take(answers.answered(said, clauses, self.question, taken.claims), taken)
        self._take(answers.self_answered(said, clauses), taken)
        claims = self._corrected(said, clauses, taken.claims)
        turn = self._opening(said, clauses, tags)
        settled = self._settled(said, clauses, turn.widened(claims, hearsay), tags)[:MOST_CLAIMS]
        self.lately[said.speaker] = settled or self.lately.get(said.speaker, [])
        return settled

    def _opening(self, said: Said, clauses: Sequence[Clause], tags: Callable[[], Tags]) -> Opening:
        is_talk = bool(self.people.listener(said.speaker))
        things = self.affirmed.nouns(said.speaker)
        return Opening(said, clauses, self.judged, tags, is_talk=is_talk, things=things)

    def _settled(
        self,
        said: Said,
        clauses: Sequence[Clause],
        claims: Sequence[Claim],
        tags: Callable[[], Tags],
    ) -> list[Claim]:
        """Let denials and retractions take back what was said before."""
        given = reasons.given(said, claims)
        given = contrasts.corrected(said, clauses, given, self.affirmed)
        placed = references.resolved(said, clauses, given, self.affirmed)
        settled = denials.settled(placed, self.affirmed)
        before = self.stated.get(said.speaker, ())
        settled = denials.retracted(said, settled, before, self.affirmed)
        settled = _in_place(said, clauses, settled, self.affirmed)
        if not self.people.listener(said.speaker):
            settled = quantities.updated(said, clauses, settled, self.affirmed, tags)
        settled = self._ended(said, clauses, settled, tags)
        for claim in settled:
            if ":" in claim.attribute:
                self.memory.note(claim)
        self.stated[said.speaker] = settled
        return settled

    def _ended(
        self,
        said: Said,
        clauses: Sequence[Clause],
        claims: list[Claim],
        tags: Callable[[], Tags],
    ) -> list[Claim]:
        """Add that what a message mentions is over, and note what is so now."""
        if not self.people.listener(said.speaker):
            claims = mentions.over(said, clauses, claims, self.affirmed, tags)
        for claim in claims:
            self.affirmed.note(claim)
        return claims

    def _take(self, claims: Iterable[Claim], taken: Taken) -> None:
        """Keep what this turn has not said before."""
        for claim in claims:
            # "My brother is called Jan" says nothing about Jan.
            is_nothing = claim.attribute == "nickname" and claim.value == claim.subject
            if not is_nothing and len(taken.claims) < MOST_CLAIMS and taken.add(claim):
                self.memory.note(claim)

    def _related(self, said: Said, clauses: Sequence[Clause]) -> Iterator[Claim]:
        """Claim the people of the speaker."""
        speaker = said.speaker
        if not speaker:
            return
        for one in people.relations(said.plain):
            if one.attribute and (one.name or self._is_worth(speaker, one)):
                confidence, where = 0.9 if one.name else 0.85, (one.start, one.end)
                claim = said.claim(
                    speaker, one.attribute, one.shown, where, confidence, answers.MINE
                )
                known = self.memory.unnamed(speaker, one.attribute, one.kin)
                yield msgspec.structs.replace(claim, replaces=known if one.name else None)
        for one in people.household(said.plain):
            if not _is_asked(clauses, one.start):
                where = (one.start, one.end)
                yield said.claim(speaker, one.attribute, one.shown, where, 0.65, "household")
        listener = self.people.listener(speaker)
        if listener and (found := people.FRIENDSHIP.search(said.plain)):
            yield said.claim(speaker, "friend", listener, found.span(), 0.75, answers.FRIENDSHIP)

    def _is_worth(self, speaker: str, relation: Relation) -> bool:
        """Tell if a relation without a name says anything new."""
        if relation.attribute == "partner":
            return not self.memory.last(speaker, ["partner"])
        return relation.attribute not in ("friend", "colleague")

    def _stated(
        self, said: Said, clause: Clause, parsed: Parsed, phrases: Iterable[Phrase]
    ) -> Iterator[Claim]:
        """Claim what a clause says by itself."""
        has_deed = False  # small things that were done besides are part of it
        for predicate in parsed.predicates:
            if about := self._who(predicate.subject, said):
                yield from updates.denied(said, predicate, about, self.memory)
                is_known = predicate.subject.kind != "named" or self.people.knows(about)
                for claim in statements.ruled(said, clause, predicate, about):
                    if has_deed and claim.rule == "did_lightly":
                        continue
                    if is_known or claim.rule in statements.PERSONAL:
                        yield claim
                        has_deed = has_deed or claim.attribute == "did"
                        self.people.mention(about, "", said.number)
        lowered = said.part(clause).lower()
        is_other = parsed.subject is not None and parsed.subject.kind != "self"
        for one in phrases:
            is_theirs = is_other and one.attribute in EATING  # "my cat is on a renal diet"
            if not one.wide and not is_theirs and one.cue.search(lowered):
                yield from statements.phrased(said, clause, one)

    def _updated(
        self, said: Said, clause: Clause, parsed: Parsed, endings: Iterable[Ending]
    ) -> Iterator[Claim]:
        """Claim what a clause changes of what is known."""
        about = self._who(parsed.subject, said) if parsed.subject else said.speaker
        if parsed.subject and parsed.subject.kind == "named" and not self.people.knows(about):
            about = said.speaker  # "Japan's off"
        if parsed.subject and people.is_possessor(said.plain, parsed.subject.start):
            about = ""  # "Ida's sister gave up nursing"
        yield from updates.updated(said, clause, about, self.memory, endings)

    def _is_hearsay(
        self, said: Said, parsed: Parsed, clause: Clause, before: Clause | None
    ) -> bool:
        """Tell if a clause is hearsay: "a rumour that I've left", not "he said that he's left"."""
        if clause.link != "that" or not before:
            return False
        teller = predicates.parse(said.plain, before, statements.VERBS, self.people.named).subject
        is_reported = predicates.is_telling(said.plain, before)
        if is_reported and teller and teller.kind == "named":
            self.people.mention(teller.name, "", said.number)
        kinds = {one.kind for one in (teller, parsed.subject) if one}
        is_own = bool(teller and parsed.subject) and (len(kinds) == 1 or "self" not in kinds)
        is_own = is_own or (teller is not None and teller.kin in words.JOBS)  # "my doctor says"
        return before.doubted or (is_reported and not is_own)

    def _who(self, subject: Subject, said: Said) -> str:
        """Name the person a clause is about; empty when that is not clear."""
        if subject.kind == "self":
            return said.speaker
        if subject.kind in ("he", "she"):
            return self.people.meant(subject.kind, said.number)
        if subject.kind == "who":
            return people.just_named(said.plain[: subject.start])
        if subject.kin in words.ANIMALS:
            return ""
        return subject.name or self.people.kin(said.speaker, subject.kin)

    def _before(self, said: Said) -> list[Claim]:
        """List what was said shortly before the session, which its first turn may correct."""
        if said.number:
            return []
        since = said.turn.at - SHORTLY
        return [claim for claim in self.known[-answers.MOST_TOPICS :] if claim.at >= since]

    def _corrected(self, said: Said, clauses: Sequence[Clause], found: list[Claim]) -> list[Claim]:
        """Mark claims that correct the last one, or add one for a value that stands alone."""
        earlier = self.lately.get(said.speaker, self._before(said))
        cue = answers.takes_back(said, [] if found else earlier[-answers.MOST_TOPICS :])
        if cue is None:
            return found
        before = [claim for claim in found if claim.end <= cue]
        inline = [claim for claim in before if "." not in said.plain[claim.end : cue]]
        latest_first = filter(answers.is_topic, reversed([*earlier, *inline]))
        topics = list(islice(latest_first, answers.MOST_TOPICS))
        for topic in topics:
            again = [claim for claim in found if claim.start >= cue and _is_of(claim, topic)]
            if again:
                return [_correcting(claim, topic) if claim in again else claim for claim in found]
        for topic in topics:
            if right := answers.right_value(said, clauses, topic):
                about = topic.subject, topic.attribute
                claim = _correcting(said.claim(*about, right, right, 0.8, "corrected"), topic)
                self.memory.note(claim)
                return [*found, claim]
        return found


def _has_no_stretch(plain: str) -> bool:
    """Tell if no clause can be too long to be read: the text is short, or a line ends within."""
    return len(plain) <= LONGEST or "\n" in plain[len(plain) - LONGEST : LONGEST]


def _in_order(claims: Sequence[Claim]) -> list[Claim]:
    """Sort claims by their words; the end of a value comes after what replaces it.

    So the later value follows it: "we switched from PostgreSQL to SQLite".
    """
    replaced = {(one.subject, one.attribute, one.replaces) for one in claims if one.replaces}

    def place(one: Claim) -> tuple[bool, int, int]:
        is_replaced = (one.subject, one.attribute, one.value) in replaced
        return one.until is not None and is_replaced, one.start, one.end

    return sorted(claims, key=place)


def _not_stated(
    updated: Iterable[Claim], clause: Clause, claims: Iterable[Claim]
) -> Iterator[Claim]:
    """Leave out ends of what the clause states: "I bake every May Day instead of in May"."""
    own = [one for one in claims if clause.start <= one.start < clause.end and not one.negated]
    stated = {(one.subject, one.attribute, one.value) for one in own}
    for one in updated:
        is_beside = one.rule == changes.INSTEAD_OF  # what is done, and instead of what
        if not (is_beside and (one.subject, one.attribute, one.value) in stated):
            yield one


def _in_place(
    said: Said, clauses: Sequence[Clause], claims: list[Claim], affirmed: Affirmed
) -> list[Claim]:
    """Claim what is now in the place of a known thing that is denied: "it's Dario now"."""
    denied = [
        one
        for one in claims
        if one.negated and one.attribute.startswith(attributes.HAS)
        if any(
            known.attribute == one.attribute for known in affirmed.sharing(one.subject, one.value)
        )
    ]
    placed = [one for clause in clauses for one in updates.instead(said, clause, denied)]
    others = [
        one
        for one in claims
        if one.rule != tagged.RULE
        or not any(new.start < one.end > one.start < new.end for new in placed)
    ]
    return [*others, *placed]


def _whole(said: Said, clauses: Sequence[Clause], phrases: Iterable[Phrase]) -> Iterator[Claim]:
    """Claim what whole sentences say."""
    wide = [one for one in phrases if one.wide]
    for parts in by_sentence(clauses) if wide else ():
        if not any(clause.asks or clause.doubted for clause in parts):
            for one in wide:
                yield from statements.phrased(said, parts[0]._replace(end=parts[-1].end), one)


def _is_asked(clauses: Sequence[Clause], place: int) -> bool:
    """Tell if the clause around a position asks."""
    around = bisect_right(clauses, place, key=lambda clause: clause.start) - 1
    return around >= 0 and place < clauses[around].end and clauses[around].asks


def _is_of(claim: Claim, topic: Claim) -> bool:
    about, same = (claim.subject, claim.attribute), (topic.subject, topic.attribute)
    return about == same and not claim.negated


def _correcting(claim: Claim, topic: Claim) -> Claim:
    is_other = topic.value.casefold() != claim.value.casefold()
    replaced = topic.value if is_other else claim.replaces
    return msgspec.structs.replace(claim, corrects=True, replaces=replaced)
