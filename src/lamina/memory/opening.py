"""Open handles: on whose memory, with which permissions, through which surface."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from lamina.errors import (
    Corrupt,
    Forbidden,
    InvalidInput,
    LaminaError,
    NotFound,
    Refused,
    StoreUnavailable,
)
from lamina.failsafe.resilient import Resilient
from lamina.home import operator_key
from lamina.home import settings as config
from lamina.home.folder import AGENT_NAME, Home, agent_name, given_path, user_name
from lamina.memory import (  # noqa: F401 - every handle needs these parts, so they load with it
    derived,
    drafting,
    failsafe,
    importance,
    read,
    redaction,
    refusals,
    remember,
    runs,
)
from lamina.memory.agent import Memory
from lamina.memory.scope import Scope
from lamina.model import clock as clocks
from lamina.model import rules
from lamina.model.clock import Clock
from lamina.model.record import Actor, Role
from lamina.store.core.store import Store
from lamina.store.tables.refusals import Refusal
from lamina.store.upkeep import opening
from lamina.text import words

if TYPE_CHECKING:
    from lamina.store.upkeep.restore import Outlook


def connect(
    role: Role,
    agent: str | None = None,
    user: str | None = None,
    home: Path | str | None = None,
    clock: Clock | None = None,
    actor: str | None = None,
    surface: str = "python",
    settings: Mapping[str, Any] | None = None,
    store_id: str | None = None,
    scoped: bool = True,
    key: str | None = None,
    replay: bool = True,
) -> Memory:
    """Open a handle.

    Without arguments, `LAMINA_HOME`, `LAMINA_AGENT` and `LAMINA_USER` decide, then the defaults.
    A store that cannot be used now is tried again when it is needed; meanwhile the fail-safe
    accepts new memories.
    """
    now = clocks.checked(clock or clocks.system_clock)
    place = Home(home_path(home))
    agent = chosen_agent(agent, place.path)
    name = agent_label(agent) if role is Role.AGENT else local_user()
    who = Actor(role, name if actor is None else rules.label(actor, "actor"), surface)
    user = chosen_user(user) if scoped else user
    user_name(user)  # before anything is created
    values = config.load(place.path, settings).placed(agent)
    try:
        if role is Role.OPERATOR:
            _check_key(place, key, who, agent, now)
        folder = place.prepare(agent_name(agent))
        resilient = Resilient(
            lambda: opening.opened(folder, agent, values, now(), store_id),
            folder,
            agent,
            values,
            place.path,
        )
        user = _user(resilient, user)
    except (InvalidInput, Refused) as error:
        # A refusal by the database crosses no boundary of the home; a missing key is in the trail.
        if "place" not in error.details and not isinstance(error, Forbidden):
            place.log_violation(now(), who, error.message, agent)
        raise
    handle = _kind(role)(Scope(place, resilient, user, who, now, values))
    if replay:
        handle.catch_up()
    return handle


def look(
    agent: str,
    user: str | None = None,
    home: Path | str | None = None,
    surface: str = "python",
    *,
    role: Role = Role.AGENT,
    actor: str | None = None,
    clock: Clock | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Memory:
    """Open a handle that only reads: it has no connection that could write.

    It creates, migrates and cleans up nothing. Its reads go to the trail of reads, a file of
    its own. For an operator's handle, the caller has checked the operator's key.
    """
    name = agent_name(agent)
    who = Actor(role, name if actor is None else rules.label(actor, "actor"), surface)
    return _kind(role)(_looking(Home(home_path(home)), name, user, who, clock, settings))


def _looking(
    place: Home,
    agent: str,
    user: str | None,
    who: Actor,
    clock: Clock | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Scope:
    """Open a store for reading only, and return the scope of a handle on it."""
    from lamina.store.upkeep.read_only import attached

    now = clocks.checked(clock or clocks.system_clock)
    name, _ = agent_name(agent), user_name(user)
    values = config.load(place.path, settings).placed(name)
    try:
        store = _ready(attached(place.agent_folder(name), name, values), name)
        resilient = Resilient(lambda: store, store.folder, name, values, place.path)
        user = _user(resilient, user)
        if not store.folder.is_dir():  # the memory is on a server, but its trail of reads is here
            place.prepare(name)
    except (InvalidInput, Refused) as error:
        place.log_violation(now(), who, error.message, name)
        raise
    store.database.writable = False
    return Scope(place, resilient, user, who, now, values)


def _ready(store: Store | None, agent: str) -> Store:
    """Check that a store can be read as it is: only a handle that writes migrates it."""
    if store is None:
        raise NotFound(
            f"the agent {agent} has no memory that can be read; `lamina --agent {agent} status`"
            " makes it ready"
        )
    if store.analyser < words.ANALYSER_VERSION:
        store.close()
        raise StoreUnavailable(
            f"the store of {agent} is older than this Lamina; run `lamina --agent {agent} status`"
            " once"
        )
    return store


def _user(resilient: Resilient, user: str | None) -> str | None:
    """Check the name of a user and return it as the store spells it."""
    try:
        return resilient.user(user)
    except BaseException:
        resilient.close()
        raise


def restore(
    folder: Path | str,
    agent: str | None = None,
    home: Path | str | None = None,
    clock: Clock | None = None,
    surface: str = "python",
    progress: Callable[[int, int], None] | None = None,
    key: str | None = None,
) -> dict[str, Any]:
    """Replace the store of an agent with a backup, even if it is damaged. The old store is kept."""
    from lamina.memory.operator import Operator
    from lamina.store.upkeep import restore as restoration

    source, place = given_path(folder), Home(home_path(home))
    name = chosen_agent(agent, place.path)
    told = before_restore(source, agent, home, clock, surface, key).to_dict()
    try:
        # What waits in the fail-safe goes into the restored store.
        with connect(
            Role.OPERATOR, agent, None, home, clock, surface=surface, key=key, replay=False
        ) as operator:
            assert isinstance(operator, Operator)
            return {**operator.restore(source, progress), **told}
    except Corrupt as error:
        values, now = (
            config.load(place.path).placed(name),
            clocks.checked(clock or clocks.system_clock)(),
        )
        if values["store.url"]:
            # A server has its own backups; a file of the home would never be read.
            raise
        actor = Actor(Role.OPERATOR, local_user(), surface)
        done = restoration.over_damage(
            place.prepare(name), name, values, source, actor, now, progress
        )
        with connect(Role.OPERATOR, agent, None, home, clock, surface=surface, key=key) as operator:
            assert isinstance(operator, Operator)
            operator.resume_erasures()
            operator.end_grants_but(
                (), "nobody knows whether it was ended before the store was damaged"
            )
        return {**done, **told, "damage": error.message}


def begin_anew(
    agent: str | None = None,
    home: Path | str | None = None,
    clock: Clock | None = None,
    surface: str = "python",
    key: str | None = None,
) -> dict[str, Any]:
    """Set aside a damaged store without a backup, and begin an empty one.

    What waits in the fail-safe is stored in the new one.
    """
    from lamina.store.upkeep import restore as restoration

    place, now = Home(home_path(home)), clocks.checked(clock or clocks.system_clock)()
    name = chosen_agent(agent, place.path)
    actor = Actor(Role.OPERATOR, local_user(), surface)
    _check_key(place, key, actor, name, lambda: now)
    values = config.load(place.path).placed(name)
    done = restoration.empty(place.agent_folder(name), name, values, actor, now)
    with connect(Role.OPERATOR, agent, None, home, clock, surface=surface, key=key) as operator:
        operator.resume_erasures()  # type: ignore[attr-defined]
        return {
            **done,
            "records": sum(
                sum(states.values()) for states in operator.status()["records"].values()
            ),
        }


def before_restore(
    folder: Path | str,
    agent: str | None = None,
    home: Path | str | None = None,
    clock: Clock | None = None,
    surface: str = "python",
    key: str | None = None,
) -> Outlook:
    """Report what restoring a backup would do. Nothing is changed or created."""
    from lamina.store.upkeep import restore as restoration

    place = Home(home_path(home))
    name = chosen_agent(agent, place.path)
    now = clocks.checked(clock or clocks.system_clock)()
    actor = Actor(Role.OPERATOR, local_user(), surface)
    _check_key(place, key, actor, name, lambda: now)
    try:
        store = place.agent_folder(name)
    except InvalidInput as error:
        place.log_violation(now, actor, error.message, name)
        raise
    values = config.load(place.path).placed(name)
    return restoration.outlook(store, name, values, given_path(folder), now)


def refuse(
    home: Home, agent: str, user: str | None, refusal: Refusal, texts: Iterable[str] = ()
) -> None:
    """Note a refusal in the trail without an open handle, with the visible records concerned.

    To find these records, the store is opened read-only.
    """
    ids = [text for text in texts if clocks.is_id(text)]
    if ids:
        who = refusal.actor
        with (
            suppress(LaminaError),
            closing(_looking(home, agent, chosen_user(user), who)) as scope,
        ):
            refusal = structs.replace(refusal, records=refusals.visible(scope, ids))
    refusals.leave_once(home, agent, refusal)


def _check_key(place: Home, key: str | None, who: Actor, agent: str, clock: Clock) -> None:
    """Require the operator's key; a caller without it is refused and noted in the trail."""
    try:
        operator_key.check(place.path, key)
    except Forbidden as error:
        refusals.leave_once(place, agent, Refusal(clock(), who, "open", error.lacks))
        error.is_noted = True
        raise


