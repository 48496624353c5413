"""Name the topic of an instruction, so that contradicting ones have the same name. Pure.

The topic is the first well-known one that matches, else the object, else the verb and its object.
That of an instruction for a single project begins with its name: `importer/lint`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lamina.engines.claims.words import LANGUAGES, either
from lamina.text.patterns import bounded

_DAY = r"(?P<day>mon|tues|wednes|thurs|fri|satur|sun)days?"
_TONGUE = rf"(?:{either(LANGUAGES)}|english|german|welsh|catalan|ukrainian|american|british)"
# Tools with the same purpose: an instruction to use one excludes the others.
TOOLS: Mapping[str, str] = {
    "python-packages": "uv pip poetry conda pipenv pdm rye mamba",
    "js-packages": "npm pnpm yarn bun",
    "infrastructure": "terraform cloudformation pulumi opentofu cdk",
    "python-tests": "pytest unittest nose",
    "js-tests": "jest vitest mocha jasmine",
    "containers": "docker podman",
    "shell": "bash zsh fish powershell",
    "editor": "vim neovim emacs vscode nano",
    "indentation": "tabs spaces",
    "css": "tailwind bootstrap bulma",
    "linter": "ruff flake8 pylint black eslint biome prettier",
}
TOOL = {name: purpose for purpose, names in TOOLS.items() for name in names.split()}
BOOKING = "booking"
KNOWN = {
    "address": bounded(
        r"\b(?:(?:call|address|name|refer to|greet) me\b|my (?:first|last|full|nick) ?name|pronouns"
        r"|they/them|she/her|he/him|first-name terms)",
        re.I,
    ),
    "spelling": bounded(rf"\b(?:spellings?|{_TONGUE} (?:words|english|spellings?))\b", re.I),
    "language": bounded(
        rf"\A(?:(?:always|please|only|never|do not|don't|you \w+) )*(?:(?:answer|answers|reply"
        rf"|replies"
        rf"|respond|responses|write|speak|talk|switch|use|stick|be|text|go|communicate|chat)(?: to"
        rf"| me| with me| back| always| only)*(?: in| to)? )?(?:\w+ )?{_TONGUE}\b"
        r"|\blanguage\b",
        re.I,
    ),
    "units": bounded(
        r"\b(?:metric|imperial|celsius|fahrenheit|kelvin|si units|gas marks?|cups|grams|feet|miles"
        r"|kilomet\w+|units)\b",
        re.I,
    ),
    "time-format": bounded(
        r"\b(?:24-?h\w*|24 hours?|12-?h\w*|clock|utc|time ?zones?|times)\b", re.I
    ),
    "date-format": bounded(r"\b(?:dates?|iso format|the day before the month)\b(?! of)", re.I),
    "currency": bounded(r"\b(?:usd|eur|gbp|dollars|euros|pounds|currency|currencies)\b", re.I),
    BOOKING: bounded(
        rf"\b(?:book\w*|schedul\w+|meetings?|appointments?|off limits|calendar|plan nothing"
        rf"|keep .{{0,20}}free|hold .{{0,20}}free|(?:leave|keep) (?:the )?weekends|calls)\b"
        rf"|\A{_DAY}",
        re.I,
    ),
    "length": bounded(
        r"\b(?:short|shorter|brief|concise|terse|long|longer|lengthy|detailed|details"
        r"|(?:\d+|few|one|two|three) (?:words|sentences?|lines|paragraphs?|bullets|screen)"
        r"|to the point|succinct|bottom line)\b",
        re.I,
    ),
    "tone": bounded(
        r"\A(?:talk|speak|sound|write|answer|reply|act)(?: to me| with me)? like\b"
        r"|\b(?:tone|formal|informal|casual|polite|blunt|honest|direct|friendly|like a friend|swear"
        r"|sarcas\w+|sugar-?coat\w*|brutal|straight|plainly|lecture|serious|gentle|harsh)\b",
        re.I,
    ),
    "apologies": bounded(r"\bapolog\w+|\bsay(?:ing)? sorry\b", re.I),
    "layout": bounded(r"\b(?:bullets?|bullet points?|paragraphs?|prose|markdown|tables)\b", re.I),
}
WHEN = bounded(
    rf"\b(?:{_DAY}|(?P<part>morning|afternoon|evening|weekend)s?|(?P<side>before|after))\b", re.I
)
# Verbs for including or omitting something: only the object matters.
PRESENCE = frozenset(
    "use using put add include give write show insert append provide avoid skip drop omit stop no"
    " leave have see want need prefer adding quit make mention say saying".split()
)
SKIPPED = frozenset(
    "a an the my our your me us i you it to of in on at for with any all every each always never"
    " ever do don't dont not no more please pls just only be so that this and or when if from"
    " now by"
    " as is are should must can may will would get some than too very also u again first later"
    " everything time answer over back up out i'm like rather".split()
)
WORD = re.compile(r"[^\W_][\w'+#-]*")
END = re.compile(
    r"\s(?:when|whenever|if|unless|in|on|at|for|with|to|before|after|because|from|of|by|than|and"
    r"|or)\s|[,;:(]"
)
# The case in which an order applies: what the speaker does then.
CASE = bounded(r"\b(?:when|whenever) (?:I|we)\b(?P<case>[^,.;:!?]{3,120})", re.I)
CASE_WORDS = 2  # words of the case in a topic
WHEN_CASE = "-when-"  # precedes these words
TOOL_TOPIC = "tool-"  # the prefix of topics that say which tool to use
UNSAFE = re.compile(r"[^\w+#-]+")


def topic(order: str, project: str = "", condition: str = "") -> str:
    """Name the topic of an order.

    An instruction for one case does not replace one for another: "include dates when I ask about
    deadlines" and "… when I ask about invoices" are two instructions.
    """
    behind = CASE.search(order)
    case = behind or CASE.search(condition)
    told = order[: behind.start()] if behind else order
    name = _known(told) or _thing(told)
    if case and (words := _heads(case["case"])):
        name = f"{name}{WHEN_CASE}{'-'.join(slug(word) for word in words[-CASE_WORDS:])}"
    return f"{slug(project)}/{name}" if project else name


def in_any_case(attribute: str) -> str:
    """Return the topic of an instruction without the case in which it applies."""
    return attribute.partition(WHEN_CASE)[0]


def _known(order: str) -> str:
    words = [word.lower() for word in WORD.findall(order)]
    if purpose := next((TOOL[word] for word in words if word in TOOL), ""):
        return f"{TOOL_TOPIC}{purpose}"
    for name, pattern in KNOWN.items():
        if pattern.search(order):
            return _when(order) if name == BOOKING else name
    return ""


def _when(order: str) -> str:
    """Name the time that must not be booked: other times may apply as well."""
    found = WHEN.search(order)
    if not found:
        return BOOKING
    if found["day"]:
        return f"{BOOKING}-{found['day'].lower()}day"
    return f"{BOOKING}-{(found['part'] or found['side']).lower()}"


def _thing(order: str) -> str:
    """Name the verb and the last word of its object; for verbs of presence, only the object."""
    words = [word.lower().strip("'") for word in WORD.findall(order)]
    verb = next((word for word in words if word not in SKIPPED), "")
    rest = order[order.lower().find(verb) + len(verb) :] if verb else order
    near = END.split(f"{rest} ", maxsplit=1)[0]
    # In "reply with the kubectl line" nothing is near.
    heads = _heads(near) or _heads(rest)[:1]
    head = slug(heads[-1]) if heads else ""
    if verb in PRESENCE and head:
        return head
    return "-".join(filter(None, (slug(verb), head))) or "other"


def _heads(text: str) -> list[str]:
    """List the words of a text that may name a thing."""
    return [word.lower() for word in WORD.findall(text) if word.lower() not in SKIPPED]


def slug(word: str) -> str:
    """Return a word as written in a topic."""
    return UNSAFE.sub("-", word.lower()).strip("-")
