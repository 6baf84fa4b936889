"""Labelled decisions and rows as the tests need them."""

import json
from pathlib import Path
from typing import Any

from decide.evaluation.row import Answer, Failure, Row
from decide.evaluation.saved_run import Header, Labels
from tests.decide.evaluation.endpoint import softmax

NAMES = ("account", "billing", "sales")
OPTIONS = [{"id": name, "description": f"{name.capitalize()}."} for name in NAMES]


def line(number: int, label: str = "account", **fields: Any) -> dict[str, Any]:
    """A labelled decision, in our layout."""
    asked = {"id": f"d-{number}", "state": f"Message {number}.", "question": "Which queue?", "options": OPTIONS}
    return {**asked, "label": label, **fields}


def write(path: Path, lines: list[Any]) -> Path:
    """A file of JSON Lines."""
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines), encoding="utf-8")
    return path


def row(number: int, probabilities: tuple[float, ...] | None, label: str = "account", **fields: Any) -> Row:
    """A row about the first names, answered with ``probabilities``, or not."""
    names = NAMES[: len(probabilities)] if probabilities else NAMES
    answer = probabilities and Answer(
        probabilities=probabilities,
        option_logits=(0.0,) * len(names),
        option_mass=0.5,
        temperature=1.0,
        readout="next-token-logits",
        prompt_sha256="5a" * 32,
        input_tokens=100,
    )
    given = {
        "id": f"d-{number}",
        "family": "queue",
        "group": f"d-{number}",
        "type": "choice",
        "question": "Which queue?",
        "state": f"Message {number}.",
        "names": names,
        "label": label,
        "seconds": 0.1,
        "answer": answer or None,
        "failure": None if answer else Failure(kind="TooLargeError", message="too many tokens"),
    }
    return Row(**{**given, **fields})


def logit_row(number: int, logits: tuple[float, ...], place: int, temperature: float = 1.0, **fields: Any) -> Row:
    """A row whose probabilities follow from ``logits``; its label stands at ``place``."""
    names = tuple(f"n{index}" for index in range(len(logits)))
    answer = Answer(
        probabilities=tuple(softmax([logit / temperature for logit in logits])),
        option_logits=logits,
        option_mass=0.5,
        temperature=temperature,
        readout=fields.pop("readout", "next-token-logits"),
        prompt_sha256="5a" * 32,
        input_tokens=100,
    )
    return row(number, None, **{"names": names, "label": names[place], "answer": answer, "failure": None, **fields})


def header(**fields: Any) -> Header:
    labels = Labels(name="labelled.jsonl", sha256="1a" * 32, decisions=3)
    given = {"labels": labels, "endpoint": "http://x", "started": "2026-01-01T00:00:00+00:00", "order_flips": False}
    return Header(**{**given, **fields})
