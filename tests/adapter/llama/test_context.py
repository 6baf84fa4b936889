"""What llama.cpp's failures become, and that an aborted engine can be used again at once."""

import re
import threading

import llama_cpp
import numpy as np
import pytest

from decision_adapter.engine import Segments, Stop
from decision_adapter.errors import DeadlineError, ScoringError
from decision_adapter.llama.context import FAILURES
from decision_adapter.llama.engine import LlamaEngine

FATAL = {-2, -3}
"""What ``< -1`` means in llama.cpp's sources: allocating the graph failed, computing it failed."""


def ids(seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(100, 40_000, count, dtype=np.int32)


SHORT = Segments(ids(1, 30), ids(2, 10))
LONG = Segments(ids(3, 700), ids(4, 10))


def test_every_failure_that_llama_cpp_documents_has_a_reason() -> None:
    # given the codes in the binding's text, which is llama.cpp's own, beside "0 - success" and "< -1 - fatal error"
    documented = {int(code) for code in re.findall(r"^\s*(-?\d+) - ", llama_cpp.llama_decode.__doc__, re.MULTILINE)}
    assert documented == {0, 1, 2, -1}
    assert set(FAILURES) == documented - {0} | FATAL
    assert len(set(FAILURES.values())) == len(FAILURES)


def test_work_is_stopped_in_the_middle_of_a_decode_and_the_engine_is_as_before(engine: LlamaEngine) -> None:
    # given the logits of a prompt, and work of about a second
    expected = engine.evaluate([SHORT])[0].logits
    stop = Stop()
    timer = threading.Timer(0.2, stop.set, [DeadlineError("too late")])
    # when it is stopped while it runs
    timer.start()
    with pytest.raises(DeadlineError, match="too late"):
        engine.evaluate([LONG, LONG, LONG], stop)
    timer.join()
    # then the engine gives the same bits as before
    assert np.array_equal(engine.evaluate([SHORT])[0].logits, expected)


def test_llama_cpp_itself_aborts_when_the_flag_is_set(engine: LlamaEngine) -> None:
    # given a flag that only llama.cpp looks at: no error, so nothing stops between two decodes
    stop = Stop()
    stop.flag[0] = 1
    engine._context.obey(stop)
    engine._context.clear()
    with pytest.raises(ScoringError, match=r"llama_decode of 30 tokens failed with 2: aborted"):
        engine._context.decode(SHORT.prefix, 0)
    # then a new one lets it go on
    assert engine.evaluate([SHORT], Stop())[0].logits.size


def test_work_that_is_stopped_before_it_begins_is_not_begun(engine: LlamaEngine) -> None:
    stop = Stop()
    stop.set(DeadlineError("before"))
    with pytest.raises(DeadlineError, match="before"):
        engine.evaluate([SHORT], stop)
