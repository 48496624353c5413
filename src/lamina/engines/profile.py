"""Build a user's profile and the state of projects from active records. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from lamina.errors import InvalidInput
from lamina.model import clock, hashing, rules, slots
from lamina.model.record import Record, plain
from lamina.text import cues, words
from lamina.text.normal_forms import normal

TEXTS = ("name", "communication_style", "environment")
LISTS = ("interests", "stable_facts", "do_not_assume")
INSTRUCTIONS = "instructions"
GROUPS = (INSTRUCTIONS, "schedule", "relationships")  # each entry of these is a separate key
DERIVED = ("last_updated", "evidence_ids", "conflicts")
FACTS = ("name", "environment", "stable_facts", "relationships")
SECTIONS = ("goals", "blockers", "next_steps")
SLUG = 60


class UserProfile(msgspec.Struct, frozen=True):
    """The profile of a user.

    `conflicts` lists entries that the facts now contradict.
    """

    instructions: dict[str, Any] = {}
    name: str | None = None
    preferences: dict[str, Any] = {}
    schedule: dict[str, Any] = {}
    relationships: list[dict[str, Any]] = []
    interests: list[str] = []
    communication_style: str | None = None
    environment: str | None = None
    stable_facts: list[str] = []
    do_not_assume: list[str] = []
    last_updated: datetime | None = None
    evidence_ids: list[str] = []
    conflicts: list[dict[str, Any]] = []

    def to_dict(self) -> dict[str, Any]:
        return {name: plain(getattr(self, name)) for name in self.__struct_fields__}


class ProjectMemory(msgspec.Struct, frozen=True):
    """The state of a project."""

    project_name: str
    goals: list[str] = []
    blockers: list[str] = []
    next_steps: list[str] = []
    evidence_ids: list[str] = []

    def to_dict(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)


def same_key(one: str, other: str) -> bool:
    """Tell if two keys are the same except for case, width and spacing."""
    return words.normalise(one) == words.normalise(other)


def same_value(one: object, other: object) -> bool:
    """Tell if two values say the same."""
    if isinstance(one, str) and isinstance(other, str):
        return same_key(one, other)
    return hashing.encode(one) == hashing.encode(other)


def project_profile(records: Iterable[Record]) -> UserProfile:
    """Build the profile from active profile records."""
    chosen = by_key(records)
    fields: dict[str, Any] = {"preferences": {}, "relationships": []}
    fields |= {"instructions": {}, "schedule": {}}
    for record in chosen.values():
        field, entry = field_of(record.metadata["profile_key"])
        value = record.metadata.get("value")
        if field in TEXTS:
            fields[field] = text_of(value)
        elif field in LISTS:
            fields[field] = texts_of(value)
        elif field == "relationships":
            fields[field].append(_person(entry, value))
        else:
            fields[field][entry] = value
    updated = max((record.updated_at for record in chosen.values()), default=None)
    return UserProfile(**fields, last_updated=updated, evidence_ids=_evidence(chosen.values()))


def project_memories(records: Iterable[Record]) -> list[ProjectMemory]:
    """List the projects of active records, by name."""
    return [_project(record) for record in by_name(records).values()]


def by_key(records: Iterable[Record]) -> dict[str, Record]:
    """Choose the profile record for each key, sorted by key: a user's own, then the newest."""
    return _chosen(records, lambda record: record.metadata.get("profile_key"))


def by_name(records: Iterable[Record]) -> dict[str, Record]:
    """Choose the record for each project, sorted by name: a user's own, then the newest."""
    return _chosen(records, project_name)


def project_name(record: Record) -> str | None:
    """Return the name of the project that a record summarises, if any."""
    project = record.metadata.get("project")
    name = project.get("project_name") if isinstance(project, Mapping) else None
    return name if isinstance(name, str) else None


def field_of(key: str) -> tuple[str, str]:
    """Return the profile field to which a key belongs, and its name there."""
    plain_key = words.normalise(key)
    if plain_key in TEXTS or plain_key in LISTS:
        return plain_key, plain_key
    spelled = key if "." in key else normal("NFKC", key)  # there are full-width dots, too
    entry = spelled.partition(".")[2].strip()
    group = plain_key.partition(".")[0]
    if group in GROUPS and words.is_visible(entry):
        return group, entry
    return "preferences", key


