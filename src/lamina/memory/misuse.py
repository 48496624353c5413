"""Explain in our own words that a verb was called with the wrong arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from lamina.errors import WrongCall
from lamina.text.words import counted, meant

Handle = TypeVar("Handle", bound=type)


def explained(handle: Handle) -> Handle:
    """Make every verb of a class explain calls with wrong arguments."""
    for name, verb in vars(handle).copy().items():
        if not name.startswith("_") and callable(verb):
            setattr(handle, name, explaining(verb))
    return handle


def explaining(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Make a verb explain calls with wrong arguments."""

    @functools.wraps(verb)
    def call(self: Any, *given: Any, **named: Any) -> Any:
        try:
            return verb(self, *given, **named)
        except TypeError as error:
            problem = wrong_call(verb, given, named, error)
            if problem is None:  # a bug of ours, further in
                raise
            raise problem from None

    return call


def wrong_call(
    verb: Callable[..., Any], given: Sequence[Any], named: Mapping[str, Any], error: TypeError
) -> WrongCall | None:
    """Explain a call that raised an error; None if its arguments are right and the bug is ours."""
    import inspect  # only a wrong call needs it

    of_verb = inspect.signature(verb)
    try:
        of_verb.bind(None, *given, **named)
    except TypeError:
        pass
    else:  # an argument that it passes on may be unknown further in
        handed = (name for name in named if str(error).endswith(f"keyword argument {name!r}"))
        return next((WrongCall(f"{verb.__name__} has no argument {name}") for name in handed), None)
    _, *parameters = of_verb.parameters.values()  # the first is the handle
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    plain = [one for one in parameters if one.kind not in variable]
    in_order = [one.name for one in plain if one.kind is not inspect.Parameter.KEYWORD_ONLY]
    names = [one.name for one in plain]
    takes_any = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)
    unknown = [] if takes_any else [name for name in named if name not in names]
    if unknown:
        return unknown_argument(verb.__name__, unknown[0], names)
    takes = f"it takes {', '.join(names)}" if names else "it takes no arguments"
    if len(given) > len(in_order):
        problem = f"takes {counted(len(in_order), 'argument')} in order, and not {len(given)}"
        return WrongCall(f"{verb.__name__} {problem}; {takes}")
    filled = {*in_order[: len(given)], *named}
    needed = [one.name for one in plain if one.default is inspect.Parameter.empty]
    if missing := [name for name in needed if name not in filled]:
        rest = "" if missing == names else f"; {takes}"
        return WrongCall(f"{verb.__name__} needs {' and '.join(missing)}{rest}")
    twice = [name for name in in_order[: len(given)] if name in named]
    return WrongCall(f"{verb.__name__} was given {' and '.join(twice)} twice; {takes}")


def unknown_argument(verb: str, name: str, known: Collection[str]) -> WrongCall:
    """Explain that a verb has no such argument, and suggest which one was meant."""
    takes = f"it takes {', '.join(known)}" if known else "it takes none"
    return WrongCall(f"{verb} has no argument {name}; {takes}{meant(name, known)}")
