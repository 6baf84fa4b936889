"""One decision on its way from options to probabilities: the prompts it needs, and what their logits say together."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from decision_adapter.decision import Decision
from decision_adapter.engine import Evaluation, Segments, TokenIds, cut
from decision_adapter.errors import ScoringError
from decision_adapter.layout import Layout
from decision_adapter.order import average, orders
from decision_adapter.preamble import PREAMBLES, Marginal, marginal, preamble_ids
from decision_adapter.readout import READOUT, OptionScores, read


@dataclass(frozen=True)
class Prompt:
    """A decision as the engine reads it, its options in one order."""

    ids: TokenIds
    state_ids: TokenIds
    sha256: str
    order: tuple[int, ...]
    """Indexes into the options as sent; the first got the first label."""

    @cached_property
    def segments(self) -> Segments:
        """The prompt, cut."""
        return cut(self.ids, self.state_ids)

    def followed_by(self, token: int) -> Segments:
        """The prompt with one more token, cut."""
        return cut(np.append(self.ids, np.int32(token)), self.state_ids)


@dataclass(frozen=True)
class OrderScores:
    """What one prompt gave; probabilities are in the prompt's order."""

    direct: OptionScores
    marginal: Marginal | None

    @property
    def probabilities(self) -> list[float]:
        """Of the readout that was asked for."""
        return self.marginal.probabilities if self.marginal else self.direct.probabilities

    @property
    def mass(self) -> float:
        """Share of the whole distribution that the options got."""
        return self.marginal.mass if self.marginal else self.direct.allowed_token_mass


@dataclass(frozen=True)
class Evaluated:
    """What the engine gave for a decision."""

    prompts: list[Evaluation]
    """One for each prompt."""
    after: list[list[tuple[int, Evaluation]]]
    """For each prompt, its preamble tokens with what follows them."""

    @property
    def all(self) -> list[Evaluation]:
        """Everything that was decoded."""
        return self.prompts + [evaluation for following in self.after for _, evaluation in following]


@dataclass(frozen=True)
class Reading:
    """A decision, the prompts that its readout needs, and the temperature of its probabilities."""

    decision: Decision
    layout: Layout
    prompts: tuple[Prompt, ...]
    temperature: float
    encode_seconds: float

    @property
    def label_ids(self) -> tuple[int, ...]:
        """Token id of each label in use, in the order in which options get them."""
        return self.layout.labels.ids[: len(self.decision.options)]

    @property
    def longest(self) -> int:
        """Tokens of the longest text that may be decoded."""
        return max(len(prompt.ids) for prompt in self.prompts) + self._looks_through

    @property
    def suffix_tokens(self) -> int:
        """Tokens that may be decoded besides the state."""
        suffixes = sum(len(prompt.segments.suffix) for prompt in self.prompts)
        more = sum(len(prompt.segments.suffix) + 1 for prompt in self.prompts) * PREAMBLES
        return suffixes + more * self._looks_through

    def tokens(self, evaluated: Evaluated, suffixes_only: bool = False) -> int:
        """Tokens of all the texts that were evaluated, kept ones included; those before the question, too, or not."""
        lengths = [len(prompt.segments.suffix if suffixes_only else prompt.ids) for prompt in self.prompts]
        looked_through = zip(lengths, evaluated.after, strict=True)
        return sum(lengths) + sum((length + 1) * len(following) for length, following in looked_through)

    def preambles(self, evaluations: Sequence[Evaluation]) -> list[list[int]]:
        """Tokens to look through after each prompt; none where the readout does not, or need not.

        Raises:
            ScoringError: a logit is NaN or infinite; names the prompt.
        """
        found: list[list[int]] = []
        for prompt, evaluation in zip(self.prompts, evaluations, strict=True):
            with _naming(prompt):
                found.append(preamble_ids(evaluation.logits, self.label_ids) if self._looks_through else [])
        return found

    def result(self, evaluated: Evaluated) -> dict[str, object]:
        """The fields of an answer that follow from logits.

        Raises:
            ScoringError: a logit is NaN or infinite; names the prompt.
        """
        scores = [
            self._score(prompt, evaluation.logits, [(token, next_one.logits) for token, next_one in following])
            for prompt, evaluation, following in zip(self.prompts, evaluated.prompts, evaluated.after, strict=True)
        ]
        in_order = [prompt.order for prompt in self.prompts]
        probabilities = average(in_order, [score.probabilities for score in scores])
        first, prompt = scores[0], self.prompts[0]
        label_of = dict(zip(prompt.order, self.label_ids, strict=True))
        fields: dict[str, object] = {
            "id": self.decision.id,
            "option_ids": [option.id for option in self.decision.options],
            "probabilities": probabilities.values,
            "option_logits": average(in_order, [score.direct.option_logits for score in scores]).values,
            "answer_token_ids": [label_of[index] for index in range(len(label_of))],
            "input_tokens": len(prompt.ids),
            "allowed_token_mass": sum(score.mass for score in scores) / len(scores),
            "full_vocab_argmax_id": first.direct.full_vocab_argmax_id,
            "full_vocab_argmax_is_option": first.direct.full_vocab_argmax_is_option,
            "prompt_sha256": prompt.sha256,
            "prompt_version": self.layout.name,
            "temperature": self.temperature,
            "readout": self._name,
        }
        if self.decision.readout.order == "average":
            hashes = [prompt.sha256 for prompt in self.prompts]
            disagreement = probabilities.disagreement
            fields["orders"] = {"count": len(hashes), "disagreement": disagreement, "prompt_sha256": hashes}
        if self._looks_through:
            fields["preamble"] = {"paths": _paths(scores)}
        return fields

    @property
    def _looks_through(self) -> bool:
        return self.decision.readout.preamble == "marginal"

    @property
    def _name(self) -> str:
        averaged = "+order-average" if self.decision.readout.order == "average" else ""
        return READOUT + averaged + ("+preamble-marginal" if self._looks_through else "")

    def _score(
        self, prompt: Prompt, logits: NDArray[np.float32], after: Sequence[tuple[int, NDArray[np.float32]]]
    ) -> OrderScores:
        with _naming(prompt):
            direct = read(logits, self.label_ids, self.temperature)
            through = marginal(logits, self.label_ids, after, self.temperature) if after else None
        return OrderScores(direct, through)


