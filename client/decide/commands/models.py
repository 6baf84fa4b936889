"""`decide models`: what answers there, to the file and the build."""

from collections.abc import Iterator
from typing import Any

from decide import output
from decide.options import INTERACTIVE_SECONDS, JsonOption, WaitOption, patient, with_target
from decide.tables import facts
from decide.target import Target
from decision_client import Decision, ModelIdentity, Option

EXAMPLES = (
    "decide models --env local",
    "decide models --env local --json",
)
_ASKED = Decision(
    id="models",
    state="Nothing happened.",
    question="Did anything happen?",
    options=[Option("no", "No."), Option("yes", "Yes.")],
)
"""The identity comes with each answer, over SageMaker with nothing else."""


@with_target
def models(*, target: Target, wait: WaitOption = INTERACTIVE_SECONDS, as_json: JsonOption = False) -> None:
    """Show which model answers: GGUF and its hash, llama.cpp's build, backends, threads, calibration.

    It asks one small decision to find out.
    """
    with output.messages.status(f"asking {target} …"), target.client(patient(wait)) as client:
        result = client.decide(_ASKED)
    if as_json:
        output.print_json(result.model.model_dump())
        return
    table = facts()
    for name, value in _lines(result.model):
        table.add_row(output.plain(name, "dim"), output.plain(value))
    output.results.print(table)


def _lines(model: ModelIdentity) -> Iterator[tuple[str, str]]:
    """What is known, as in ``gguf.file``; what the endpoint does not say is said, too."""
    yield from _flat("", model.model_dump())
    if model.calibration is None:
        yield "probabilities", "uncalibrated"


def _flat(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _flat(f"{path}.{name}".removeprefix("."), one)
        return
    shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else "–" if value is None else str(value)
    yield path, shown
