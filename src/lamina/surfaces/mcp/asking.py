"""Ask the person at a client to decide what its agent has just proposed: MCP elicitation.

Nothing is asked unless the operator named the client in the settings and the client says that it
can ask. A tool call returns the id and the state of its proposal, whatever the result of the
question.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import mcp_types as types
from msgspec import structs

from lamina.engines.review import Proposal
from lamina.errors import LaminaError
from lamina.memory.operator import Operator
from lamina.model.record import State
from lamina.surfaces.mcp import answers as r
from lamina.surfaces.mcp import elicitation, question
from lamina.surfaces.mcp.elicitation import Context, Mode
from lamina.surfaces.mcp.question import Question
from lamina.surfaces.mcp.worker import HandleWorker
from lamina.surfaces.review import evidence
from lamina.surfaces.review.decisions import Decisions, Verb
from lamina.text import fence
from lamina.text.words import one_line

if TYPE_CHECKING:
    from lamina.surfaces.mcp.review_page import ReviewPages

log = logging.getLogger("lamina")

WIDTH = 500  # of a problem in an answer
MOST_OPEN = 64  # questions that wait for answers; the oldest is dropped for a new one
KEY = "decision"  # identifies the question that is sent, and its answer
LEFT = "the person was asked, and left it waiting"
SILENT = "the person was asked, and has not decided in time"
UNUSABLE = "the person was asked, but the client gave no answer that can be used"
CHANGED = "it has changed since the person was asked, so nothing was decided"
WITHDRAWN = "this client may not ask any more, so nothing was decided"
FAILED = "the person could not be asked"

Opened = Callable[[str], Operator]


class Asked(NamedTuple):
    """An open question: what was proposed, by which call of which client, and its deadline."""

    client: str
    mode: Mode
    tool: str
    arguments: Mapping[str, Any]
    answer: r.Answer
    proposal: str
    question: Question | None
    link: str | None
    ends: float

    @property
    def seconds(self) -> float:
        """The time left for an answer."""
        return max(0.0, self.ends - time.monotonic())


class Asking:
    """Ask about each proposal once, and carry out a person's answers."""

    def __init__(
        self,
        keeper: HandleWorker,
        allowed: Callable[[], Mapping[str, frozenset[Mode]]],
        opened: Opened | None,
        pages: ReviewPages | None,
        seconds: float,
    ) -> None:
        self._keeper = keeper
        self._allowed = allowed
        self._opened = opened  # None if operators need a key that this process does not have
        self._pages = pages
        self.seconds = seconds
        self._open: dict[str, Asked] = {}
        self._asked: set[str] = set()

    def close(self) -> None:
        """Close every page."""
        if self._pages is not None:
            self._pages.close()

    async def about(
        self, context: Context, params: types.CallToolRequestParams, answer: r.Answer
    ) -> r.Answer | types.InputRequiredResult:
        """Ask about a call's proposal if this client is allowed to; otherwise return its answer."""
        proposal, client = _waiting(answer), elicitation.name(context)
        if proposal is None or client is None or proposal in self._asked:
            return answer
        try:
            mode = self._mode(context, client)
            if mode is None:
                return answer
            self._asked.add(proposal)
            asked = await self._prepared(client, mode, params, answer, proposal)
            if asked is None:
                return answer
            if elicitation.is_sent_along(context):
                return self._sent_along(asked)
            return await self._asked_at_once(context, asked)
        except LaminaError as error:
            return _told(answer, f"{FAILED}: {error.message}")
        except Exception:  # the proposal is stored, and its id must be returned
            log.exception("a question about %s failed", proposal)
            return _told(answer, FAILED)

    async def resumed(
        self, context: Context, params: types.CallToolRequestParams
    ) -> r.Answer | None:
        """Accept the answer to a question sent along; None if there is no such question."""
        asked = self._open.pop(params.request_state or "", None)
        if asked is None or not _is_same_call(asked, context, params):
            return None
        given = (params.input_responses or {}).get(KEY)
        try:
            return await self._settled(
                asked, given if isinstance(given, types.ElicitResult) else None
            )
        except Exception:
            log.exception("a question about %s failed", asked.proposal)
            return _told(asked.answer, FAILED)

    def _mode(self, context: Context, client: str) -> Mode | None:
        """Choose how to ask, within what operator and client allow; a page is preferred."""
        if not elicitation.is_possible(context):
            return None
        both = self._modes(client) & elicitation.supported(context)
        if Mode.URL in both and self._pages is not None:
            return Mode.URL
        return Mode.FORM if Mode.FORM in both and self._opened is not None else None

    def _modes(self, client: str) -> frozenset[Mode]:
        return self._allowed().get(client, frozenset())

    async def _prepared(
        self,
        client: str,
        mode: Mode,
        params: types.CallToolRequestParams,
        answer: r.Answer,
        proposal: str,
    ) -> Asked | None:
        """Prepare the question; None if it cannot be asked in this way."""
        asked, link = None, None
        if mode is Mode.FORM:
            asked = await self._keeper.do(lambda _: self._question(client, proposal))
        else:
            assert self._pages is not None
            pages, surface = self._pages, _surface(mode, client)
            link = await self._keeper.do(lambda _: pages.open(surface, proposal, self.seconds))
        if asked is None and link is None:
            return None
        ends = time.monotonic() + self.seconds
        arguments = params.arguments or {}
        return Asked(client, mode, params.name, arguments, answer, proposal, asked, link, ends)

    def _question(self, client: str, proposal: str) -> Question | None:
        assert self._opened is not None
        with self._opened(_surface(Mode.FORM, client)) as operator:
            return worded(operator, _find(operator, proposal))

    async def _asked_at_once(self, context: Context, asked: Asked) -> r.Answer:
        given = await elicitation.sent(context, _params(asked, asked.proposal), asked.seconds)
        settled = await self._settled(asked, given)
        if asked.mode is Mode.URL:
            await elicitation.completed(context, asked.proposal)
        return settled

    def _sent_along(self, asked: Asked) -> types.InputRequiredResult:
        """Send the question instead of the call's answer; the client calls again to answer it."""
        state = secrets.token_urlsafe(32)
        while len(self._open) >= MOST_OPEN:
            self._open.pop(next(iter(self._open)))
        self._open[state] = asked
        request = types.ElicitRequest(params=_params(asked))
        return types.InputRequiredResult(input_requests={KEY: request}, request_state=state)

    async def _settled(self, asked: Asked, given: types.ElicitResult | None) -> r.Answer:
        """Carry out a person's answer, and return the new state of the proposal."""
        if asked.mode is Mode.URL:
            fate = await self._visited(asked, given)
        else:
            fate = await self._filled(asked, given)
        return await self._current(asked, fate)

    async def _visited(self, asked: Asked, given: types.ElicitResult | None) -> str | Verb:
        """Wait for a decision on the page, if the person agreed to open it."""
        assert self._pages is not None
        assert asked.link is not None
        if given is None or given.action != "accept":
            self._pages.end(asked.link)
            return LEFT if given is not None else UNUSABLE
        with anyio.move_on_after(asked.seconds):
            return await self._pages.decided(asked.link) or LEFT
        return SILENT

    async def _filled(self, asked: Asked, given: types.ElicitResult | None) -> str | Verb:
        """Carry out the decision in the form."""
        if given is None:
            return UNUSABLE
        if not asked.seconds:
            return SILENT
        if given.action != "accept":
            return LEFT
        if asked.mode not in self._modes(asked.client):
            return WITHDRAWN
        try:
            return await self._keeper.do(lambda _: self._decided(asked, given.content))
        except LaminaError as error:
            return f"the person's answer was not carried out: {error.message}"

    def _decided(self, asked: Asked, content: Mapping[str, Any] | None) -> str | Verb:
        assert self._opened is not None
        assert asked.question is not None
        with self._opened(_surface(asked.mode, asked.client)) as operator:
            return decide(operator, asked.proposal, asked.question, content)

    async def _current(self, asked: Asked, fate: str | Verb) -> r.Answer:
        """Answer with the current state of the proposal, whoever has decided it."""
        try:
            now = await self._keeper.do(lambda memory: memory.get(asked.proposal).state)
        except LaminaError as error:
            return _told(asked.answer, error.message)
        return _stated(asked, fate, now)


