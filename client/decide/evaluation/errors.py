"""What can go wrong when an endpoint is evaluated or a calibration fitted.

DecideError                   exit status
├── LabelsError           3   the file of labelled decisions is not one; `problems` has each, with line and field
├── RunError              3   a saved run cannot be read, or is another run than the one to be continued
├── ComparisonError       3   two runs cannot be compared
├── ModelChangedError     8   the endpoint answers with another model than the rows before
└── CalibrationError      1   no temperature is worth writing; the message has the numbers
"""

from collections.abc import Sequence
from dataclasses import dataclass

from decide.errors import DecideError, ExitStatus, InputError


@dataclass(frozen=True)
class Problem:
    """What is wrong with a line of a labels file."""

    line: int
    field: str
    sentence: str

    def __str__(self) -> str:
        return (
            f"line {self.line}: {self.field}: {self.sentence}" if self.field else f"line {self.line}: {self.sentence}"
        )


class LabelsError(InputError):
    """A file of labelled decisions has lines that cannot be used."""

    def __init__(self, file: str, problems: Sequence[Problem]) -> None:
        """Tell how many ``problems`` there are and the first; they are kept in the order of their lines."""
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        more = f" and {len(self.problems) - 1} more" if len(self.problems) > 1 else ""
        super().__init__(f"{file}, {self.problems[0]}{more}; nothing was asked")


class RunError(InputError):
    """A saved run cannot be read or continued."""


class ComparisonError(InputError):
    """Two runs are not about the same decisions."""


class ModelChangedError(DecideError):
    """What answers is not the model that answered before."""

    def __init__(self, message: str) -> None:
        """Tell ``message``."""
        super().__init__(message, ExitStatus.FAILED)


class CalibrationError(DecideError):
    """No calibration was fitted."""

    def __init__(self, message: str) -> None:
        """Tell ``message``."""
        super().__init__(message, ExitStatus.INCOMPLETE)
