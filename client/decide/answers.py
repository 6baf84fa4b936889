"""What an answer of any contract says, in one form: for each question the options and their probabilities."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from decision_client import Result


@dataclass(frozen=True)
class Row:
    """An option of a question."""

    label: str
    probability: float
    description: str = ""


@dataclass(frozen=True)
class Outcome:
    """How one question came out."""

    title: str
    rows: tuple[Row, ...]
    basis: tuple[str, ...]
    """What the probabilities rest on, a phrase each."""
    result: Result | None = field(default=None, repr=False)
    """The whole of it, where the contract is SemIf's."""


def outcomes(answer: object, request: Mapping[str, Any]) -> list[Outcome]:
    """The outcomes in an ``answer`` to ``request``; none when it is of no contract that is known here."""
    try:
        return list(_outcomes(answer, request))
    except (ValidationError, LookupError, TypeError, ValueError, AttributeError):
        return []


def _outcomes(answer: Any, request: Mapping[str, Any]) -> Iterator[Outcome]:
    if "result" in answer or "results" in answer:
        asked = request.get("decisions") or [request.get("decision")]
        told = answer.get("results") or [answer["result"]]
        for decision, one in zip(asked, told, strict=True):
            yield _semif(Result.model_validate(one), decision)
        return
    answers = answer["answers"]
    named = answers.items() if isinstance(answers, dict) else enumerate(answers, start=1)
    for number, one in named:
        yield _typed(str(one.get("name") or number), one)


def _semif(result: Result, decision: Mapping[str, Any]) -> Outcome:
    descriptions = {option["id"]: option["description"] for option in decision["options"]}
    pairs = zip(result.option_ids, result.probabilities, strict=True)
    basis = (
        f"margin {result.margin:.3f}",
        f"{result.allowed_token_mass:.1%} of the mass on the options",
        f"{result.input_tokens} tokens",
        f"{result.forward_seconds * 1000:.0f} ms in the model",
        result.probability_status,
    )
    rows = tuple(Row(name, probability, descriptions.get(name, "")) for name, probability in pairs)
    return Outcome(f"{result.id}: {decision['question']}", rows, basis, result)


def _typed(name: str, told: Mapping[str, Any]) -> Outcome:
    """An answer of System One's or of OpenAI's, which call the same things by other names."""
    if told["type"] in ("noul", "predicate"):
        yes = float(told["noul"] if "noul" in told else told["probability"])
        return Outcome(name, (Row("yes", yes), Row("no", 1 - yes)), _readout(told))
    probabilities = told["probabilities"]
    if isinstance(probabilities, dict):
        legend = told.get("legend", {})
        rows = tuple(Row(label, float(one), str(legend.get(label, ""))) for label, one in probabilities.items())
    else:
        rows = tuple(
            Row(_label(one["value"]), float(one["probability"]), one.get("label", "")) for one in probabilities
        )
    said = [f"score {told['score']:.3f}"] if "score" in told else []
    return Outcome(name, rows, (*said, f"confidence {told['confidence']:.3f}", *_readout(told)))


def _label(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _readout(told: Mapping[str, Any]) -> tuple[str, ...]:
    mass = told.get("x_readout", {}).get("option_mass")
    return () if mass is None else (f"{mass:.1%} of the mass on the options",)
