"""The default ranker (Q5): words and meaning, favoured by who spoke, when, and whether it could be the answer.

One weighted sum of named parts. All visible records are scored by what memory knows of them; the best of these are scored
exactly. The weights were measured on conversations between people and with assistants (docs/decisions/0008).
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
from lamina.search.request import MICROS_PER_DAY, Ask, Column
from lamina.search.similarity import Similarity, similarity
from lamina.store.index.catalogue import Mask, Rows, mark
from lamina.text import cues
from lamina.text import words as text

WORDS, MEANING, MODEL = 0.40, 0.30, 0.30
WHO, ROLE, TIME, SESSION = 0.20, -0.40, 0.40, 0.10
ANSWER, ASKS, ECHO, LENGTH = 0.10, -0.08, -0.30, 0.20
RECENCY, IMPORTANCE = 0.02, 0.05
CANDIDATES = 200
OWN = 50  # candidates that are not from outside, however many others fit better
NEAR_MEANING = 0.45  # what the meaning of the turn before or after counts
NEAR_MODEL = 0.50
SECOND = 0.5  # a speaker who is named second: "what did Jon say about Gina" asks for Jon's words
LATE_DAYS, LATE = 7, 0.6  # people tell on the 9th what they did on the 7th
SPOKEN_OF = 0.8  # a text that speaks of the day, whenever it was said
FULL_LENGTH = 60  # words
LEAST_COSINE = 0.05

Dense = NDArray[np.float32]


def rank(ask: Ask, embedders: Sequence[Embedder], *, boosts: bool) -> Hits:
    """The best records by the sum of all parts; nothing when there is no reason to think that any is an answer."""
    question = Question(ask, boosts=boosts)
    words = bm25.around(ask, question.words)
    views = [
        view for embedder in embedders if (view := similarity(ask, embedder, question.bare, words))
    ]
    time = _time(ask, question) if question.spans else None
    rows = _found(ask, question, words, views, time)
    if not len(rows):
        return Hits((), ask.notes)
    likeness = [Likeness(ask, view, rows) for view in views]
    parts = _parts(ask, question, words, likeness, rows, time)
    evidence = Evidence(question, words, rows, likeness[0].own if likeness else np.zeros(len(rows)))
    if time is not None:
        evidence.add_time(time[rows])
    if "who" in parts and not question.topic:
        evidence.add_speaker(parts["who"] / WHO)
    crowds = _crowds(ask, views, rows, parts["echo"] < 0)
    confidence = evidence.confidence(sum(parts.values(), np.zeros(len(rows))), crowds)
    if confidence < 0:
        return Hits((), ask.notes, confidence)
    meant = evidence.is_meant()
    rows, parts = rows[meant], {name: part[meant] for name, part in parts.items()}
    parts["renewed"] = renewal.lifts(
        ask, question, words, rows, sum(parts.values(), np.zeros(len(rows)))
    )
    return hits.hits(ask, rows, parts, confidence)


def _crowds(ask: Ask, views: Sequence[Similarity], rows: Rows, is_echo: Mask) -> list[Crowd]:
    """All records, and those that are not from outside: a flood hides none of these. A question that comes back from outside
    is evidence for nothing."""

    def crowd(members: Mask, of: Rows) -> Crowd:
        return Crowd(
            members,
            len(of),
            float(views[0].estimate[of].mean(dtype=np.float64)) if views and len(of) else 0.0,
        )

    if not ask.has_outside:
        return [crowd(np.ones(len(rows), np.bool_), ask.rows)]
    outside = ask.is_outside(rows)
    return [crowd(~(outside & is_echo), ask.rows), crowd(~outside, ask.own)]


class Likeness:
    """Exact cosines of some rows, and of the turns before and after them; 0 where there is none to see."""

    def __init__(self, ask: Ask, view: Similarity, rows: Rows) -> None:
        catalogue = ask.look.catalogue
        sides = [
            np.where(ask.allowed[near[rows]], near[rows], 0)
            for near in (catalogue.before, catalogue.after)
        ]
        self.own, self.before, self.after = view.exact(rows, *sides)
        self.sides = sum(((side > 0).astype(np.float64) for side in sides), np.zeros(len(rows)))

    def best(self) -> Column:
        """Its own, or some of the better neighbour's."""
        return _share(np.maximum(self.own, NEAR_MEANING * np.maximum(self.before, self.after)))

    def mean(self) -> Column:
        """Its own and half of each neighbour's: a sentence model knows less of what went before."""
        return _share(
            (self.own + NEAR_MODEL * (self.before + self.after)) / (1 + NEAR_MODEL * self.sides)
        )


def _share(cosine: Column) -> Column:
    """As a share of the best."""
    share: Column = np.maximum(cosine, 0) / max(float(cosine.max()), LEAST_COSINE)
    return share


