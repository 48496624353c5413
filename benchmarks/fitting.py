"""Train a network that tags words: the part common to teacher and student. Needs PyTorch.

A network is a module that computes a state for each word of a batch. Its heads estimate the class
of a word and whether it is part of an instruction, and point at the word that a value is about.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.labelled import Target, Text
from lamina.engines.claims import tagger

POINTER = 48  # width of the layer with which a value finds the word that it is about
SHARP = 1 / math.sqrt(POINTER)
ORDERS = 0.5  # weight of recognising instructions
OVER = 0.3  # weight of recognising what is over
SUBJECTS = 0.15  # weight of pointing at the right word
HIDDEN = -1e4  # the score of a padded word

Batch = Mapping[str, Any]
Example = tuple[Text, Target]


class Course(NamedTuple):
    """How a network is trained."""

    epochs: int
    batch: int
    rates: tuple[tuple[str, float], ...]  # by prefix of the parameter's name; "" matches all others
    decay: float
    warm: float  # share of the steps in which the rates rise


def heads(torch: Any, made: Any, width: int) -> None:
    """Give a module the heads that every network has."""
    linear = torch.nn.Linear
    made.out, made.orders = linear(width, tagger.CLASSES), linear(width, 1)
    made.over = linear(width, 1)
    made.who, made.named = linear(width, POINTER), linear(width, POINTER)
    made.own = linear(width, 1)


def about(torch: Any, made: Any, states: Any, mask: Any, rows: Any, starts: Any) -> Any:
    """Score whom the values that begin at some words are about, with the speaker first."""
    asked = states[rows, starts]
    named = torch.einsum("nd,ntd->nt", made.who(asked), made.named(states)[rows])
    return torch.cat([made.own(asked), named * SHARP + (1 - mask[rows]) * HIDDEN], 1)


def fit(
    made: Any,
    examples: Sequence[Example],
    given: Callable[[Sequence[Text]], dict[str, Any]],
    course: Course,
    chance: random.Random,
) -> None:
    """Train a network; `given` converts texts to its input."""
    import torch

    optimizer = torch.optim.AdamW(_groups(made, course), weight_decay=course.decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer,
        [rate for _, rate in course.rates],
        total_steps=course.epochs * math.ceil(len(examples) / course.batch),
        pct_start=course.warm,
    )
    made.train()
    for _ in range(course.epochs):
        for some in _batches(examples, course.batch, chance):
            batch = given([text for text, _ in some])
            with torch.autocast("cpu", torch.bfloat16):  # nearly twice as fast
                loss = _loss(torch, made, batch, [target for _, target in some])
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(made.parameters(), 1.0)
            optimizer.step()
            schedule.step()


def _groups(made: Any, course: Course) -> list[dict[str, Any]]:
    """Group the parameters by their rates."""
    groups: list[dict[str, Any]] = [{"params": [], "lr": rate} for _, rate in course.rates]
    for name, parameter in made.named_parameters():
        begins = (n for n, (start, _) in enumerate(course.rates) if name.startswith(start))
        groups[next(begins)]["params"].append(parameter)
    return groups


def _batches(
    examples: Sequence[Example], size: int, chance: random.Random
) -> list[Sequence[Example]]:
    """Group texts of similar length at random, to need little padding without a fixed order."""

    def length(one: Example) -> float:
        return len(one[0].given.words) * (1 + chance.random() / 4)

    mixed = sorted(examples, key=length)
    starts = list(range(0, len(mixed), size))
    chance.shuffle(starts)
    return [mixed[start : start + size] for start in starts]


def _loss(torch: Any, made: Any, batch: Batch, targets: Sequence[Target]) -> Any:
    states, mask = made(batch), batch["mask"]
    likely = torch.nn.functional.log_softmax(made.out(made.dropped(states)).float(), -1)
    classes = _filled(torch, [target.classes for target in targets], mask)
    noted = mask * torch.tensor([[float(target.is_noted)] for target in targets])
    loss = (-(classes * likely).sum(-1) * noted).sum() / mask.sum()
    doubt = torch.nn.functional.binary_cross_entropy_with_logits
    orders = _filled(torch, [target.orders for target in targets], mask)
    ordered = doubt(made.orders(made.dropped(states))[..., 0].float(), orders, reduction="none")
    instructed = mask * torch.tensor([[float(target.is_instructed)] for target in targets])
    loss = loss + ORDERS * (ordered * instructed).sum() / mask.sum()
    over, marked = (
        _filled(torch, rows, mask)
        for rows in ([one.over for one in targets], [one.marked for one in targets])
    )
    ended = doubt(made.over(made.dropped(states))[..., 0].float(), over, reduction="none")
    loss = loss + OVER * (ended * marked).sum() / marked.sum().clamp(min=1)
    return loss + SUBJECTS * _pointed(torch, made, states, mask, targets)


def _pointed(torch: Any, made: Any, states: Any, mask: Any, targets: Sequence[Target]) -> Any:
    """Compute the loss of pointing at whom values are about."""
    values = [(row, *one) for row, target in enumerate(targets) for one in target.about]
    if not values:
        return 0.0
    rows, starts = (
        torch.tensor(column) for column in zip(*[one[:2] for one in values], strict=True)
    )
    wanted = np.zeros((len(values), mask.shape[1] + 1), np.float32)
    for row, (_, _, whom) in zip(wanted, values, strict=True):
        row[: len(whom)] = whom
    scores = about(torch, made, states, mask, rows, starts).float()
    likely = torch.nn.functional.log_softmax(scores, -1)
    return -(torch.from_numpy(wanted) * likely).sum(-1).mean()


def _filled(torch: Any, rows: Sequence[Any], mask: Any) -> Any:
    """Pad rows of different lengths."""
    filled = np.zeros((*mask.shape, *rows[0].shape[1:]), np.float32)
    for place, row in zip(filled, rows, strict=True):
        place[: len(row)] = row
    return torch.from_numpy(filled)
