"""The page itself: show the queue, and accept one decision after another as plain forms."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode

from jinja2 import PackageLoader
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from lamina.engines.review import Proposal, to_forget
from lamina.errors import Forbidden, InvalidInput, LaminaError
from lamina.memory.operator import Operator
from lamina.model.clock import Clock
from lamina.surfaces.cli.reviewer import editing, wording
from lamina.surfaces.http.console import STATIC, difference, page
from lamina.surfaces.http.console.difference import Row
from lamina.surfaces.http.errors import status_of
from lamina.surfaces.review import evidence
from lamina.surfaces.review.arrangement import GROUPINGS, ORDERS, Arrangement, asked_by
from lamina.surfaces.review.browser.sitting import Sitting
from lamina.surfaces.review.decisions import (
    REASONS,
    Decision,
    Decisions,
    Outcome,
    Verb,
    agreeing,
    is_possible,
)
from lamina.surfaces.review.evidence import Evidence

COOKIE = "lamina_review"
ON_A_PAGE = 20
# Without this, browsers do not say that a form comes from our own page.
REFERRER = {"referrer-policy": "same-origin"}
GONE = "somebody else has decided it meanwhile"
GUESSES = 5  # attempts at the operator key, before the page is closed


class Card(NamedTuple):
    """A proposal with everything that a person needs to decide it here."""

    proposal: Proposal
    place: str
    origin: str
    asked_by: str
    cautions: list[str]
    rows: list[Row]
    evidence: list[Evidence]
    can_confirm: bool
    forgets: bool
    text: str | None  # to edit, if possible


class Locked(NamedTuple):
    """A memory that needs the operator key, for which the page asks."""

    agent: str
    user: str | None
    unlock: Callable[[str], Operator]


class ReviewPage:
    """The routes of the page, for one operator's handle. It serves one request at a time."""

    def __init__(
        self,
        operator: Operator | Locked,
        sitting: Sitting,
        clock: Clock,
        end: Callable[[], None],
        about: str = "",
        decided: Callable[[str, Verb], None] | None = None,
    ) -> None:
        self._whose = (operator.agent, operator.user)
        self._lock = operator if isinstance(operator, Locked) else None
        self._opened = None if isinstance(operator, Locked) else operator
        self._sitting = sitting
        self._clock = clock
        self._end = end
        self._about = about  # the proposal that the page shows first
        self._note_decision = decided
        self._guesses = 0
        self._message: tuple[str, str] | None = None
        own = PackageLoader("lamina.surfaces.review.browser", "templates")
        self._templates = page.templates(own, reasons=REASONS)

    @property
    def _operator(self) -> Operator:
        if self._opened is None:
            raise Forbidden("give the operator key first", lacks="key")
        return self._opened

    @cached_property
    def _decisions(self) -> Decisions:
        return Decisions(self._operator)

    def close(self) -> None:
        """Close the handle of the operator."""
        if self._opened is not None:
            self._opened.close()

    def app(self) -> Starlette:
        """Create the app with its routes."""
        return Starlette(
            routes=[
                Route("/enter", self._enter),
                Route("/", self._show),
                Route("/unlock", self._unlock, methods=["POST"]),
                Route("/decide", self._decide, methods=["POST"]),
                Route("/undo", self._undo, methods=["POST"]),
                Route("/finish", self._finish, methods=["POST"]),
                Route("/console/console.css", _style),
                Route("/console/icon.svg", _icon),
            ],
            exception_handlers={LaminaError: self._explain, 404: _nothing_here},
        )

    async def _enter(self, request: Request) -> Response:
        session = self._sitting.enter(request.query_params.get("key", ""))
        first = urlencode({"words": self._about}) if self._about else ""
        answer = RedirectResponse(f"/?{first}" if first else "/", 303)
        answer.set_cookie(COOKIE, session, httponly=True, samesite="strict")
        return answer

    async def _show(self, request: Request) -> Response:
        self._check(request)
        if self._opened is None:
            return self._locked()
        wanted = _arrangement(request)
        groups = wanted.groups(self._operator.proposals())
        shown = [(group.name, one) for group in groups for one in group.proposals]
        cards = [(name, self._card(one)) for name, one in shown[:ON_A_PAGE]]
        message, self._message = self._message, None
        return self._page(
            "queue.html",
            cards=cards,
            number=len(shown),
            wanted=wanted,
            orders=ORDERS,
            groupings=GROUPINGS,
            message=message,
            last=self._decisions.last,
            page=self._sitting.show(),
        )

    def _locked(self, problem: str = "", status: int = 200) -> Response:
        return self._page("locked.html", status, problem=problem, page=self._sitting.show())

    async def _unlock(self, request: Request) -> Response:
        """Accept the operator key, which is in no link; after some wrong ones the page closes."""
        form = await self._form(request)
        if self._lock is None or self._opened is not None:
            raise InvalidInput("this page is not locked")
        try:
            self._opened = self._lock.unlock(form.get("key", [""])[0])
        except Forbidden as error:
            self._guesses += 1
            if self._guesses >= GUESSES:
                self._end()
                raise
            return self._locked(error.message, status_of(error))
        return self._back({"words": [self._about]})

    async def _decide(self, request: Request) -> Response:
        form = await self._form(request)
        proposal = self._waiting(_one(form, "id"))
        if proposal is None:
            self._say(GONE, "problem")
        else:
            decision = _decision(proposal, form)
            (outcome,) = self._decisions.decide([decision])
            self._report(outcome)
            if outcome.error is None and self._note_decision is not None:
                self._note_decision(proposal.record.id, decision.verb)
        return self._back(form)

    async def _undo(self, request: Request) -> Response:
        form = await self._form(request)
        if not self._decisions.last:
            self._say("nothing was decided here that could be undone", "problem")
        else:
            for outcome in self._decisions.undo():
                self._report(outcome)
        return self._back(form)

    async def _finish(self, request: Request) -> Response:
        await self._form(request)
        self._end()
        return self._page("finished.html", summary=self._decisions.summary())

    def _check(self, request: Request) -> None:
        self._sitting.check(request.cookies.get(COOKIE))

    async def _form(self, request: Request) -> dict[str, list[str]]:
        """Read a form of the page that was shown last; refuse others."""
        self._check(request)
        try:
            form = parse_qs(
                (await request.body()).decode(), keep_blank_values=True, max_num_fields=20
            )
        except ValueError:
            raise InvalidInput("the form cannot be read") from None
        self._sitting.decide(_one(form, "page"))
        return form

    def _waiting(self, record_id: str) -> Proposal | None:
        waiting = self._operator.proposals()
        return next((one for one in waiting if one.record.id == record_id), None)

    def _card(self, proposal: Proposal) -> Card:
        record = proposal.record
        cautions = (*wording.obstacles(proposal), *wording.echoes(proposal))
        return Card(
            proposal,
            wording.place(record),
            wording.origin(proposal),
            asked_by(proposal),
            [line.plain.lstrip("!?~ ") for line in cautions],
            difference.rows(proposal),
            evidence.read(self._operator, record.evidence),
            is_possible(proposal),
            to_forget(record) is not None,
            editing.text(record) if editing.obstacle(record) is None else None,
        )

    def _report(self, outcome: Outcome) -> None:
        kind = "done" if outcome.error is None else "problem"
        self._say(wording.reported(outcome), kind)

    def _say(self, text: str, kind: str) -> None:
        self._message = (text, kind)

    def _back(self, form: dict[str, list[str]]) -> Response:
        kept = {name: _one(form, name) for name in Arrangement._fields if _one(form, name)}
        return RedirectResponse(f"/?{urlencode(kept)}" if kept else "/", 303)

    def _page(self, template: str, status: int = 200, **values: Any) -> Response:
        agent, user = self._whose
        made = self._templates.get_template(template).render(
            now=self._clock(), agent=agent, user=user, **values
        )
        return HTMLResponse(made, status, REFERRER)

    async def _explain(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, LaminaError)
        allowed = not isinstance(error, Forbidden) or error.lacks == "page"
        return self._page("refused.html", status_of(error), text=error.message, can_return=allowed)