def _found(
    ask: Ask,
    question: Question,
    words: bm25.Matches,
    views: Sequence[Similarity],
    time: Column | None,
) -> Rows:
    """The rows to look at: what the store finds, or what a mirror names together with what the store finds without vectors."""
    named = None if ask.via is None else ask.via.rows(ask, views[0].vector if views else None)
    if named is None:
        return _candidates(ask, question, words, views, time)
    own = _candidates(ask, question, words, (), time)
    reason = words.score[own] if time is None else words.score[own] + time[own]
    return np.union1d(named, own[reason > 0])


def _candidates(
    ask: Ask,
    question: Question,
    words: bm25.Matches,
    views: Sequence[Similarity],
    time: Column | None,
) -> Rows:
    """The rows that are worth an exact look."""
    some, catalogue = ask.some, ask.look.catalogue
    score = words.score[some]
    score = (WORDS / max(float(score.max(initial=0)), 1e-9)) * score
    for view, weight in zip(views, (MEANING, MODEL), strict=False):
        estimate = view.estimate[some]
        score += (weight / max(float(estimate.max(initial=0)), LEAST_COSINE)) * estimate
    score[catalogue["signs"][some] & question.wrong_role > 0] += ROLE
    for name in question.names:
        score[catalogue["speaker"][some] == np.uint64(mark(name))] += WHO
    if time is not None:
        score += TIME * time[some]
    seen = score[ask.rows] if isinstance(some, slice) else score
    return np.sort(
        ask.rows[trust.best_of(ask, ask.rows, seen, CANDIDATES + ask.limit, OWN + ask.limit)]
    )


def _parts(
    ask: Ask,
    question: Question,
    words: bm25.Matches,
    likeness: Sequence[Likeness],
    rows: Rows,
    time: Column | None,
) -> dict[str, Column]:
    catalogue = ask.look.catalogue
    own = catalogue["signs"][rows]
    parts: dict[str, Column] = {
        "words": WORDS * words.score[rows].astype(np.float64) / max(float(words.score.max()), 1e-9)
    }
    if likeness:
        parts["meaning"] = MEANING * likeness[0].best()
    if len(likeness) > 1:
        parts["model"] = MODEL * likeness[1].mean()
    if question.names:
        parts["who"] = WHO * _who(ask, question, rows)
    if time is not None:
        parts["time"] = TIME * time[rows]
    parts["session"] = SESSION * _company(
        catalogue["session"][rows], parts["words"] + parts.get("meaning", 0.0)
    )
    parts["role"] = ROLE * _has(own, question.wrong_role)
    if question.wanted:
        parts["answer"] = ANSWER * _has(own, question.wanted)
    parts["asks"] = ASKS * _has(own, cues.ASKS)
    parts["echo"] = np.zeros(len(rows))  # it is told here, and found when all others are known
    parts["length"] = LENGTH * np.minimum(
        1, np.log1p(catalogue["length"][rows]) / np.log1p(FULL_LENGTH)
    )
    parts["recency"] = RECENCY / (1 + ask.age(rows, "occurred", MICROS_PER_DAY))
    parts["importance"] = IMPORTANCE * catalogue["importance"][rows]
    parts["trust"] = trust.part(ask, rows)
    score = sum(parts.values(), np.zeros(len(rows)))
    parts["echo"] = ECHO * echoes.of(ask, question, words, rows, score, -ECHO)
    return parts


def _company(sessions: NDArray[np.uint64], score: Column) -> Column:
    """How good the best of the same conversation is: where one turn fits well, others are about the same thing."""
    found, places = np.unique(sessions, return_inverse=True)
    best = np.zeros(len(found))
    np.maximum.at(best, places, score)
    best[found == 0] = 0
    company: Column = best[places] / max(float(score.max(initial=0)), 1e-9)
    return company


def _has(own: NDArray[np.uint32], sign: int) -> Column:
    """1 where a record shows a sign, else 0."""
    return ((own & sign) > 0).astype(np.float64)


def _who(ask: Ask, question: Question, rows: Rows) -> Column:
    """Turns of a speaker whom the question names, and notes of nobody that hold the name."""
    speakers = ask.look.catalogue["speaker"][rows]
    who = np.zeros(len(rows))
    for place, name in enumerate(question.names):
        who = np.maximum(who, (speakers == np.uint64(mark(name))) * (SECOND if place else 1.0))
        term = text.terms(name)[0]
        if (speakers == 0).any() and len(holders := ask.look.holding(term)):
            who = np.maximum(who, (bm25.held(holders, rows) & (speakers == 0)) * 1.0)
    return who


def _time(ask: Ask, question: Question) -> Column:
    """For every row: is it of the days that the question means, was it told soon after, does it speak of these days?"""
    days = question.days(ask.look.catalogue["occurred"])
    time = np.zeros(len(days))
    for span in question.spans:
        time = np.maximum(time, (days >= span.since) & (days < span.until))
        if span.exact:
            late = days - span.until
            time = np.maximum(
                time, np.where((late >= 0) & (late < LATE_DAYS), LATE * (1 - late / LATE_DAYS), 0)
            )
        told = ask.look.speaking_of(span.since, span.until)
        time[told] = np.maximum(time[told], SPOKEN_OF)
    return time