def canonical(key: str) -> str:
    """Spell a key as stored: a field of the profile normalised, other keys as given."""
    field, entry = field_of(key)
    if field in GROUPS:
        return f"{field}.{entry}"
    return entry.strip()


def instruction_key(attribute: str) -> str:
    """Return an instruction's key: instruction:garden/language -> instructions.garden.language.

    The attribute is that of the fact that sleep extracted.
    """
    topic = attribute.removeprefix(slots.INSTRUCTION).replace("/", ".")
    return f"{INSTRUCTIONS}.{topic.replace(' ', '_')}"


def orders_the_same(proposal: Record, fact: Record) -> bool:
    """Tell if a proposal for the profile is about the instruction in a fact and nothing else."""
    attribute = str(fact.metadata.get("attribute", ""))
    if not attribute.startswith(slots.INSTRUCTION) or proposal.user != fact.user:
        return False
    value = words.normalise(str(fact.metadata.get("value")))
    told = {words.normalise(line) for line in texts_of(proposal.metadata.get("value"))}
    return told == {value} and _is_of_same_person(proposal, fact, instruction_key(attribute))


def _is_of_same_person(proposal: Record, fact: Record, key: str) -> bool:
    """Tell if a proposal has the key that belongs to a fact.

    Keys about people other than the profile's user begin with their name.
    """
    given, key = words.normalise(str(proposal.metadata.get("profile_key"))), words.normalise(key)
    subject = words.normalise(str(fact.metadata.get("subject")))
    if given != key:
        return given == f"{'-'.join(words.WORD.findall(subject))}.{key}"
    if cues.ROLES.get(subject) == cues.USER or subject == words.normalise(fact.user or ""):
        return True
    return not {fact.id, *fact.evidence}.isdisjoint(proposal.evidence)


def is_standing(record: Record) -> bool:
    """Tell if a profile record is a standing instruction."""
    return _topic_of(str(record.metadata.get("profile_key"))) is not None


def is_for_every_task(record: Record) -> bool:
    """Tell if a record is an instruction that is not limited to one project."""
    return is_standing(record) and project_of(record) is None


def is_for(record: Record, project: str | None) -> bool:
    """Tell if a profile record applies to a project: only to its own, or to all."""
    own = project_of(record)
    return own is None or (project is not None and _letters(own) == _letters(project))


def project_of(record: Record) -> str | None:
    """Return the project to which a profile record is limited.

    An instruction for one has its slug in the key: `instructions.importer.lint`.
    """
    name, dot, _ = (_topic_of(key_of(record)) or "").partition(".")
    return name if dot else record.project


def _topic_of(key: str) -> str | None:
    """Return the topic of an instruction's key; None for other keys.

    Keys about people other than the profile's user begin with their name.
    """
    field, topic = field_of(key)
    if field not in GROUPS:
        field, topic = field_of(key.partition(".")[2])
    return topic if field == INSTRUCTIONS else None


def key_of(record: Record) -> str:
    """Return the key of a profile record, or of an instruction that nobody confirmed yet."""
    attribute = str(record.metadata.get("attribute", ""))
    if attribute.startswith(slots.INSTRUCTION):
        return instruction_key(attribute)
    return str(record.metadata.get("profile_key"))


def _letters(project: str) -> list[str]:
    """List the words of a project's name, which is a slug in keys."""
    return words.WORD.findall(words.normalise(project))


def kind_of(key: str) -> str:
    """Return the kind of the record for a key."""
    return "fact" if field_of(key)[0] in FACTS else "preference"


def patch_items(patch: object, taken: Mapping[str, Any] | None = None) -> list[tuple[str, Any]]:
    """Read a patch of the profile as keys and values, or raise an error that names the problem.

    `taken` maps the normalised keys in the profile to their values: a preference that is only a
    text does not reuse a key with another value.
    """
    if not isinstance(patch, Mapping):
        raise InvalidInput(
            f"the patch {words.shown(patch)} is not a mapping such as {{'name': 'Ana'}}"
        )
    items: dict[str, tuple[str, Any]] = {}
    texts: list[str] = []
    for field, given in patch.items():
        name = rules.label(field, "a field of the patch")
        if same_key(name, "preferences") and isinstance(given, (list, tuple)):
            texts += _texts(given, "preferences")
            continue
        for key, value in _items(name, given):
            if words.normalise(key) in items:
                raise InvalidInput(f"the patch gives {words.shown(key)} twice")
            items[words.normalise(key)] = key, value
    values = {**(taken or {}), **{key: value for key, (_, value) in items.items()}}
    for text in texts:
        key = _key_for(text, values)
        items.setdefault(words.normalise(key), (key, text))
    if not items:
        raise InvalidInput("the patch is empty; give at least one field, such as {'name': 'Ana'}")
    return list(items.values())