def decide(
    operator: Operator, record_id: str, asked: Question, content: Mapping[str, Any] | None
) -> str | Verb:
    """Carry out a person's answer to a question; return what was done, or why nothing was."""
    proposal = _find(operator, record_id)
    if proposal is None:
        return CHANGED
    try:
        decision = question.decision(asked, proposal, content)
    except ValueError:
        return UNUSABLE
    if decision is None:
        return LEFT
    if worded(operator, proposal) != asked:
        return CHANGED
    (outcome,) = Decisions(operator).decide([decision])
    return decision.verb if outcome.error is None else outcome.error


def worded(operator: Operator, proposal: Proposal | None) -> Question | None:
    """Word the question about a proposal; None if it cannot be asked in a dialog."""
    if proposal is None:
        return None
    references = proposal.record.evidence
    found = [one for name in references if (one := evidence.found(operator, name)) is not None]
    return question.question(proposal, found, operator.agent)


def _find(operator: Operator, proposal: str) -> Proposal | None:
    return next((one for one in operator.proposals() if one.record.id == proposal), None)


def _waiting(answer: r.Answer) -> str | None:
    """Find the id of the request that an answer leaves for a person."""
    if isinstance(answer, r.Waiting):
        return answer.id
    return answer.request if isinstance(answer, r.Judged) else None


