"""What temperatures are fitted on: the logits of answered rows, as the model itself gave them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decide.evaluation.errors import CalibrationError
from decide.evaluation.measures import LEAST_PROBABILITY, Floats
from decide.evaluation.row import Answer, Row
from decide.evaluation.temperature import Logits

DIRECT = "next-token-logits"
THROUGH_PREAMBLES = f"{DIRECT}+preamble-marginal"

TOLERANCE = 1e-4
"""Between probabilities that were sent and those that follow from logits and temperature."""


@dataclass(frozen=True)
class Evidence:
    """Answered rows; all sequences have one item a row."""

    logits: Logits
    """At temperature 1, whatever the endpoint divides by."""
    served: Floats
    """Temperatures of the probabilities as they were sent."""
    types: tuple[str, ...]
    counts: tuple[int, ...]
    """Numbers of options."""
    groups: tuple[str, ...]
    readout: str

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "Evidence":
        """That of the ``rows`` with an answer.

        Raises:
            CalibrationError: there is none, or the probabilities are not of a kind that one temperature explains.
        """
        answered = [(row, row.answer) for row in rows if row.answer]
        if not answered:
            raise CalibrationError("no row has an answer, so there is nothing to fit")
        readouts = sorted({answer.readout for _, answer in answered})
        if len(readouts) > 1:
            raise CalibrationError(
                f"the rows have the readouts {', '.join(readouts)}; a temperature belongs to one: fit each apart"
            )
        if readouts[0] not in (DIRECT, THROUGH_PREAMBLES):
            raise CalibrationError(
                f"the readout is {readouts[0]}, whose probabilities are means that no single temperature gives back; "
                f"ask without averaging over orders: {DIRECT} or {THROUGH_PREAMBLES}"
            )
        for row, answer in answered:
            _check(row, answer)
        return cls(
            logits=Logits.of([logits_of(answer) for _, answer in answered], [row.place for row, _ in answered]),
            served=np.array([answer.temperature or 1.0 for _, answer in answered]),
            types=tuple(row.type for row, _ in answered),
            counts=tuple(len(row.names) for row, _ in answered),
            groups=tuple(row.group for row, _ in answered),
            readout=readouts[0],
        )

    def __getitem__(self, inside: NDArray[np.bool_]) -> "Evidence":
        kept = np.flatnonzero(inside).tolist()
        return Evidence(
            self.logits[inside],
            self.served[inside],
            tuple(self.types[row] for row in kept),
            tuple(self.counts[row] for row in kept),
            tuple(self.groups[row] for row in kept),
            self.readout,
        )

    def __len__(self) -> int:
        return len(self.types)


def logits_of(answer: Answer) -> Sequence[float]:
    """What the endpoint divides by its temperature: the option logits, or the logarithms of masses.

    Through preambles the masses are not sent, but p(i) = m(i)^(1/T) / Σ gives them back but for a factor.
    """
    if answer.readout == DIRECT:
        return answer.option_logits
    temperature = answer.temperature or 1.0
    return [temperature * math.log(max(probability, LEAST_PROBABILITY)) for probability in answer.probabilities]


def _check(row: Row, answer: Answer) -> None:
    """Refuse a row whose probabilities do not follow from what they are said to be made of."""
    numbers = [*answer.probabilities, *answer.option_logits, answer.temperature or 1.0]
    if not all(map(math.isfinite, numbers)) or (answer.temperature or 1.0) <= 0:
        raise CalibrationError(f"row {row.id!r} has a number that is not finite, or a temperature that is not above 0")
    if answer.readout != DIRECT:
        return
    temperature = answer.temperature or 1.0
    expected = Logits.of([answer.option_logits], [0]).probabilities(temperature)[0]
    apart = float(np.max(np.abs(expected - np.array(answer.probabilities))))
    if apart > TOLERANCE:
        raise CalibrationError(
            f"row {row.id!r}: its probabilities are not those of its logits at temperature {temperature:g} "
            f"(they differ by {apart:.2g}), so what was done to them cannot be undone"
        )
