"""When a choice is sure enough to act on."""

from dataclasses import dataclass
from typing import Literal

from decision_client.result import Result

Rule = Literal["accepted", "min_option_mass", "min_probability", "min_margin"]


@dataclass(frozen=True)
class Choice:
    """What to do, and which rule decided it."""

    option_id: str
    rule: Rule
    """``accepted``, or the first threshold that was not reached."""
    reason: str
    """A sentence with the numbers, for a log."""


@dataclass(frozen=True)
class Policy:
    """Takes the most probable option when every threshold is reached, else the fallback.

    Thresholds belong to a model, its calibration and a kind of decision: find them on labelled decisions. Authorization
    must never rest on them.
    """

    fallback_id: str
    """What is chosen otherwise: one of the options, or a word of the application's, such as a queue for people."""
    min_probability: float = 0.0
    min_margin: float = 0.0
    """By how much the choice has to be more probable than the next option."""
    min_option_mass: float = 0.0
    """The least ``allowed_token_mass``: below it the model wanted to say something else than any of the options."""

    def __post_init__(self) -> None:
        """Check the thresholds.

        Raises:
            ValueError: one is not from 0 to 1; names all that are not.
        """
        thresholds = {name: getattr(self, name) for name in ("min_probability", "min_margin", "min_option_mass")}
        wrong = [f"{name} is {value!r}" for name, value in thresholds.items() if not 0 <= value <= 1]
        if wrong:
            raise ValueError(f"{', '.join(wrong)}: must be from 0 to 1")

    def choose(self, result: Result) -> Choice:
        """The choice for ``result``. A threshold that is just reached is reached."""
        choice, mass = result.choice, result.allowed_token_mass
        rules: tuple[tuple[Rule, str, float, float], ...] = (
            ("min_option_mass", "the mass on the options", mass, self.min_option_mass),
            ("min_probability", f"the probability of {choice!r}", result.probability, self.min_probability),
            ("min_margin", f"the margin of {choice!r}", result.margin, self.min_margin),
        )
        for rule, what, value, least in rules:
            if value < least:
                return Choice(self.fallback_id, rule, f"{what} is {value:.3f}, below {rule} {least:g}")
        return Choice(choice, "accepted", f"{choice!r} has the probability {result.probability:.3f}")
