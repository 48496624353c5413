"""The default ranker (Q5): a weighted sum of words, meaning, speaker, time and other named parts.

The scores of all visible records are estimated from the catalogue, and those of the best are
computed exactly. The weights were tuned on conversations between people and with assistants
(docs/decisions/0008).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

from lamina.embedders import Embedder, Scale
from lamina.embedders.wordllama import WordLlama
from lamina.model.record import Hits
from lamina.search import apart, bm25, content, echoes, hits, late, prompt, renewal, segments, trust
from lamina.search.answerable import Crowd, Evidence
from lamina.search.question import Question
from lamina.search.request import MICROS_PER_DAY, Column, Request
from lamina.search.similarity import Similarity, similarity
from lamina.store.index.catalogue import Mask, Rows, mark
from lamina.store.index.distinct import grouped, united
from lamina.text import cues
from lamina.text.words import terms

# The weights of the parts of an estimate, by which candidates are found.
WORDS, MEANING, MODEL = 0.40, 0.30, 0.30
WHO, ROLE, TIME, WISH = 0.20, -0.40, 0.40, 0.30
ECHO, RECENCY, IMPORTANCE = -0.30, 0.02, 0.05
CANDIDATES, GLANCE = 200, 100
A_LITTLE_ALIKE = 0.1  # the least cosine of hits without evidence, for questions about the user
ABOVE_CHANCE = 1.0  # spreads of a sentence model that make a memory worth showing
LATE_FOR = 30  # the best candidates by all other parts
OWN = 50  # candidates that are not external, however many others fit better
NEAR_MEANING = 0.45  # the weight of the meaning of the turn before or after
SECOND = (
    0.5  # for a speaker who is named second: "what did Jon say about Gina" asks for Jon's words
)
LATE_DAYS, LATE = 7, 0.6  # people tell on the 9th what they did on the 7th
SPOKEN_OF = 0.8  # for a text that mentions the day, whenever it was said
FULL_LENGTH = 60  # words
LEAST_COSINE = 0.05  # the minimal denominator of shares
LEAST_SCORE = 1e-9
# The mean of ordinary texts is known for one embedder. For others, the store's own memories replace
# them and count less: they may all be about the question.
BACKGROUND_OF, ORDINARY, OTHERS = WordLlama.name, 0.30, 0.35
NOTHING = -1.0  # the confidence if there is no candidate

Views = Sequence[Similarity]


class Weights(msgspec.Struct, frozen=True):
    """The weights of the parts of a score by name; `near` is for neighbours by the model."""

    words: float
    meaning: float
    who: float
    time: float
    session: float
    role: float
    answer: float
    asks: float
    length: float
    wish: float
    model: float = 0.0
    near: float = 0.0
    late: float = 0.0
    apart: float = 0.0


# For word vectors alone, and with a sentence model (docs/decisions/0040).
ALONE = Weights(
    words=0.40,
    meaning=0.375,
    who=0.18,
    time=0.40,
    session=0.10,
    role=-0.40,
    answer=0.10,
    asks=-0.08,
    length=0.20,
    wish=0.30,
)
BESIDE_MODEL = Weights(
    words=0.30,
    meaning=0.30,
    who=0.30,
    time=0.70,
    session=0.35,
    role=-0.50,
    answer=0.25,
    asks=-0.08,
    length=0.0,
    wish=0.30,
    model=0.065,
    near=0.02,
    late=0.15,
    apart=0.10,
)


def rank(request: Request, embedders: Sequence[Embedder], *, boosts: bool) -> Hits:
    """Return the records with the highest sum of all parts; none if nothing seems an answer."""
    pieces = segments.split(request.query)
    if request.following:
        pieces += prompt.context(request, pieces)
    if len(pieces) == 1:
        return _ranked(Question(request, boosts=boosts), embedders)

    def judge(question: Question) -> float:
        found = Candidates(question, embedders, is_glance=True)
        return found.confidence() if len(found.rows) else NOTHING

    question, confidence = prompt.read(request, pieces, judge, boosts=boosts)
    if confidence < 0 and not question.least:
        return Hits((), request.notes, confidence)
    return _ranked(question, embedders, confidence)


def _ranked(
    question: Question, embedders: Sequence[Embedder], confidence: float | None = None
) -> Hits:
    """Rank the candidates of one question, given the confidence in an answer if it is known."""
    request = question.request
    found = Candidates(question, embedders)
    rows, words = found.rows, found.words
    if not len(rows):
        return Hits((), request.notes)
    parts = _parts(found)
    if confidence is None:
        confidence = found.confidence(parts["echo"] < 0)
    if confidence < 0 and not question.least:
        return Hits((), request.notes, confidence)
    related = found.is_related() if confidence >= 0 else np.zeros(len(rows), np.bool_)
    if not related.any() and question.least:
        related = _nearest(found, _total(parts), question.least)
    shown = np.flatnonzero(related)
    rows, parts = rows[shown], {name: part.take(shown) for name, part in parts.items()}
    score = _total(parts)
    renewed = parts["renewed"] = renewal.lifts(request, question, words, rows, score)
    step = found.weights.apart
    parts["apart"] = apart.lifts(request, question, rows, score + renewed, step, renewed > 0)
    return hits.hits(request, rows, parts, confidence)


def _nearest(found: Candidates, score: Column, number: int) -> Mask:
    """Mark the best rows with some similarity; external ones must have evidence."""
    request, rows = found.question.request, found.rows
    own = np.flatnonzero(~request.is_outside(rows) & (found.cosine >= A_LITTLE_ALIKE))
    is_near = np.zeros(len(rows), np.bool_)
    is_near[own[hits.best_of(request, rows[own], score[own], number)]] = True
    return is_near


def _total(parts: dict[str, Column]) -> Column:
    """Add up the parts in order: another order could round differently."""
    total: Column = np.add.reduce(np.array([*parts.values()]), axis=0)
    return total


class Candidates:
    """The rows that could answer a question, and what is known about them.

    For a glance at one of several segments, fewer rows are enough, from one embedder, without a
    mirror and without the words of neighbouring turns, which are no evidence.
    """

    def __init__(
        self, question: Question, embedders: Sequence[Embedder], *, is_glance: bool = False
    ) -> None:
        request = question.request
        self.question = question
        self.is_glance = is_glance
        if is_glance:
            self.words, embedders = bm25.match(request, question.words), embedders[:1]
        else:
            self.words = bm25.around(request, question.words, question.shares)
        self.views = [
            view
            for embedder in embedders
            if (view := similarity(request, embedder, question.bare, self.words, question.beside))
        ]
        self.time = _time(request, question) if question.spans else None
        how = (request, question, self.words, self.views, self.time)
        self.rows = _candidates(*how, GLANCE) if is_glance else _rows_to_score(*how)
        self.judged: Mask = np.ones(len(self.rows), np.bool_)
        if len(self.views) > 1 and request.mirror is None:
            self._judge_by_the_first(_candidates(*how[:3], self.views[:1], self.time))

    def _judge_by_the_first(self, rows: Rows) -> None:
        """Use only these rows as evidence: more embedders must not increase the effect of chance.

        The evidence of a row comes from the first embedder, with or without the others.
        """
        self.rows = united(self.rows, rows)
        self.judged = np.isin(self.rows, rows)

    @cached_property
    def signs(self) -> NDArray[np.uint32]:
        """The cues of each row."""
        signs: NDArray[np.uint32] = self.question.request.look.catalogue["signs"][self.rows]
        return signs

    @cached_property
    def length(self) -> Column:
        """The logarithm of the number of words of each row."""
        lengths = self.question.request.look.catalogue["length"][self.rows]
        logarithm: Column = np.log1p(lengths, dtype=np.float64)
        return logarithm

    @cached_property
    def matched(self) -> Column:
        """The relevance of each row by words."""
        return self.words.score[self.rows].astype(np.float64)

    @cached_property
    def likenesses(self) -> list[Likeness]:
        """The similarity of each row for each embedder."""
        return [Likeness(self.question.request, view, self.rows) for view in self.views]

    @cached_property
    def cosine(self) -> Column:
        """The similarity of each row itself, by the first embedder."""
        if not self.views:
            return np.zeros(len(self.rows))
        if self.is_glance:  # neighbours are no evidence, and would take twice as long
            return self.views[0].exact(self.rows)[0]
        return self.likenesses[0].own

    @cached_property
    def weights(self) -> Weights:
        """The weights of the parts, which differ with and without a sentence model."""
        is_beside_model = any(not likeness.is_of_words for likeness in self.likenesses)
        return BESIDE_MODEL if is_beside_model else ALONE

    @cached_property
    def held(self) -> dict[str, Mask]:
        """The rows that contain each word of the question, if any visible record contains it."""
        holders = self.words.holders
        known = (word for word in self.question.words if word in holders)
        return {word: bm25.held(holders[word], self.rows) for word in known}

    @cached_property
    def who(self) -> Column:
        """Whether each row is of a speaker whom the question names."""
        return _who(self.question.request, self.question, self.rows)

    @cached_property
    def evidence(self) -> Evidence:
        """The reasons why the rows could be answers."""
        question, signs = self.question, self.signs
        evidence = Evidence(question, self.held, self.matched > 0, self.length, self.cosine)
        if question.is_of_user and (signs & cues.USER).any():
            evidence.add_user()
        if not question.is_of_both:
            evidence.add_role(_shows(signs, question.wrong_role))
        if self.time is not None:
            evidence.add_time(self.time[self.rows])
        if question.names:
            evidence.add_speaker(self.who)
        return evidence

    def is_related(self) -> Mask:
        """Mark the rows worth showing: by the evidence, as wishes, or by a sentence model."""
        related = self.evidence.is_related()
        if self.question.is_for_help:
            related |= self.signs & cues.WISH > 0
        for likeness in self.likenesses:
            if not likeness.is_of_words:
                related |= likeness.own * likeness.view.scale.steps >= ABOVE_CHANCE
        return related

    def confidence(self, is_echo: Mask | None = None) -> float:
        """Return how far the best evidence exceeds chance.

        Records that are not external are a crowd of their own, so that a flood of external ones
        hides none of them. An external echo of the question is no evidence.
        """
        request, rows = self.question.request, self.rows
        if not request.has_outside:
            return self.evidence.confidence([self._crowd(self.judged, request.rows, request.total)])
        if is_echo is None:
            is_echo = echoes.of(request, self.question, self.held, rows, self.matched, -ECHO) > 0
        outside = request.is_outside(rows)
        return self.evidence.confidence(
            [
                self._crowd(self.judged & ~(outside & is_echo), request.rows, request.total),
                self._crowd(self.judged & ~outside, request.own, request.own_total),
            ]
        )

    def _crowd(self, members: Mask, records: Rows, total: int) -> Crowd:
        return Crowd(members, total, self._usual(records))

    def _usual(self, records: Rows) -> float:
        """Return how similar ordinary texts are to the question; or other records, if unknown."""
        if not self.views or not len(records):
            return 0.0
        view = self.views[0]
        if view.name == BACKGROUND_OF:
            return ORDINARY * float(np.vecdot(view.vector, content.background()))
        return OTHERS * view.mean_estimate(records)


class Likeness:
    """Exact cosines of rows, and of the turns before and after them; 0 if none is visible.

    As with words, less is passed between turns of the same speaker.
    """

    def __init__(self, request: Request, view: Similarity, rows: Rows) -> None:
        self.view = view
        catalogue = request.look.catalogue
        if not catalogue.has_neighbours:
            (self.own,) = view.exact(rows)
            self.near: Column = np.zeros(len(rows))
            return
        before, after = (
            near.astype(np.int64) * request.allowed.take(near)
            for near in (catalogue.before.take(rows), catalogue.after.take(rows))
        )
        passes = bm25.passes(catalogue)
        self.own, above, below = view.exact(rows, before, after)
        self.near = np.maximum(above * passes.take(before), below * passes.take(rows))

    @property
    def is_of_words(self) -> bool:
        return self.view.name == WordLlama.name

    def best(self) -> Column:
        """Return a row's own cosine, or a share of the better neighbour's."""
        return _share(np.maximum(self.own, NEAR_MEANING * self.near))

    def above_chance(self, weights: Weights) -> Column:
        """Return how far a row and its better neighbour exceed chance."""
        steps = self.view.scale.steps
        return steps * (weights.model * self.own + weights.near * self.near)


def _share(cosine: Column) -> Column:
    """Convert cosines to shares of the best one."""
    share: Column = np.maximum(cosine, 0) / max(float(cosine.max()), LEAST_COSINE)
    return share


def _rows_to_score(
    request: Request, question: Question, words: bm25.Matches, views: Views, time: Column | None
) -> Rows:
    """Return the rows that are scored exactly: the store's candidates, or a mirror's.

    A mirror's candidates are joined with those that the store finds without vectors.
    """
    mirror, named = request.mirror, None
    if mirror is not None:
        named = mirror.rows(request, views[0].vector.tolist() if views else None)
    if named is None:
        return _candidates(request, question, words, views, time)
    own = _candidates(request, question, words, (), time)
    reason = words.score[own] if time is None else words.score[own] + time[own]
    if question.is_for_help:
        reason = reason + _shows(request.look.catalogue["signs"][own], cues.WISH)
    return united(named, own[reason > 0])


def _candidates(
    request: Request,
    question: Question,
    words: bm25.Matches,
    views: Views,
    time: Column | None,
    most: int = CANDIDATES,
) -> Rows:
    """Return the rows with the best estimates, using only columns of the catalogue."""
    if len(request.rows) <= most + request.limit:
        return request.rows
    picked, catalogue = request.picked, request.look.catalogue
    score = words.score[picked]
    score = (WORDS / max(float(score.max(initial=0)), LEAST_SCORE)) * score
    for view, weight in zip(views, (MEANING, MODEL), strict=False):
        estimate = view.estimate
        score += (weight / max(float(estimate.max(initial=0)), LEAST_COSINE)) * estimate
    if isinstance(picked, slice):
        score[catalogue.showing(question.wrong_role)] += ROLE
        if question.is_for_help:
            score[catalogue.showing(cues.WISH)] += WISH
        for name in question.names:
            score[catalogue.spoken_by(name)] += WHO
    else:
        signs = catalogue["signs"][picked]
        score[signs & question.wrong_role > 0] += ROLE
        if question.is_for_help:
            score[signs & cues.WISH > 0] += WISH
        for name in question.names:
            score[catalogue["speaker"][picked] == np.uint64(mark(name))] += WHO
    if time is not None:
        score += TIME * time[picked]
    rows = request.rows
    visible = score[rows] if isinstance(picked, slice) else score
    best = trust.best_of(request, rows, visible, most + request.limit, OWN + request.limit)
    return np.sort(rows[best])


def _parts(found: Candidates) -> dict[str, Column]:
    """Compute the named parts of the scores of some rows, in the order in which they add up."""
    question, words, rows, time = found.question, found.words, found.rows, found.time
    request, likenesses = question.request, found.likenesses
    catalogue = request.look.catalogue
    signs = found.signs
    models = [likeness for likeness in likenesses if not likeness.is_of_words]
    weights = found.weights
    parts: dict[str, Column] = {
        "words": weights.words * found.matched / max(float(words.score.max()), LEAST_SCORE)
    }
    for likeness in likenesses:
        if likeness.is_of_words:
            parts["meaning"] = weights.meaning * likeness.best()
    if models:
        above = [likeness.above_chance(weights) for likeness in models]
        parts["model"] = sum(above, np.zeros(len(rows))) / len(models)
    if question.names:
        parts["who"] = weights.who * found.who
    if time is not None:
        parts["time"] = weights.time * time[rows]
    fit = parts["words"] + parts.get("meaning", 0.0)
    parts["session"] = weights.session * _best_of_session(catalogue["session"][rows], fit)
    parts["role"] = weights.role * _shows(signs, question.wrong_role)
    if question.wanted:
        parts["answer"] = weights.answer * _shows(signs, question.wanted)
    if question.is_for_help:
        said = 1 - _shows(signs, cues.ASSISTANT)  # an assistant only repeats wishes
        parts["wish"] = weights.wish * said * _shows(signs, cues.WISH)
    parts["asks"] = weights.asks * _shows(signs, cues.ASKS)
    # Echoes have their place in the order of parts here, but are found once all others are known.
    parts["echo"] = np.zeros(len(rows))
    parts["length"] = weights.length * np.minimum(1, found.length / np.log1p(FULL_LENGTH))
    parts["recency"] = RECENCY / (1 + request.age(rows, "occurred", MICROS_PER_DAY))
    parts["importance"] = IMPORTANCE * catalogue["importance"][rows]
    parts["trust"] = trust.part(request, rows)
    for view in found.views:
        if view.matches is not None:
            score = _total(parts)
            parts["late"] = weights.late * _late(request, view, view.matches, rows, score)
    score = _total(parts)
    parts["echo"] = ECHO * echoes.of(request, question, found.held, rows, score, -ECHO)
    return parts


def _late(request: Request, view: Similarity, scale: Scale, rows: Rows, score: Column) -> Column:
    """Return how far the token matches exceed chance, for the best rows by all other parts."""
    best = np.sort(np.argsort(-score, kind="stable")[:LATE_FOR])
    above = (late.matches(request, view, rows[best]) - scale.base) / scale.spread
    part = np.zeros(len(rows))
    part[best] = np.maximum(0.0, above)
    return part


def _best_of_session(sessions: NDArray[np.uint64], score: Column) -> Column:
    """Return the best score in each row's session, as a share of the best of all.

    If one turn of a conversation fits well, the others are about the same thing.
    """
    if not sessions.any():
        return np.zeros(len(score))
    distinct, places = grouped(sessions)
    best = np.zeros(len(distinct))
    np.maximum.at(best, places, score)
    best[distinct == 0] = 0  # records without a session
    share: Column = best[places] / max(float(score.max(initial=0)), LEAST_SCORE)
    return share


def _shows(signs: NDArray[np.uint32], sign: int) -> Column:
    """Return 1 for each record that has a cue, else 0."""
    return ((signs & sign) > 0).astype(np.float64)


def _who(request: Request, question: Question, rows: Rows) -> Column:
    """Favour turns of a speaker whom the question names, and notes that contain the name."""
    speakers = request.look.catalogue["speaker"][rows]
    who = np.zeros(len(rows))
    for place, name in enumerate(question.names):
        who = np.maximum(who, (speakers == np.uint64(mark(name))) * (SECOND if place else 1.0))
        if (speakers == 0).any() and len(holders := request.look.holding(terms(name)[0])):
            who = np.maximum(who, (bm25.held(holders, rows) & (speakers == 0)) * 1.0)
    return who


def _time(request: Request, question: Question) -> Column:
    """Score all rows by how well they fit the days that the question means.

    A record of these days is best, then one that mentions them, then one that was said soon after.
    """
    days = question.days(request.look.catalogue["occurred"])
    time = np.zeros(len(days))
    for span in question.spans:
        time = np.maximum(time, (days >= span.since) & (days < span.until))
        if span.exact:
            late = days - span.until
            is_late = (late >= 0) & (late < LATE_DAYS)
            time = np.maximum(time, np.where(is_late, LATE * (1 - late / LATE_DAYS), 0))
        speaking = request.look.speaking_of(span.since, span.until)
        time[speaking] = np.maximum(time[speaking], SPOKEN_OF)
    return time
