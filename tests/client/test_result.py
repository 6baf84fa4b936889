"""What is read of an answer, and what follows from its numbers."""

from typing import Any

import pytest
from pydantic import ValidationError

from decision_client import Result
from tests.client.asked import decision, result


def read(**fields: Any) -> Result:
    return Result.model_validate({**result(decision().model_dump()), **fields})


def of(*probabilities: float) -> Result:
    return read(option_ids=list("abcd"[: len(probabilities)]), probabilities=list(probabilities))


def test_every_field_of_the_adapter_has_its_type() -> None:
    told = read()
    assert told.model_extra == {}
    assert told.model.model_extra == {}
    assert told.model.gguf is not None
    assert told.model.gguf.file == "m.gguf"
    assert told.model.calibration is None
    assert told.orders is told.preamble is told.timing is None


def test_the_readouts_have_theirs() -> None:
    told = read(
        orders={"count": 2, "disagreement": 0.1, "prompt_sha256": ["a", "b"]},
        preamble={"paths": [{"order": 0, "token_id": None, "probability": 1.0, "option_mass": 0.5}]},
    )
    assert told.orders is not None
    assert told.orders.prompt_sha256 == ("a", "b")
    assert told.preamble is not None
    assert told.preamble.paths[0].token_id is None


def test_what_a_newer_endpoint_adds_is_kept() -> None:
    assert read(x_new=7).model_dump()["x_new"] == 7


def test_the_choice_is_the_most_probable_option() -> None:
    told = of(0.2, 0.5, 0.3)
    assert (told.choice, told.probability, told.margin) == ("b", 0.5, pytest.approx(0.2))
    assert told.probability_of("c") == 0.3


def test_of_equals_the_first_is_chosen_and_the_margin_is_nothing() -> None:
    told = of(0.5, 0.5)
    assert (told.choice, told.margin) == ("a", 0)


def test_an_option_that_was_not_sent_has_no_probability() -> None:
    with pytest.raises(KeyError):
        of(0.5, 0.5).probability_of("z")


@pytest.mark.parametrize("fields", [{"probabilities": [1.0]}, {"option_ids": [], "probabilities": []}])
def test_an_answer_needs_a_probability_for_each_option(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="option_ids"):
        read(**fields)
