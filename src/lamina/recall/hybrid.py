"""The default ranker (Q5): words and meaning, favoured by who spoke, when, and whether it could be the answer.

One weighted sum of named parts. All visible records are scored by what memory knows of them; the best of these are scored
exactly. The weights were measured on conversations between people and with assistants (docs/decisions/0008).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lamina import signs
from lamina.model import Hits
from lamina.recall import bm25, ranked
from lamina.recall.ask import MICROS_PER_DAY, Ask, Column
from lamina.recall.embedders import Embedder
from lamina.recall.evidence import Evidence
from lamina.recall.question import Question
from lamina.recall.similarity import Similarity, similarity
from lamina.store.catalogue import Rows, mark

WORDS, MEANING, MODEL = 0.40, 0.30, 0.30
WHO, ROLE, TIME, SESSION = 0.20, -0.40, 0.40, 0.10
ANSWER, ASKS, LENGTH = 0.10, -0.08, 0.20
RECENCY, IMPORTANCE = 0.02, 0.05
CANDIDATES = 300
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
    views = [view for embedder in embedders if (view := similarity(ask, embedder, question.bare, words))]
    rows = _candidates(ask, question, words, views)
    if not len(rows):
        return Hits((), ask.notes)
    parts = _parts(ask, question, words, views, rows)
    time = parts["time"] / TIME if "time" in parts else np.zeros(len(rows))
    evidence = Evidence(ask, question, words, views, rows, time)
    confidence = evidence.confidence(sum(parts.values(), np.zeros(len(rows))))
    if confidence < 0:
        return Hits((), ask.notes, confidence)
    meant = evidence.is_meant()
    return ranked.hits(ask, rows[meant], {name: part[meant] for name, part in parts.items()}, confidence=confidence)


def _candidates(ask: Ask, question: Question, words: bm25.Matches, views: Sequence[Similarity]) -> Rows:
    """The rows that are worth an exact look."""
    score = (WORDS / max(float(words.score.max(initial=0)), 1e-9)) * words.score
    for view, weight in zip(views, (MEANING, MODEL), strict=False):
        score += (weight / max(float(view.estimate.max(initial=0)), LEAST_COSINE)) * view.estimate
    score[ask.look.catalogue["signs"] & question.wrong_role > 0] += ROLE
    for name in question.names:
        score[ask.look.catalogue["speaker"] == np.uint64(mark(name))] += WHO
    if question.spans:
        score += TIME * _time(ask, question, np.arange(len(score)))
    return np.sort(ask.rows[ranked.best_of(ask, ask.rows, score[ask.rows], CANDIDATES + ask.limit)])


def _parts(ask: Ask, question: Question, words: bm25.Matches, views: Sequence[Similarity], rows: Rows) -> dict[str, Column]:
    catalogue = ask.look.catalogue
    own = catalogue["signs"][rows]
    score = words.score.astype(np.float64)
    before, after = (np.where(ask.allowed[near[rows]], near[rows], 0) for near in (catalogue.before, catalogue.after))
    parts: dict[str, Column] = {"words": WORDS * score[rows] / max(float(score.max(initial=0)), 1e-9)}
    if views:
        own_, *near = views[0].exact(rows, before, after)
        meaning = np.maximum(own_, NEAR_MEANING * np.maximum(*near))
        parts["meaning"] = MEANING * np.maximum(meaning, 0) / max(float(meaning.max()), LEAST_COSINE)
    if len(views) > 1:
        own_, *near = views[1].exact(rows, before, after)
        model = (own_ + NEAR_MODEL * sum(near)) / (1 + NEAR_MODEL * ((before > 0) * 1 + (after > 0)))
        parts["model"] = MODEL * np.maximum(model, 0) / max(float(model.max()), LEAST_COSINE)
    if question.names:
        parts["who"] = WHO * _who(ask, question, rows)
    parts["session"] = SESSION * _company(catalogue["session"][rows], parts["words"] + parts.get("meaning", 0.0))
    parts["role"] = ROLE * _has(own, question.wrong_role)
    if question.spans:
        parts["time"] = TIME * _time(ask, question, rows)
    if question.wanted:
        parts["answer"] = ANSWER * _has(own, question.wanted)
    parts["asks"] = ASKS * _has(own, signs.ASKS)
    parts["length"] = LENGTH * np.minimum(1, np.log1p(catalogue["length"][rows]) / np.log1p(FULL_LENGTH))
    parts["recency"] = RECENCY / (1 + ask.age(rows, "occurred", MICROS_PER_DAY))
    parts["importance"] = IMPORTANCE * catalogue["importance"][rows]
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
        holding = np.isin(rows, ask.look.holding(name)) & (speakers == 0)
        who = np.maximum(who, holding * 1.0)
    return who


def _time(ask: Ask, question: Question, rows: Rows) -> Column:
    """Records of the days that the question means, those told soon after, and those that speak of these days."""
    days = question.days(ask.look.catalogue["occurred"][rows])
    time = np.zeros(len(rows))
    for span in question.spans:
        time = np.maximum(time, (days >= span.since) & (days < span.until))
        if span.exact:
            late = days - span.until
            time = np.maximum(time, np.where((late >= 0) & (late < LATE_DAYS), LATE * (1 - late / LATE_DAYS), 0))
        time = np.maximum(time, SPOKEN_OF * np.isin(rows, ask.look.speaking_of(span.since, span.until)))
    return time