def _arrangement(request: Request) -> Arrangement:
    given = request.query_params
    order, grouping = given.get("order", "effect"), given.get("grouping", "none")
    if order not in ORDERS or grouping not in GROUPINGS:
        raise InvalidInput("there is no such order or grouping; choose one on the page")
    return Arrangement(given.get("words", ""), order, grouping)


def _decision(proposal: Proposal, form: dict[str, list[str]]) -> Decision:
    """Read the decision from a form."""
    verb = _one(form, "verb")
    if verb == "agree":
        return agreeing(proposal)
    if verb == "edit" and editing.obstacle(proposal.record) is None:
        return editing.decision(proposal, _one(form, "content"))
    if verb == "reject":
        return Decision(Verb.REJECT, proposal, _one(form, "typed") or _one(form, "reason") or None)
    raise InvalidInput("a decision is to agree, edit or reject")


def _one(form: dict[str, list[str]], name: str) -> str:
    return form.get(name, [""])[0].strip()


async def _style(_: Request) -> Response:
    return Response((STATIC / "console.css").read_bytes(), media_type="text/css")


async def _icon(_: Request) -> Response:
    return Response((STATIC / "icon.svg").read_bytes(), media_type="image/svg+xml")


async def _nothing_here(_: Request, __: Exception) -> Response:
    return HTMLResponse("<!doctype html><title>Nothing here</title><p>Nothing is here.</p>", 404)