def prepare(decision: Decision, layout: Layout, state_ids: TokenIds, temperature: float) -> Reading:
    """What has to be decoded for ``decision``, whose state has the ``state_ids`` in ``layout``. Any thread."""
    started = time.perf_counter()
    sent = tuple(range(len(decision.options)))
    averaged = decision.readout.order == "average"
    prompts = []
    for order in orders(decision.options) if averaged else [sent]:
        reordered = decision.model_copy(update={"options": [decision.options[index] for index in order]})
        rendered = layout.render(reordered)
        prompts.append(Prompt(rendered.ids, state_ids, rendered.sha256, order))
    return Reading(decision, layout, tuple(prompts), temperature, time.perf_counter() - started)


def evaluate(readings: Sequence[Reading], forward: Callable[[Sequence[Segments]], list[Evaluation]]) -> list[Evaluated]:
    """What ``forward`` gives for the prompts of ``readings``, and then for those followed by their preambles.

    The engine thread only, as ``forward`` is the engine's: what to look through follows from the first logits.

    Raises:
        ScoringError: a logit is NaN or infinite, where a readout had to look for preambles.
    """
    first = iter(forward([prompt.segments for reading in readings for prompt in reading.prompts]))
    evaluations = [[next(first) for _ in reading.prompts] for reading in readings]
    preambles = [reading.preambles(own) for reading, own in zip(readings, evaluations, strict=True)]
    further = [
        prompt.followed_by(token)
        for reading, found in zip(readings, preambles, strict=True)
        for prompt, tokens in zip(reading.prompts, found, strict=True)
        for token in tokens
    ]
    second = iter(forward(further) if further else [])
    return [
        Evaluated(own, [[(token, next(second)) for token in tokens] for tokens in found])
        for own, found in zip(evaluations, preambles, strict=True)
    ]


def _paths(scores: Sequence[OrderScores]) -> list[dict[str, object]]:
    """The ways to a label that were looked at, for each order; the direct one alone where a label was likeliest."""
    paths: list[dict[str, object]] = []
    for index, score in enumerate(scores):
        if score.marginal is None:
            mass = score.direct.allowed_token_mass
            paths.append({"order": index, "token_id": None, "probability": 1.0, "option_mass": mass})
        else:
            paths += [{"order": index, **asdict(path)} for path in score.marginal.paths]
    return paths


@contextmanager
def _naming(prompt: Prompt) -> Iterator[None]:
    try:
        yield
    except ScoringError as error:
        raise ScoringError(f"prompt {prompt.sha256}: {error}") from error
