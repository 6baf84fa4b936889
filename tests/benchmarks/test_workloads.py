"""What the workloads ask is what their names say."""

from itertools import pairwise

from benchmarks.workloads import (
    FULL,
    Step,
    growing_state,
    many_questions,
    new_long_state,
    new_question,
    new_short_state,
    spread,
)


def states(steps: list[Step]) -> list[object]:
    return [step.decisions[0].state for step in steps]


def prompts(steps: list[Step]) -> list[str]:
    return [decision.model_dump_json(exclude={"id"}) for step in steps for decision in step.decisions]


def test_offsets_are_even_around_zero() -> None:
    assert spread(4, 256) == [-96, -32, 32, 96]
    assert spread(1, 256) == [0]


def test_a_seed_gives_the_same_decisions_and_another_seed_others() -> None:
    assert list(new_short_state(FULL, 1)) == list(new_short_state(FULL, 1))
    assert prompts(list(new_short_state(FULL, 1))) != prompts(list(new_short_state(FULL, 2)))


def test_new_states_are_new_and_of_many_lengths() -> None:
    for workload in (new_short_state, new_long_state):
        found = states(list(workload(FULL, 1)))
        assert len(set(map(str, found))) == len(found)
    lengths = sorted(len(str(state)) for state in states(list(new_long_state(FULL, 1))))
    # 256 tokens of about four characters, less one step of six
    assert 700 < lengths[-1] - lengths[0] < 1024


def test_no_question_about_a_kept_state_is_asked_twice() -> None:
    steps = list(new_question(FULL, 1))
    assert len(set(prompts(steps))) == len(steps)
    assert len(set(map(str, states(steps)))) == FULL.long_repetitions
    # the first question about each state brings it into memory
    assert [step.measured for step in steps[: FULL.turns + 1]] == [False] + [True] * FULL.turns


def test_a_growing_state_only_grows_at_its_end() -> None:
    steps = list(growing_state(FULL, 1))[: FULL.turns + 1]
    for before, after in pairwise(states(steps)):
        assert isinstance(before, list)
        assert isinstance(after, list)
        assert after[:-1] == before


def test_many_questions_share_a_state() -> None:
    for step in many_questions(FULL, 1):
        assert len(step.decisions) == 21
        assert len({decision.state for decision in step.decisions}) == 1
        assert len(set(prompts([step]))) == 21
