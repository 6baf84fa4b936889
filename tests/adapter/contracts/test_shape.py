"""Telling contracts apart by the fields of a body."""

import pytest

from decision_adapter import errors
from decision_adapter.contracts.contract import Asked, Contract
from decision_adapter.contracts.shape import contract_of
from decision_adapter.errors import InvalidRequestError


def contract(name: str, *own_fields: str) -> Contract:
    return Contract(name, own_fields, lambda _: Asked((), lambda _: {}), errors.answer)


ONE, OTHER = contract("one", "a", "b"), contract("other", "c")


@pytest.mark.parametrize(("body", "expected"), [({"a": 1}, ONE), ({"b": 1, "x": 1}, ONE), ({"c": None}, OTHER)])
def test_a_body_belongs_to_the_contract_whose_fields_it_has(body: dict[str, object], expected: Contract) -> None:
    assert contract_of(body, [ONE, OTHER]) is expected


def test_a_body_of_no_contract_is_told_what_there_is() -> None:
    with pytest.raises(InvalidRequestError, match=r"^body: has none .*: 'a' or 'b' \(one\); 'c' \(other\)$"):
        contract_of({"x": 1}, [ONE, OTHER])


def test_an_ambiguous_body_is_told_which_fields_clash() -> None:
    with pytest.raises(InvalidRequestError, match=r"^body: 'b' \(one\) and 'c' \(other\) belong to different"):
        contract_of({"b": 1, "c": 1}, [ONE, OTHER])
