"""All settings in one table. Arguments override the environment, which overrides `config.toml`."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from lamina.errors import InvalidInput, LaminaError
from lamina.home import ownership
from lamina.text.words import meant, shown

FILE_NAME = "config.toml"
FILE = "file"  # the placement of an agent whose memory is a file in the home
ARGUMENT = "argument"
TYPE_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
PASSWORD = re.compile(r"((?<=://)[^/@:\s]*:)[^/\s]*(?=@)|(password=)[^&\s]*")
NUMBER = re.compile(r"-?[0-9]{1,18}")
PER_CENT = (0, 100)
DECIMAL = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")


class Setting(msgspec.Struct, frozen=True):
    """One row of the table. The type of the default is the type of the setting."""

    name: str
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    bounds: tuple[int, int] | None = None
    pattern: str = ""
    otherwise: str = ""  # says what a text is that does not match the pattern
    file_only: bool = False  # for operators: anybody can set the environment of a process

    @property
    def variable(self) -> str:
        return "LAMINA_" + self.name.replace(".", "_").upper()


SETTINGS = (
    Setting(
        "agent",
        "default",
        "the agent if neither --agent nor LAMINA_AGENT names one",
    ),
    Setting(
        "audit.reads",
        "buffered",
        "how reads are audited: buffered, or strict (durable first)",
        ("buffered", "strict"),
    ),
    Setting(
        "cache.megabytes",
        256,
        "how much memory the searches of a process may keep, for all its handles together",
        bounds=(0, 1 << 20),
    ),
    Setting(
        "content.max_bytes",
        1024 * 1024,
        "the longest text that is stored, in bytes of UTF-8",
        bounds=(1, 1 << 28),
    ),
    Setting(
        "failsafe",
        "on",
        "whether memories go to `failsafe/` while the store cannot be written",
        ("on", "off"),
    ),
    Setting(
        "hooks.capture",
        "prompts",
        "what hooks store: prompts, or all (also replies and notes about tools)",
        ("prompts", "all"),
    ),
    Setting(
        "kinds.extra",
        (),
        "additional kinds of memory, separated by commas in the environment",
        pattern="[a-z][a-z0-9_-]{0,63}",
        otherwise="not a kind: a lower-case letter, then up to 63 lower-case letters, digits,"
        " _ and -",
    ),
    Setting(
        "maintenance",
        "auto",
        "whether commands that write, servers and hooks start due jobs in the background: auto, "
        "or off",
        ("auto", "off"),
    ),
    Setting(
        "mcp.elicitation",
        (),
        "MCP clients that may ask their user to decide on a proposal: `form NAME`, in a"
        " dialog of the client, or `url NAME`, on a page of this machine; over HTTP the name of the"
        " token",
        pattern=r"(?:form|url) [!-~](?:[ -~]{0,98}[!-~])?",
        otherwise="neither `form NAME` nor `url NAME`",
        file_only=True,
    ),
    Setting(
        "mcp.elicitation_seconds",
        120,
        "how long such a proposal waits for an answer before the tool call returns",
        bounds=(1, 3600),
    ),
    Setting(
        "mirrors.chroma",
        "off",
        "a collection of ChromaDB: off, embedded (in the agent's folder), or the address of a"
        " server",
        pattern="off|embedded|https?://\\S{1,500}",
        otherwise="neither off, embedded nor an address such as http://localhost:8000",
    ),
    Setting(
        "mirrors.jsonl",
        "off",
        "live JSONL files in the format of Sky or Milton",
        ("off", "sky", "milton"),
    ),
    Setting(
        "mirrors.weaviate",
        "off",
        "a tenant on a Weaviate server: off, or its address, such as http://localhost:8080",
        pattern="off|https?://([^\\s/?#@:\\[\\]]+|\\[[0-9a-fA-F:.]+\\])(:[0-9]{1,5})?(/[^\\s?#]*)?",
        otherwise="neither off nor an address such as http://localhost:8080",
    ),
    Setting(
        "mirrors.weaviate_key_variable",
        "",
        "the environment variable that holds the key of that server",
    ),
    Setting(
        "mirrors.weaviate_required",
        False,
        "whether a memory goes to the fail-safe unless that server accepts it; on by default with"
        " milton",
    ),
    Setting(
        "preset",
        "default",
        "limits and folders as in another program; `retention_rules.yaml` overrides them",
        ("default", "sky", "milton", "sentinel", "skylattice"),
    ),
    Setting(
        "promotion.episodes",
        False,
        "whether a promotion run leaves an episodic record",
    ),
    Setting(
        "recall.boosts",
        True,
        "whether names and dates in a question favour the memories that they point to",
    ),
    Setting(
        "recall.embedders",
        ("wordllama",),
        "the embedders that compute vectors: none, wordllama, minilm, e5, bge-zh,"
        " sentence-transformers:MODEL, openai:MODEL; two are combined",
        pattern="none|wordllama|minilm|e5|bge-zh|(sentence-transformers|openai):\\S{1,200}",
        otherwise="neither none, wordllama, minilm, e5, bge-zh, sentence-transformers:MODEL"
        " nor openai:MODEL",
    ),
    Setting(
        "recall.endpoint",
        "http://localhost:11434/v1",
        "the address of the embedder openai:MODEL; Ollama by default",
    ),
    Setting(
        "recall.key_variable", "", "the environment variable that holds the key of that endpoint"
    ),
    Setting(
        "recall.timeout_ms",
        10_000,
        "how long a request to that endpoint may take",
        bounds=(1, 600_000),
    ),
    Setting(
        "recall.via",
        "store",
        "where a search takes its candidates from: the store itself, or an enabled mirror",
        ("store", "chroma", "weaviate"),
    ),
    Setting(
        "recall.wait_ms",
        2000,
        "how long a search waits for a sentence model before it continues without it",
        bounds=(0, 600_000),
    ),
    Setting(
        "review.expire_days",
        90,
        "after how many days a proposal without a decision lapses; 0 for never",
        bounds=(0, 36_500),
    ),
    Setting(
        "review.per_day",
        100,
        "how many proposals machines may make in a day",
        bounds=(1, 1_000_000),
    ),
    Setting("runs.episodes", True, "whether the end of a run leaves an episodic record"),
    Setting(
        "secrets.capture",
        "warn",
        "what happens to keys, tokens and passwords in new memories: warn (they are stored and "
        "reported), redact, or off",
        ("warn", "redact", "off"),
    ),
    Setting(
        "sleep.endpoint",
        "http://localhost:11434/v1",
        "the address of the model that reads conversations; Ollama by default",
    ),
    Setting(
        "sleep.key_variable", "", "the environment variable that holds the key of that endpoint"
    ),
    Setting(
        "sleep.model",
        "",
        "the language model that reads conversations at sleep; empty: only rules",
    ),
    Setting(
        "sleep.price_in",
        0.0,
        "the price of a million tokens sent to that model, in your currency; 0: unknown",
        bounds=(0, 1_000_000),
    ),
    Setting(
        "sleep.price_out",
        0.0,
        "the price of a million tokens in its answers",
        bounds=(0, 1_000_000),
    ),
    Setting(
        "sleep.timeout_ms",
        60_000,
        "how long a request to that endpoint may take",
        bounds=(1, 600_000),
    ),
    Setting(
        "sleep.token_budget",
        200_000,
        "how many tokens that model may use in a sleep run",
        bounds=(0, 1_000_000_000),
    ),
    Setting(
        "sleep.likely",
        50,
        "the confidence that a claim needs to be proposed, in per cent",
        bounds=PER_CENT,
    ),
    Setting(
        "sleep.sure",
        60,
        "the confidence that a claim needs to become a fact, in per cent",
        bounds=PER_CENT,
    ),
    Setting(
        "store.busy_timeout_ms",
        30_000,
        "how long a write waits for another process",
        bounds=(0, 3_600_000),
    ),
    Setting(
        "store.checkpoint_pages",
        2000,
        "pages in the write-ahead log before it is merged into the database",
        bounds=(1, 1 << 20),
    ),
    Setting(
        "store.placements",
        (),
        "the places of agents that are not at store.url: `pattern address`, or `pattern file`",
        pattern=r"[\w.*?-]{1,100} {1,9}(?:file|postgres(?:ql)?://\S+)",
        otherwise="not a pattern for names of agents, a space, and an address or `file`",
    ),
    Setting(
        "store.pool_size",
        8,
        "how many connections to PostgreSQL a process may hold for an agent",
        bounds=(2, 1000),
    ),
    Setting(
        "store.retry_ms",
        1000,
        "how long to wait before writing again to a store that failed",
        bounds=(0, 3_600_000),
    ),
    Setting(
        "store.search_above",
        100_000,
        "the number of memories above which PostgreSQL finds the candidates of a search",
        bounds=(0, 1 << 40),
    ),
    Setting(
        "store.stale_ms",
        0,
        "how old the answer of a PostgreSQL standby may be; 0: only the server that writes answers",
        bounds=(0, 3_600_000),
    ),
    Setting(
        "store.timeout_ms",
        1000,
        "how long PostgreSQL may be silent before it counts as unavailable",
        bounds=(100, 600_000),
    ),
    Setting(
        "store.url",
        "",
        "where memories are kept: a file in the home, or postgresql://user@host/database",
    ),
    Setting(
        "telemetry.spans",
        False,
        "whether each call is a span of OpenTelemetry, with counts and without content; needs the"
        " extra otel",
    ),
    Setting(
        "user",
        "",
        "the user if neither --user nor LAMINA_USER names one; empty: everybody",
    ),
)
TABLE: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS}


class Value(msgspec.Struct, frozen=True):
    """A setting's value, and where it came from."""

    setting: Setting
    value: Any
    origin: str


