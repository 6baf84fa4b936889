"""The client that applications test with."""

import asyncio
import inspect
from typing import Any

import pytest

from decision_client import BusyError, Decides, DecisionClient, Policy, SomeFailedError
from decision_client.testing import FakeDecisionClient, result_of
from tests.client.asked import FakeTransport, decision


def route(client: Decides, mail: str) -> str:
    """An application."""
    policy = Policy("people", min_probability=0.6, min_option_mass=0.1)
    return policy.choose(client.decide(decision("route", mail))).option_id


@pytest.mark.parametrize("client", [DecisionClient, FakeDecisionClient])
@pytest.mark.parametrize("method", [name for name in vars(Decides) if name.startswith("decide")])
def test_both_clients_have_what_an_application_needs(client: type, method: str) -> None:
    assert inspect.signature(getattr(client, method)) == inspect.signature(getattr(Decides, method))


def test_an_application_takes_either_client() -> None:
    fake = FakeDecisionClient({"route": "billing"})
    assert route(fake, "Where is my invoice?") == "billing"
    assert [one.state for one in fake.asked] == ["Where is my invoice?"]
    assert route(DecisionClient(FakeTransport()), "The reset email never arrived.") == "account"


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        ("account", "account"),
        ({"account": 0.3, "billing": 0.7}, "billing"),
        ({"account": 0.5, "billing": 0.5}, "people"),
        (result_of(decision("route"), {"account": 1.0, "billing": 0.0}, allowed_token_mass=0.01), "people"),
    ],
)
def test_an_answer_is_an_option_its_probabilities_or_a_result(answer: Any, chosen: str) -> None:
    assert route(FakeDecisionClient({"route": answer}), "…") == chosen


def test_a_function_answers_by_what_is_asked() -> None:
    fake = FakeDecisionClient(lambda asked: "billing" if "invoice" in str(asked.state) else "account")
    assert [one.choice for one in fake.decide_many([decision(state="my invoice"), decision(state="my mail")])] == [
        "billing",
        "account",
    ]


def test_errors_are_raised_as_the_client_raises_them() -> None:
    fake = FakeDecisionClient({"route": "account", "page": BusyError("busy")})
    with pytest.raises(BusyError):
        fake.decide(decision("page"))
    with pytest.raises(SomeFailedError, match="1 of 2 decisions have no result; first, at index 1: busy"):
        fake.decide_many([decision("route"), decision("page")])


def test_an_event_loop_is_answered_too() -> None:
    fake = FakeDecisionClient({"route": "account"})
    assert asyncio.run(fake.decide_async(decision("route"))).choice == "account"
    assert [one.id for one in asyncio.run(fake.decide_many_async([decision("route")] * 2))] == ["route"] * 2


def test_what_was_not_told_is_not_made_up() -> None:
    with pytest.raises(LookupError, match=r"no answer was told for decision 'page'; there are \['route'\]"):
        FakeDecisionClient({"route": "account"}).decide(decision("page"))


def test_an_answer_must_fit_the_options() -> None:
    with pytest.raises(ValueError, match=r"has the options \['account', 'billing'\], and the answer is for .*'sales'"):
        FakeDecisionClient({"route": "sales"}).decide(decision("route"))
