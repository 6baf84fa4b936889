"""The published table, by hand."""

import math

import pytest

from decide.evaluation import summary
from decide.evaluation.measures import Share
from decision_client import Policy
from tests.decide.evaluation.rows import row

ROWS = [
    row(1, (0.8, 0.1, 0.1), seconds=9.0, first=True),
    row(2, (0.2, 0.7, 0.1), seconds=1.0, family="mail"),
    row(3, (0.5, 0.3, 0.2), seconds=2.0),
    row(4, None, seconds=7.0),
]


def test_failures_are_wrong_and_the_first_request_stands_apart() -> None:
    found = summary.evaluate(ROWS, Policy("x", min_probability=0.7))
    overall = found.overall
    assert (overall.valid, overall.accuracy) == (Share(3, 4), Share(2, 4))
    assert overall.log_loss == pytest.approx(-(math.log(0.8) + math.log(0.2) + math.log(0.5)) / 3)
    assert overall.brier == pytest.approx((0.06 + (0.64 + 0.49 + 0.01) + (0.25 + 0.09 + 0.04)) / 3)
    assert (overall.p50_seconds, overall.p95_seconds) == (1.5, pytest.approx(1.95))
    assert found.first_seconds == (9.0,)
    assert [(one.name, one.accuracy) for one in found.families] == [("queue", Share(2, 3)), ("mail", Share(0, 1))]


def test_a_policy_s_thresholds_decide_what_is_acted_on() -> None:
    def accepted(**thresholds: float) -> tuple[Share, Share]:
        overall = summary.summarise("all", ROWS, Policy("x", **thresholds))
        return overall.accepted, overall.accepted_correct

    assert accepted() == (Share(3, 4), Share(2, 3))
    assert accepted(min_probability=0.7) == (Share(2, 4), Share(1, 2))
    assert accepted(min_margin=0.6) == (Share(1, 4), Share(1, 1))
    assert accepted(min_option_mass=0.6) == (Share(0, 4), Share(0, 0))


def test_the_coverage_table_counts_what_is_just_reached() -> None:
    by_threshold = {point.threshold: point for point in summary.coverage_table(ROWS)}
    assert by_threshold[0.8].accepted == Share(1, 4)
    assert by_threshold[0.7].correct == Share(1, 2)
    assert by_threshold[0.99].accepted == Share(0, 4)


def test_for_programs_no_number_is_null() -> None:
    told = summary.evaluate([row(1, None)], Policy("x")).as_json()["overall"]
    assert (told["log_loss"], told["p50_seconds"], told["flips"]["value"]) == (None, None, None)
    assert told["accuracy"]["count"] == 0
