"""The thresholds of a command line, as a policy of the client's."""

from decide.errors import UsageError
from decision_client import Policy


def policy_of(
    fallback: str | None, min_probability: float | None, min_margin: float | None, min_mass: float | None
) -> Policy | None:
    """The policy that options describe; None where there is none of them.

    Raises:
        UsageError: there are thresholds and no fallback, or a threshold is not from 0 to 1.
    """
    thresholds = {"min_probability": min_probability, "min_margin": min_margin, "min_option_mass": min_mass}
    given = {name: value for name, value in thresholds.items() if value is not None}
    if fallback is None:
        if given:
            raise UsageError("--fallback is missing: say what is chosen below the thresholds, as in --fallback people")
        return None
    try:
        return Policy(fallback, **given)
    except ValueError as error:
        raise UsageError(str(error)) from error