def slug(said: str, *, hashed: bool = False) -> str:
    """Make a key from the words of a text, with a short hash if another text has the same words."""
    plain = words.normalise(said)
    parts = words.WORD.findall(plain)
    name = "-".join(parts)
    is_whole = " ".join(parts) == plain.rstrip(".!") and len(name) <= SLUG
    if is_whole and not hashed and field_of(name)[0] == "preferences":
        return name
    digest = hashlib.blake2b(plain.encode(), digest_size=4).hexdigest()
    return f"{name[:SLUG].strip('-') or 'preference'}-{digest}"


def _key_for(text: str, values: Mapping[str, Any]) -> str:
    """Make the key of a preference that is only a text; add a hash if the key is taken."""
    key = slug(text)
    is_free = key not in values or slug(text_of(values[key])) == key
    return key if is_free else slug(text, hashed=True)


def grows(key: str) -> bool:
    """Tell if new values of a key are added to known ones instead of replacing them."""
    return field_of(key)[0] in (*LISTS, "relationships")


def grown(key: str, known: Sequence[Any], given: Any) -> Any:
    """Add a value to the known ones of a growing key: lines of a list, or details of a person.

    Lines are compared without case, width and spacing. A detail replaces the former one.
    """
    if field_of(key)[0] in LISTS:
        lines: dict[str, str] = {}
        for line in (line for value in (*known, given) for line in texts_of(value)):
            lines.setdefault(words.normalise(line), line)
        return list(lines.values())
    details: dict[str, Any] = {}
    for value in (*known, given):
        details |= _details(value)
    return details["relation"] if details.keys() == {"relation"} else details


def still_says(key: str, value: Any, former: Any) -> bool:
    """Tell if a value that grew still includes any part of a former one."""
    if field_of(key)[0] in LISTS:
        return bool(texts_of(former))
    details = _details(value)
    return any(same_value(details.get(name), detail) for name, detail in _details(former).items())


def checked(key: str, given: object) -> Any:
    """Check a value for a key, and return its stored form."""
    field, _ = field_of(key)
    if field in TEXTS:
        return _text(given, field)
    return _texts(given, field) if field in LISTS else _value(given, key)


def read(key: str, given: str) -> Any:
    """Parse a text as the value of a key: for a list, its lines."""
    if field_of(key)[0] not in LISTS:
        return checked(key, given)
    lines = (f"{line.strip()} ".removeprefix("- ").strip() for line in given.splitlines())
    return checked(key, [line for line in lines if line])


def content_of(key: str, value: object) -> str:
    """Write the readable text of a profile record."""
    return f"{key}: {_readable(value)}"


def item(key: str, value: Any, reason: str, most_bytes: int, **more: Any) -> dict[str, Any]:
    """Build the memory for a key and its value; the text of a long value is cut."""
    content = content_of(key, value).encode()[:most_bytes].decode(errors="ignore")
    metadata = {"profile_key": key, "value": value, "reason": reason, **more}
    return {"content": content, "kind": kind_of(key), "metadata": metadata}


def content_of_project(name: str, sections: Mapping[str, list[str]]) -> str:
    """Write the readable text of a project's record."""
    sentences = [f"Project {name}."]
    for section in SECTIONS:
        if lines := sections[section]:
            title = section.replace("_", " ").capitalize()
            sentences.append(f"{title}: {'; '.join(lines)}.")
    return " ".join(sentences)


def text_of(value: object) -> str:
    """Show a value as a text."""
    return value if isinstance(value, str) else hashing.encode(value).decode()


def texts_of(value: object) -> list[str]:
    """Show a value as a list of texts; a single one counts as a list of one."""
    items = value if isinstance(value, (list, tuple)) else [value]
    return [text_of(item) for item in items]


def sections_of(record: Record) -> dict[str, list[str]]:
    """Read a project's record, section by section."""
    project = record.metadata.get("project")
    given = project if isinstance(project, Mapping) else {}
    return {section: texts_of(given.get(section) or []) for section in SECTIONS}


