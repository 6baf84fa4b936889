"""A client without an endpoint, for the tests of applications."""

from collections.abc import Callable, Mapping, Sequence

from decision_client.decision import Decision
from decision_client.errors import DecisionClientError
from decision_client.outcome import Outcome, all_results
from decision_client.result import ModelIdentity, Result

Answer = str | Mapping[str, float] | Result | DecisionClientError
"""The id of an option, which gets the probability 1; a probability for each option; a result; an error to raise."""


class FakeDecisionClient:
    """Answers as it is told, at once, and remembers what it was asked.

    It has the methods of `DecisionClient`, so an application that takes a `Decides` can be given either.
    """

    def __init__(self, answers: Mapping[str, Answer] | Callable[[Decision], Answer]) -> None:
        """Answer with ``answers``: by the decision's id, or what a function says to the decision."""
        self._answers = answers
        self.asked: list[Decision] = []
        """Every decision, in the order in which they came."""

    def decide(self, decision: Decision) -> Result:
        """The result that was told for ``decision``.

        Raises:
            DecisionClientError: the error that was told.
            LookupError: none was told for this id.
            ValueError: what was told does not fit the decision's options.
        """
        self.asked.append(decision)
        answer = self._answer(decision)
        if isinstance(answer, DecisionClientError):
            raise answer
        if isinstance(answer, Result):
            return answer
        if isinstance(answer, str):
            ids = [option.id for option in decision.options]
            answer = dict.fromkeys(ids, 0.0) | {answer: 1.0}
        return result_of(decision, answer)

    def decide_many(self, decisions: Sequence[Decision]) -> list[Result]:
        """The results that were told for ``decisions``.

        Raises:
            SomeFailedError: an error was told for one or more.
        """
        outcomes: list[Outcome] = []
        for decision in decisions:
            try:
                outcomes.append(self.decide(decision))
            except DecisionClientError as error:
                outcomes.append(error)
        return all_results(outcomes)

    async def decide_async(self, decision: Decision) -> Result:
        """As `decide`."""
        return self.decide(decision)

    async def decide_many_async(self, decisions: Sequence[Decision]) -> list[Result]:
        """As `decide_many`."""
        return self.decide_many(decisions)

    def _answer(self, decision: Decision) -> Answer:
        if callable(self._answers):
            return self._answers(decision)
        if decision.id not in self._answers:
            raise LookupError(f"no answer was told for decision {decision.id!r}; there are {sorted(self._answers)}")
        return self._answers[decision.id]


def result_of(decision: Decision, probabilities: Mapping[str, float], *, allowed_token_mass: float = 1.0) -> Result:
    """A result of ``decision`` with these ``probabilities``, as no model gave it.

    Raises:
        ValueError: there is not exactly one probability for each option.
    """
    ids = [option.id for option in decision.options]
    if set(ids) != set(probabilities):
        raise ValueError(f"decision {decision.id!r} has the options {ids}, and the answer is for {list(probabilities)}")
    return Result(
        id=decision.id,
        option_ids=tuple(ids),
        probabilities=tuple(probabilities[option_id] for option_id in ids),
        option_logits=(0.0,) * len(ids),
        answer_token_ids=tuple(range(len(ids))),
        input_tokens=1,
        allowed_token_mass=allowed_token_mass,
        full_vocab_argmax_id=0,
        prompt_sha256="0" * 64,
        prompt_version="fake",
        readout="fake",
        forward_seconds=0.0,
        total_seconds=0.0,
        model=ModelIdentity(),
        probability_status="fake",
    )
