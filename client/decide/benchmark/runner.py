"""A run over the levels of one endpoint after the other."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

from decide import output
from decide.benchmark.figures import Figures, Measured
from decide.benchmark.load import ask, run
from decide.benchmark.workload import decisions
from decide.endpoints import described
from decide.target import Target
from decision_client import AuthenticationError, ClientSettings


@dataclass(frozen=True)
class Plan:
    """What is measured at each endpoint."""

    state_words: Sequence[int]
    callers: Sequence[int]
    requests: int
    warm_up: int
    same_state: bool
    seed: int
    patience_seconds: float

    @property
    def levels(self) -> list[tuple[int, int]]:
        """Words of a state and callers, in the order in which they are measured."""
        return [(words, callers) for words in self.state_words for callers in self.callers]


def measure(target: Target, into: Measured, plan: Plan, answered: Callable[[], None]) -> None:
    """Put the figures of ``target`` ``into`` a record, level by level; ``answered`` is called after each request.

    Raises:
        EndpointError: a request has no answer.
        DecisionClientError, DecideError: see `Target.transport`.
    """
    settings = ClientSettings(max_concurrency=max(plan.callers))
    with closing(target.transport(settings)) as transport:
        first = ask(transport, next(decisions(plan.state_words[0], plan.seed, same_state=False)), plan.patience_seconds)
        into.first_seconds, into.model = first.seconds, first.result.model
        for place, (words, callers) in enumerate(plan.levels):
            # no two levels ask about the same text, which would be in memory the second time
            asked = decisions(words, plan.seed * 1000 + place, same_state=plan.same_state)
            for decision in islice(asked, plan.warm_up):
                ask(transport, decision, plan.patience_seconds)
            level = run(
                transport,
                asked,
                callers=callers,
                requests=plan.requests,
                patience_seconds=plan.patience_seconds,
                answered=answered,
            )
            into.figures.append(Figures.of(level, words, callers))


def instance_of(target: Target) -> str:
    """Count and type of the instances of ``target``; empty for a URL, or where that may not be asked.

    Raises:
        EndpointError, ConfigurationError, DecideError: AWS could not be asked, or does not know the endpoint.
    """
    if target.url is not None:
        return ""
    session, settings = target.session(), ClientSettings()
    name = target.endpoint_name(session, settings)
    try:
        [endpoint] = described({"decision": name}, session, settings)
    except AuthenticationError as error:
        output.warn(f"the instance type of {target} is not known: {error}")
        return ""
    return " + ".join(f"{one.instances} × {' or '.join(one.instance_types)}" for one in endpoint.variants)