def _surface(mode: Mode, client: str) -> str:
    """Name the way in which a decision was made, for the trail."""
    return f"mcp {mode}: {client}"


def _params(asked: Asked, name: str | None = None) -> types.ElicitRequestParams:
    if asked.link is not None:
        return types.ElicitRequestURLParams(
            message=f"An agent proposes a change, {asked.proposal}. Decide it on this page of your"
            " own machine; the link works once.",
            url=asked.link,
            elicitation_id=name,
        )
    assert asked.question is not None
    return types.ElicitRequestFormParams(
        message=asked.question.text, requested_schema=question.schema(asked.question)
    )


def _is_same_call(asked: Asked, context: Context, params: types.CallToolRequestParams) -> bool:
    """Return whether a call is the one that the question was about, by the same client."""
    call = (params.name, params.arguments or {}, elicitation.name(context))
    return call == (asked.tool, asked.arguments, asked.client)


def _told(answer: r.Answer, what: str) -> r.Answer:
    return structs.replace(answer, text=f"{answer.text}; {fence.tamed(one_line(what, WIDTH))}")


def _stated(asked: Asked, fate: str | Verb, state: State) -> r.Answer:
    """Word the tool's answer according to what happened to its proposal."""
    answer = asked.answer
    if isinstance(fate, Verb) and state is not State.CONSTRAINED:
        answer = structs.replace(answer, text=_fates(asked.proposal)[fate], decided=fate.done)
    elif state is State.CONSTRAINED:  # also if the decision was undone at once
        answer = _told(answer, LEFT if isinstance(fate, Verb) else fate)
    else:
        text = f"{asked.proposal} was decided elsewhere: it is {state.value}"
        answer = structs.replace(answer, text=text)
    if isinstance(answer, r.Waiting):
        return structs.replace(answer, state=state.value)
    return answer


def _fates(proposal: str) -> Mapping[Verb, str]:
    return {
        Verb.CONFIRM: f"a person has confirmed {proposal}: it holds now",
        Verb.REJECT: f"a person has rejected {proposal}: nothing changes; do not ask again",
        Verb.FORGET: f"a person has agreed to {proposal}: the memory is forgotten",
    }
