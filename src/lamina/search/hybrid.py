"""The default ranker (Q5): a weighted sum of words, meaning, speaker, time and other named parts.

All visible records are scored by what the catalogue knows of them, and the best of these are
scored exactly. The weights were measured on conversations between people and with assistants
(docs/decisions/0008).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lamina.embedders import Embedder
from lamina.model.record import Hits
from lamina.search import bm25, echoes, hits, renewal, trust
from lamina.search.answerable import Crowd, Evidence
from lamina.search.question import Question
from lamina.search.request import MICROS_PER_DAY, Column, Request
from lamina.search.similarity import Similarity, similarity
from lamina.store.index.catalogue import Mask, Rows, mark
from lamina.text import cues
from lamina.text.words import terms

WORDS, MEANING, MODEL = 0.40, 0.30, 0.30
WHO, ROLE, TIME, SESSION = 0.20, -0.40, 0.40, 0.10
ANSWER, ASKS, ECHO, LENGTH = 0.10, -0.08, -0.30, 0.20
RECENCY, IMPORTANCE = 0.02, 0.05
CANDIDATES = 200
OWN = 50  # candidates that are not from outside, however many others fit better
NEAR_MEANING = 0.45  # the weight of the meaning of the turn before or after
NEAR_MODEL = 0.50
SECOND = (
    0.5  # for a speaker who is named second: "what did Jon say about Gina" asks for Jon's words
)
LATE_DAYS, LATE = 7, 0.6  # people tell on the 9th what they did on the 7th
SPOKEN_OF = 0.8  # for a text that speaks of the day, whenever it was said
FULL_LENGTH = 60  # words
LEAST_COSINE = 0.05  # what shares are taken of, at least
LEAST_SCORE = 1e-9

Views = Sequence[Similarity]


def rank(request: Request, embedders: Sequence[Embedder], *, boosts: bool) -> Hits:
    """Return the records with the highest sum of all parts; none when nothing seems an answer."""
    question = Question(request, boosts=boosts)
    words = bm25.around(request, question.words)
    views = [
        view
        for embedder in embedders
        if (view := similarity(request, embedder, question.bare, words))
    ]
    time = _time(request, question) if question.spans else None
    rows = _rows_to_score(request, question, words, views, time)
    if not len(rows):
        return Hits((), request.notes)
    likenesses = [Likeness(request, view, rows) for view in views]
    parts = _parts(request, question, words, likenesses, rows, time)
    cosine = likenesses[0].own if likenesses else np.zeros(len(rows))
    evidence = Evidence(question, words, rows, cosine)
    if time is not None:
        evidence.add_time(time[rows])
    if "who" in parts and not question.topic:
        evidence.add_speaker(parts["who"] / WHO)
    crowds = _crowds(request, views, rows, parts["echo"] < 0)
    confidence = evidence.confidence(_total(parts, rows), crowds)
    if confidence < 0:
        return Hits((), request.notes, confidence)
    related = evidence.is_related()
    rows, parts = rows[related], {name: part[related] for name, part in parts.items()}
    parts["renewed"] = renewal.lifts(request, question, words, rows, _total(parts, rows))
    return hits.hits(request, rows, parts, confidence)


def _total(parts: dict[str, Column], rows: Rows) -> Column:
    """Add up the parts in their order: another order could round otherwise."""
    return sum(parts.values(), np.zeros(len(rows)))


def _crowds(request: Request, views: Views, rows: Rows, is_echo: Mask) -> list[Crowd]:
    """Return all records, and those not from outside, so that a flood hides none of the latter.

    An echo of the question that comes from outside is evidence for nothing.
    """

    def crowd(members: Mask, records: Rows) -> Crowd:
        usual = 0.0
        if views and len(records):
            usual = float(views[0].estimate[records].mean(dtype=np.float64))
        return Crowd(members, len(records), usual)

    if not request.has_outside:
        return [crowd(np.ones(len(rows), np.bool_), request.rows)]
    outside = request.is_outside(rows)
    return [crowd(~(outside & is_echo), request.rows), crowd(~outside, request.own)]


class Likeness:
    """Exact cosines of rows, and of the turns before and after them; 0 where none is visible."""

    def __init__(self, request: Request, view: Similarity, rows: Rows) -> None:
        catalogue = request.look.catalogue
        sides = [
            np.where(request.allowed[near[rows]], near[rows], 0)
            for near in (catalogue.before, catalogue.after)
        ]
        self.own, self.before, self.after = view.exact(rows, *sides)
        self.sides = sum(((side > 0).astype(np.float64) for side in sides), np.zeros(len(rows)))

    def best(self) -> Column:
        """Take a row's own cosine, or some of the better neighbour's."""
        return _share(np.maximum(self.own, NEAR_MEANING * np.maximum(self.before, self.after)))

    def mean(self) -> Column:
        """Take the mean of a row's own cosine and half of each neighbour's.

        A sentence model knows less of what went before.
        """
        near = NEAR_MODEL * (self.before + self.after)
        return _share((self.own + near) / (1 + NEAR_MODEL * self.sides))


def _share(cosine: Column) -> Column:
    """Turn cosines into shares of the best."""
    share: Column = np.maximum(cosine, 0) / max(float(cosine.max()), LEAST_COSINE)
    return share


def _rows_to_score(
    request: Request, question: Question, words: bm25.Matches, views: Views, time: Column | None
) -> Rows:
    """Return the rows that are scored exactly: the store's candidates, or a mirror's.

    To a mirror's candidates come those that the store finds without vectors.
    """
    mirror, named = request.mirror, None
    if mirror is not None:
        named = mirror.rows(request, views[0].vector if views else None)
    if named is None:
        return _candidates(request, question, words, views, time)
    own = _candidates(request, question, words, (), time)
    reason = words.score[own] if time is None else words.score[own] + time[own]
    return np.union1d(named, own[reason > 0])


def _candidates(
    request: Request, question: Question, words: bm25.Matches, views: Views, time: Column | None
) -> Rows:
    """Return the rows with the best estimates, from columns of the catalogue alone."""
    picked, catalogue = request.picked, request.look.catalogue
    score = words.score[picked]
    score = (WORDS / max(float(score.max(initial=0)), LEAST_SCORE)) * score
    for view, weight in zip(views, (MEANING, MODEL), strict=False):
        estimate = view.estimate[picked]
        score += (weight / max(float(estimate.max(initial=0)), LEAST_COSINE)) * estimate
    score[catalogue["signs"][picked] & question.wrong_role > 0] += ROLE
    for name in question.names:
        score[catalogue["speaker"][picked] == np.uint64(mark(name))] += WHO
    if time is not None:
        score += TIME * time[picked]
    rows = request.rows
    visible = score[rows] if isinstance(picked, slice) else score
    best = trust.best_of(request, rows, visible, CANDIDATES + request.limit, OWN + request.limit)
    return np.sort(rows[best])


def _parts(
    request: Request,
    question: Question,
    words: bm25.Matches,
    likenesses: Sequence[Likeness],
    rows: Rows,
    time: Column | None,
) -> dict[str, Column]:
    """Compute the named parts of the scores of some rows, in the order in which they add up."""
    catalogue = request.look.catalogue
    signs = catalogue["signs"][rows]
    matched = words.score[rows].astype(np.float64)
    parts: dict[str, Column] = {
        "words": WORDS * matched / max(float(words.score.max()), LEAST_SCORE)
    }
    if likenesses:
        parts["meaning"] = MEANING * likenesses[0].best()
    if len(likenesses) > 1:
        parts["model"] = MODEL * likenesses[1].mean()
    if question.names:
        parts["who"] = WHO * _who(request, question, rows)
    if time is not None:
        parts["time"] = TIME * time[rows]
    fit = parts["words"] + parts.get("meaning", 0.0)
    parts["session"] = SESSION * _best_of_session(catalogue["session"][rows], fit)
    parts["role"] = ROLE * _shows(signs, question.wrong_role)
    if question.wanted:
        parts["answer"] = ANSWER * _shows(signs, question.wanted)
    parts["asks"] = ASKS * _shows(signs, cues.ASKS)
    # Echoes have their place among the parts here, and are found when all others are known.
    parts["echo"] = np.zeros(len(rows))
    length = np.log1p(catalogue["length"][rows]) / np.log1p(FULL_LENGTH)
    parts["length"] = LENGTH * np.minimum(1, length)
    parts["recency"] = RECENCY / (1 + request.age(rows, "occurred", MICROS_PER_DAY))
    parts["importance"] = IMPORTANCE * catalogue["importance"][rows]
    parts["trust"] = trust.part(request, rows)
    score = _total(parts, rows)
    parts["echo"] = ECHO * echoes.of(request, question, words, rows, score, -ECHO)
    return parts


def _best_of_session(sessions: NDArray[np.uint64], score: Column) -> Column:
    """Return the best score of each row's session, as a share of the best of all.

    Where one turn of a conversation fits well, the others are about the same thing.
    """
    distinct, places = np.unique(sessions, return_inverse=True)
    best = np.zeros(len(distinct))
    np.maximum.at(best, places, score)
    best[distinct == 0] = 0  # records without a session
    share: Column = best[places] / max(float(score.max(initial=0)), LEAST_SCORE)
    return share


def _shows(signs: NDArray[np.uint32], sign: int) -> Column:
    """Return 1 for each record that shows a sign, else 0."""
    return ((signs & sign) > 0).astype(np.float64)


def _who(request: Request, question: Question, rows: Rows) -> Column:
    """Favour turns of a speaker whom the question names, and notes without a speaker that do."""
    speakers = request.look.catalogue["speaker"][rows]
    who = np.zeros(len(rows))
    for place, name in enumerate(question.names):
        who = np.maximum(who, (speakers == np.uint64(mark(name))) * (SECOND if place else 1.0))
        if (speakers == 0).any() and len(holders := request.look.holding(terms(name)[0])):
            who = np.maximum(who, (bm25.held(holders, rows) & (speakers == 0)) * 1.0)
    return who


def _time(request: Request, question: Question) -> Column:
    """Score all rows by how well they fit the days that the question means.

    Best is a record of these days, then one that speaks of them, then one that was said soon after.
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
