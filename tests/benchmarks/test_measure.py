"""Medians, ratios and the order of calls, by hand."""

from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.measure import OURS, SERVER, THEIRS, Comparison, Decode, Sample, Spread, compare
from benchmarks.sides import Answer, Encoded
from benchmarks.workloads import Desk, Step
from decision_adapter.decision import Decision


def test_a_spread_is_the_median_and_the_quartiles() -> None:
    assert Spread.of([5.0, 1.0, 2.0, 4.0, 3.0]) == Spread(3.0, 2.0, 4.0)
    assert Spread.of([7.0]) == Spread(7.0, 7.0, 7.0)


def test_the_ratio_is_taken_step_by_step() -> None:
    # given a short step, for which theirs takes 4 times as long, and two long ones, for which it takes 2 times
    samples = [
        Sample({OURS: 1.0, THEIRS: 4.0}, [Decode(10, 5)], 1),
        Sample({OURS: 10.0, THEIRS: 20.0}, [Decode(10, 50), Decode(40, 20)], 2),
        Sample({OURS: 11.0, THEIRS: 22.0}, [Decode(10, 50)], 1),
    ]
    comparison = Comparison(samples)
    # then the ratio is a typical step's, and not that of the sums, 46 : 22
    assert comparison.ratio(OURS) == Spread(2.0, 2.0, 3.0)
    assert (comparison.seconds(OURS), comparison.seconds(THEIRS)) == (10.0, 20.0)
    assert comparison.middle() is samples[1]
    assert (samples[1].new_tokens, samples[1].prompt_tokens) == (70, 60)


class Recording:
    """A side that takes as long as it is told, and notes its calls."""

    def __init__(self, name: str, calls: list[str], prompt: str = "the same") -> None:
        self._name, self._calls, self._prompt = name, calls, prompt

    def score(self, decisions: Sequence[Decision]) -> Answer:
        self._calls.append(self._name)
        seconds = {OURS: 1.0, THEIRS: 3.0, SERVER: 2.0}[self._name]
        return Answer(seconds, [7] * len(decisions), [(self._prompt, 4)] * len(decisions))

    def call(self, method: str, decisions: Sequence[Decision]) -> list[Encoded]:
        """Four tokens: two that every prompt begins with, and the decision's id."""
        assert method == "encode"
        return [
            Encoded(np.array([1, 2, *map(ord, decision.id[-2:])], dtype=np.int32), "the same") for decision in decisions
        ]


def steps(measured: Sequence[bool]) -> list[Step]:
    desk = Desk(1)
    return [Step((desk.decision("s"),), flag) for flag in measured]


def test_everyone_is_called_in_turn_and_the_first_changes() -> None:
    calls: list[str] = []
    ours, theirs, server = (Recording(name, calls) for name in (OURS, THEIRS, SERVER))
    comparison = compare(steps([True, True, True]), ours, theirs, server)
    assert calls == [OURS, THEIRS, SERVER, THEIRS, SERVER, OURS, SERVER, OURS, THEIRS]
    assert comparison.ratio(OURS).median == 3.0
    assert comparison.ratio(SERVER).median == 1.5


def test_a_step_that_does_not_count_is_left_to_those_who_keep_something() -> None:
    calls: list[str] = []
    comparison = compare(steps([False, True]), Recording(OURS, calls), Recording(THEIRS, calls), None)
    assert calls == [OURS, THEIRS, OURS]
    assert len(comparison.samples) == 1


def test_what_an_earlier_prompt_began_with_is_not_new() -> None:
    # given case-1 and case-2, whose tokens differ in the last one, and a warm-up with which they share two
    comparison = compare(steps([True, True]), Recording(OURS, []), Recording(THEIRS, []), None)
    assert [sample.decodes for sample in comparison.samples] == [[Decode(2, 2)], [Decode(3, 1)]]


def test_sides_that_read_different_prompts_are_not_compared() -> None:
    with pytest.raises(BenchmarkError, match=r"engine read the prompts \[\('another', 4\)\]"):
        compare(steps([True]), Recording(OURS, [], prompt="another"), Recording(THEIRS, []), None)
