"""Where a prompt is cut."""

import numpy as np
import pytest

from decision_adapter.engine import cut


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
