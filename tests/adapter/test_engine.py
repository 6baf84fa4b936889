"""Where a prompt is cut."""

import numpy as np
import pytest

from decision_adapter.engine import boundaries, cut


@pytest.mark.parametrize(
    ("ids", "state", "prefix"),
    [
        ([1, 2, 3, 4], [1, 2], [1, 2]),
        ([1, 2, 7, 4], [1, 2, 3], [1, 2]),  # the state's last token merged with what follows
        ([1, 2, 3], [1, 2, 3], [1, 2]),  # something is always left to decode
        ([5, 6], [1], []),
    ],
)
def test_the_cut_is_after_what_the_state_has_in_common(ids: list[int], state: list[int], prefix: list[int]) -> None:
    segments = cut(np.array(ids, dtype=np.int32), np.array(state, dtype=np.int32))
    assert segments.prefix.tolist() == prefix
    assert [*segments.prefix.tolist(), *segments.suffix.tolist()] == ids
    assert len(segments) == len(ids)


@pytest.mark.parametrize(
    ("scaffold", "prefix", "cuts"),
    [
        (38, 38, [38]),  # a short state is decoded with its question
        (38, 101, [38]),
        (38, 102, [38, 102]),
        (38, 38 + 255, [38, 102, 166, 230]),
        (38, 38 + 256, [38, 294]),
        (38, 38 + 600, [38, 294, 550, 614]),
        (0, 300, [0, 256]),
    ],
)
def test_blocks_fill_the_prefix_longest_first(scaffold: int, prefix: int, cuts: list[int]) -> None:
    assert boundaries(scaffold, prefix, (256, 64)) == cuts


def test_prompts_that_share_a_cut_share_the_way_to_it() -> None:
    ways: dict[int, list[int]] = {}
    for prefix in range(38, 1200):
        cuts = boundaries(38, prefix, (256, 64))
        for number, cut_ in enumerate(cuts):
            way = cuts[:number]
            # a cut inside a long block is only made where the block is not whole
            assert ways.setdefault(cut_, way) == way
