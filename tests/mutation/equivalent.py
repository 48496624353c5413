"""Mutants that nobody could tell from the program, with the reason why."""

from __future__ import annotations

GROUPS: dict[str, tuple[str, ...]] = {
    "only types need it": (
        "model.rules.(module): Choice = TypeVar('Choice', Layer, State, Trust) -> Choice = None",
        "model.rules.(module): Choice = TypeVar('Choice', Layer, State, Trust)"
        " -> Choice = TypeVar('XXChoiceXX', Layer, State, Trust)",
        "engines.awareness.(module): Spans = Mapping[str, Sequence[tuple[date, date]]] -> Spans = None",
        "engines.facts.(module): Slot = tuple[str | None, str, str] -> Slot = None",
    ),
    "a shorter way to the same answer is taken a little more or less often": (
        "model.rules.content: sascii() and value.isprintable() and (len(value) <= limit) and value and (not value.isspace()):"
        " -> sascii() and value.isprintable() and (len(value) < limit) and value and (not value.isspace()):",
        "model.rules.content: if len(value) * 4 > limit and (size := len(value.encode(errors='replace'))) "
        " -> if len(value) * 5 > limit and (size := len(value.encode(errors='replace'))) ",
        "model.rules.content: if len(value) * 4 > limit and (size := len(value.encode(errors='replace'))) > l"
        " -> if len(value) * 4 >= limit and (size := len(value.encode(errors='replace'))) > ",
        "model.hashing.(module): SALTS_AT_ONCE = 256 -> SALTS_AT_ONCE = 257",
    ),
    "the value that was put in is no member of the set either": (
        "model.rules.one_of: urn choices(value if isinstance(value, str) else '')"
        " -> urn choices(value if isinstance(value, str) else 'XXXX')",
        "text.words._is_ink: BLANKS and unicodedata.category(character)[0] in 'LNPS' or bool(NEW_PICTURES.match(character))"
        " -> BLANKS and unicodedata.category(character)[0] in 'XXLNPSXX' or bool(NEW_PICTURES.match(character))",
        "engines.awareness._reason: ords.normalise(str(record.metadata.get('status', '')))"
        " -> ords.normalise(str(record.metadata.get('status', 'XXXX')))",
        "engines.compression.slug: is_whole = ' '.join(words) == plain.rstrip('.!') and len(name) <= SLUG"
        " -> is_whole = ' '.join(words) == plain.rstrip('XX.!XX') and len(name) <= SLUG",
    ),
    "what is compared is changed on both sides alike": (
        "engines.compaction._forms: words = {line: ' '.join(text.asked(line)) for line in lines}"
        " -> words = {line: 'XX XX'.join(text.asked(line)) for line in lines}",
    ),
    "both lengths are the same by how they were made": (
        "engines.compaction._items: e(record),) for record, page in zip(records, pages, strict=True)]"
        " -> e(record),) for record, page in zip(records, pages)]",
        "engines.compaction._items: ,) for record, page in zip(records, pages, strict=True)]"
        " -> ,) for record, page in zip(records, pages, strict=False)]",
        "engines.compaction._items: or record, page, lines in zip(records, pages, told, strict=True):"
        " -> or record, page, lines in zip(records, pages, told):",
        "engines.compaction._items: , page, lines in zip(records, pages, told, strict=True):"
        " -> , page, lines in zip(records, pages, told, strict=False):",
        "engines.learning._model:  for weight, share in zip((extra, *weights), usual, strict=True)))"
        " ->  for weight, share in zip((extra, *weights), usual)))",
        "engines.learning._model: ht, share in zip((extra, *weights), usual, strict=True)))"
        " -> ht, share in zip((extra, *weights), usual, strict=False)))",
        "engines.learning._model: ame: weight for name, weight in zip(names, weights, strict=True) if weight}"
        " -> ame: weight for name, weight in zip(names, weights) if weight}",
        "engines.learning._model: ht for name, weight in zip(names, weights, strict=True) if weight}"
        " -> ht for name, weight in zip(names, weights, strict=False) if weight}",
        "engines.learning._numbers: able), case.liked, case.weight) for case in cases), strict=True))"
        " -> able), case.liked, case.weight) for case in cases)))",
        "engines.learning._numbers: se.liked, case.weight) for case in cases), strict=True))"
        " -> se.liked, case.weight) for case in cases), strict=False))",
        "engines.summary._chosen:  REPETITION * part for one, part in zip(left, told, strict=True)]"
        " ->  REPETITION * part for one, part in zip(left, told)]",
        "engines.summary._chosen: ON * part for one, part in zip(left, told, strict=True)]"
        " -> ON * part for one, part in zip(left, told, strict=False)]",
        "engines.summary._chosen: shared(one, best)) for one, part in zip(left, told, strict=True)]"
        " -> shared(one, best)) for one, part in zip(left, told)]",
        "engines.summary._chosen: e, best)) for one, part in zip(left, told, strict=True)]"
        " -> e, best)) for one, part in zip(left, told, strict=False)]",
        "text.words._parts: sign = SIGNS.get(name[-1]) -> sign = SIGNS.get(name[1])",
    ),
    "one more is as far from the bound": (
        "engines.compression.(module): def _problem(room: int, size: int=0, sources: int=0) -> str | None:"
        " -> def _problem(room: int, size: int=1, sources: int=0) -> str | None:",
        "engines.compression.(module): def _problem(room: int, size: int=0, sources: int=0) -> str | None:"
        " -> def _problem(room: int, size: int=0, sources: int=1) -> str | None:",
    ),
    "words are counted in whole numbers, and from half a word on it takes one": (
        "engines.review.Rejected._is_similar: return len(words & others) >= SIMILAR * max(1, min(len(words), len(others)))"
        " -> return len(words & others) >= SIMILAR * max(2, min(len(words), len(others)))",
    ),
    "what is compared next is the same for both": (
        "engines.summary._chosen: return sorted(chosen, key=lambda one: (one.turn, one.start)) -> return sorted(chosen)",
    ),
    "all turns of a group have the same": (
        "engines.summary._summary: )), occurred_at=turns[-1].occurred_at, user=turns[0].user, session=turns[0].session,"
        " participants=participants"
        " -> )), occurred_at=turns[-1].occurred_at, user=turns[1].user, session=turns[0].session, participants=participants",
        "engines.summary._summary: 1].occurred_at, user=turns[0].user, session=turns[0].session, participants=participants)"
        " -> 1].occurred_at, user=turns[0].user, session=turns[1].session, participants=participants)",
    ),
}
REASONS = {f"lamina.{key}": reason for reason, keys in GROUPS.items() for key in keys}