def chosen_agent(given: str | None, home: Path) -> str:
    """Choose the agent: the given one, that of `LAMINA_AGENT` or the settings, or `default`."""
    if given is not None:
        return given
    return os.environ.get("LAMINA_AGENT") or config.stated(home, "agent") or "default"


def chosen_user(given: str | None = None) -> str | None:
    """Choose the user: the given one, or that of `LAMINA_USER`; None for all users."""
    return given if given is not None else os.environ.get("LAMINA_USER") or None


def home_path(given: Path | str | None = None) -> Path:
    """Choose the home: the given one, that of `LAMINA_HOME`, or one in the user's data folder."""
    chosen = given or os.environ.get("LAMINA_HOME")
    if not chosen:
        import platformdirs

        chosen = platformdirs.user_data_path("lamina")
    return given_path(chosen)


def _kind(role: Role) -> type[Memory]:
    """Choose the class of a handle; the operator's class is imported only for operators."""
    if role is not Role.OPERATOR:
        return Memory
    from lamina.memory.operator import Operator

    return Operator


def agent_label(agent: object) -> str:
    return agent if isinstance(agent, str) and AGENT_NAME.fullmatch(agent) else "unknown"


def local_user() -> str:
    """Return the name of the person at this machine, if the operating system knows it."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no name for this user id, as in some containers
        return str(os.getuid()) if hasattr(os, "getuid") else "operator"