class Settings:
    """The values in force. Read with `settings["audit.reads"]`."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self.values = values

    def __getitem__(self, name: str) -> Any:
        return self.values[name].value

    def placed(self, agent: str) -> Settings:
        """Return the settings of one agent: the first placement that matches says where it is.

        An argument of the caller overrides a placement.
        """
        url = self.values["store.url"]
        if url.origin == ARGUMENT:
            return self
        for placement in self["store.placements"]:
            pattern, place = placement.split()
            if fnmatchcase(agent, pattern):
                chosen = Value(url.setting, "" if place == FILE else place, "store.placements")
                return Settings({**self.values, "store.url": chosen})
        return self


def defaults() -> Settings:
    """Return the settings of an empty home."""
    return Settings(
        {setting.name: Value(setting, setting.default, "default") for setting in SETTINGS}
    )


def load(
    home: Path,
    arguments: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Settings:
    """Load the settings of a home. A wrong one is an error that names its origin, never ignored.

    Whatever uses a home loads its settings first, so this is where an untrusted home is refused.
    """
    ownership.check(home)
    if arguments is not None and not isinstance(arguments, Mapping):
        raise InvalidInput(f"settings {shown(arguments)} is not a mapping of names to values")
    values = dict(defaults().values)
    path = home / FILE_NAME
    for name, value in _flat(_file(path)).items():
        values[name] = _checked(name, value, str(path))
    for setting in SETTINGS:
        name, variable = setting.name, setting.variable
        if (text := environment.get(variable)) is not None:
            if setting.file_only:
                raise InvalidInput(f"{variable}: {name} is set in {FILE_NAME} alone; unset it")
            values[name] = _checked(name, _from_text(setting, text), variable)
    for name, value in (arguments or {}).items():
        values[name] = _checked(name, value, ARGUMENT)
    return Settings(values | _implied(values))


def stated(home: Path, name: str) -> Any:
    """Return what `config.toml` says about a setting; None if it says nothing.

    It is for those who choose what to open. Whoever then opens it loads all settings, and reports
    any problem with the file.
    """
    try:
        values = _flat(_file(home / FILE_NAME))
        return _checked(name, values[name], FILE_NAME).value if name in values else None
    except LaminaError:
        return None


def _implied(values: Mapping[str, Value]) -> dict[str, Value]:
    """Let the preset `milton` turn Weaviate on as required, unless a setting says otherwise."""
    required, preset = values["mirrors.weaviate_required"], values["preset"].value
    has_weaviate = values["mirrors.weaviate"].value != "off"
    if preset == "milton" and has_weaviate and required.origin == "default":
        return {required.setting.name: Value(required.setting, True, f"preset {preset}")}
    return {}


def typed(name: str, text: str) -> Any:
    """Parse and check the value of a setting, as typed by a person or set in a variable."""
    if (setting := TABLE.get(name)) is None:
        hint = meant(name, TABLE) or "; `lamina config` lists them"
        raise InvalidInput(f"there is no setting {shown(name)}{hint}")
    return _checked(name, _from_text(setting, text), "config set").value


def by_name(text: str) -> dict[str, Any]:
    """Parse TOML into values by the names of settings, unchecked."""
    import tomllib

    return _flat(tomllib.loads(text))


def shown_value(value: Any) -> str:
    """Format a value as in the file or the environment, but without a password in an address."""
    if isinstance(value, str):
        return PASSWORD.sub(r"\1\2***", value)
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(shown_value, value)) if isinstance(value, tuple) else str(value)


def _file(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    import tomllib

    try:
        with ownership.opened(path) as file:
            return tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"{path} is not valid TOML: {error}") from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from None


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def _from_text(setting: Setting, text: str) -> Any:
    """Convert a variable to the type of its setting; leave a mismatch for the check to report."""
    if isinstance(setting.default, bool):
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
    if isinstance(setting.default, int):
        return int(text) if NUMBER.fullmatch(text) else text
    if isinstance(setting.default, float):
        return float(text) if DECIMAL.fullmatch(text) else text
    if isinstance(setting.default, tuple):
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


def _checked(name: str, value: Any, origin: str) -> Value:
    setting = TABLE.get(name)
    if setting is None:
        hint = meant(str(name), TABLE) or f"; known are {', '.join(TABLE)}"
        raise InvalidInput(f"{origin}: unknown setting {shown(name)}{hint}")
    if isinstance(setting.default, tuple):
        if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
            raise InvalidInput(f"{origin}: {name} = {shown(value)} is not a list of texts")
        for item in value:
            _check_text(setting, item, origin)
        return Value(setting, tuple(value), origin)
    right = ""
    if isinstance(setting.default, float):
        value = _decimal(value)
    if type(value) is not type(setting.default):
        right = TYPE_NAMES[type(setting.default)] + _in_per_cent(setting, value)
    elif setting.choices and value not in setting.choices:
        right = f"one of {', '.join(setting.choices)}{meant(value, setting.choices)}"
    elif setting.bounds and not setting.bounds[0] <= value <= setting.bounds[1]:
        right = f"between {setting.bounds[0]} and {setting.bounds[1]}"
    if right:
        raise InvalidInput(f"{origin}: {name} = {shown(value)} is not {right}")
    if isinstance(value, str):
        _check_text(setting, value, origin)
    return Value(setting, value, origin)


def _in_per_cent(setting: Setting, value: Any) -> str:
    """Say what a share such as 0.7 is in per cent, if a setting takes per cent."""
    is_share = setting.bounds == PER_CENT and DECIMAL.fullmatch(str(value))
    share = float(value) if is_share else 0.0
    return f"; it is in per cent: use {round(100 * share)}" if 0 < share < 1 else ""


def _decimal(value: Any) -> Any:
    """Convert a whole number to a decimal one; one too large for that is out of all bounds."""
    if type(value) is not int:
        return value
    return float(value) if abs(value) < 1 << 53 else math.inf


def _check_text(setting: Setting, value: str, origin: str) -> None:
    if setting.pattern and not re.fullmatch(setting.pattern, value):
        hint = meant(value, [word for word in setting.pattern.split("|") if word.isalpha()])
        problem = f"{setting.name} = {shown(shown_value(value))} is {setting.otherwise}{hint}"
        raise InvalidInput(f"{origin}: {problem}")
