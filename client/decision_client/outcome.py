"""What becomes of each decision of many."""

from collections.abc import Sequence

from decision_client.errors import DecisionClientError, SomeFailedError
from decision_client.result import Result

Outcome = Result | DecisionClientError


def all_results(outcomes: Sequence[Outcome]) -> list[Result]:
    """``outcomes``, when every one is a result.

    Raises:
        SomeFailedError: one or more are not.
    """
    results = [outcome for outcome in outcomes if isinstance(outcome, Result)]
    if len(results) < len(outcomes):
        raise SomeFailedError(outcomes)
    return results