def _chosen(records: Iterable[Record], name_of: Callable[[Record], Any]) -> dict[str, Record]:
    ordered = sorted(records, key=lambda record: (record.user is not None, record.seq))
    chosen = {
        words.normalise(name): record
        for record in ordered
        if isinstance(name := name_of(record), str)
    }
    return dict(sorted(chosen.items()))


def _evidence(records: Iterable[Record]) -> list[str]:
    """Collect the ids of the records that some records rest on; other evidence stays in them."""
    sources = (source for record in records for source in record.evidence)
    return list(dict.fromkeys(filter(clock.is_id, sources)))


def _project(record: Record) -> ProjectMemory:
    name, evidence = project_name(record) or "", _evidence([record])
    return ProjectMemory(name, **sections_of(record), evidence_ids=evidence)


def _person(name: str, value: object) -> dict[str, Any]:
    return {"name": name, **_details(value)}


def _details(value: object) -> dict[str, Any]:
    fields = value if isinstance(value, Mapping) else {"relation": value}
    return {field: item for field, item in fields.items() if field != "name"}


def _readable(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_readable(item)}" for name, item in value.items()) or "nothing"
    if isinstance(value, (list, tuple)):
        return "; ".join(_readable(item) for item in value) or "nothing"
    return text_of(value)


def _items(field: str, given: object) -> Iterator[tuple[str, Any]]:
    """List the keys and values that one field of a patch stands for."""
    if words.normalise(field) in DERIVED:
        raise InvalidInput(f"{field} follows from the records; leave it out of the patch")
    if same_key(field, "relationships"):
        for person, relation in _people(given):
            key = f"relationships.{person}"
            yield _entry(key, "relationships"), _value(relation, key)
    elif (group := words.normalise(field)) in GROUPS:
        for entry, value in _mapping(given, group):
            key = f"{group}.{entry}"
            yield _entry(key, group), _value(value, key)
    elif same_key(field, "preferences"):
        for entry, value in _mapping(given, "preferences"):
            # Programs without a field for instructions keep them among the preferences.
            place = INSTRUCTIONS if field_of(entry)[0] == INSTRUCTIONS else "preferences"
            yield _entry(entry, place), _value(value, f"preferences.{entry}")
    else:
        yield canonical(field), checked(field, given)


def _entry(key: str, field: str) -> str:
    """Check that a key below a field can be found there again."""
    belongs = field_of(rules.label(key, "a key of the profile"))[0] == field
    if not belongs or words.normalise(key) in (*GROUPS, "preferences", *DERIVED):
        raise InvalidInput(
            f"{words.shown(key)} cannot be an entry of {field}:"
            " it names another field of the profile, or nothing"
        )
    return canonical(key)


def _mapping(given: object, field: str) -> Iterator[tuple[str, object]]:
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{field} {words.shown(given)} is not a mapping of names to values")
    for entry, value in given.items():
        yield rules.label(entry, f"a name in {field}"), value


def _people(given: object) -> Iterator[tuple[str, object]]:
    """Yield people from a mapping by name, or from the list that a profile shows."""
    if not isinstance(given, (list, tuple)):
        yield from _mapping(given, "relationships")
        return
    for number, person in enumerate(given):
        field = f"relationships[{number}]"
        if not isinstance(person, Mapping) or "name" not in person:
            raise InvalidInput(f"{field} {words.shown(person)} is not a mapping with a name")
        rest = {key: value for key, value in person.items() if key != "name"}
        name = rules.label(person["name"], f"{field}.name")
        yield name, rest["relation"] if rest.keys() == {"relation"} else rest


def _text(given: object, field: str) -> str:
    if not isinstance(given, str) or not words.is_visible(given):
        raise InvalidInput(f"{field} {words.shown(given)} is not a text")
    hashing.check_text(given, field)
    return given.strip()


def _texts(given: object, field: str) -> list[str]:
    if not isinstance(given, (list, tuple)):
        return [_text(given, field)]
    texts: dict[str, str] = {}
    for number, item in enumerate(given):
        text = _text(item, f"{field}[{number}]")
        texts.setdefault(words.normalise(text), text)
    return list(texts.values())


def _value(given: object, field: str) -> Any:
    """Check that a value is not empty and that JSON can represent it."""
    if given is None or (isinstance(given, str) and not words.is_visible(given)) or given == {}:
        raise InvalidInput(f"{field} {words.shown(given)} says nothing; give a value")
    hashing.check_json(given, field)
    return given.strip() if isinstance(given, str) else given
