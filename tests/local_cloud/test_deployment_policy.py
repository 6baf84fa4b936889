"""What a DeploymentConfig asks for, and what of it is refused."""

import pytest

from local_cloud.deployment_policy import DeploymentPolicy, deployment_policy
from local_cloud.errors import ValidationError


def policy(type_: str, *, counts=(4,), wait=60, termination_wait=0, limit=28800, **size) -> DeploymentPolicy:
    routing = {"Type": type_, "WaitIntervalInSeconds": wait, **size}
    config = {
        "BlueGreenUpdatePolicy": {
            "TrafficRoutingConfiguration": routing,
            "TerminationWaitInSeconds": termination_wait,
            "MaximumExecutionTimeoutInSeconds": limit,
        }
    }
    return deployment_policy(config, counts)


def percent(value: int) -> dict:
    return {"Type": "CAPACITY_PERCENT", "Value": value}


def test_without_a_policy_all_traffic_moves_at_once_with_no_wait():
    assert deployment_policy({}, [1]) == DeploymentPolicy((1.0,), 0, 0, ())


def test_alarms_and_waits_are_those_asked_for():
    found = deployment_policy({"AutoRollbackConfiguration": {"Alarms": [{"AlarmName": "a"}, {"AlarmName": "b"}]}}, [1])
    assert found.alarm_names == ("a", "b")
    assert policy("ALL_AT_ONCE", wait=30, termination_wait=10) == DeploymentPolicy((1.0,), 30, 10, ())


@pytest.mark.parametrize(
    ("type_", "size", "shares"),
    [
        ("CANARY", {"CanarySize": percent(25)}, (0.25, 1.0)),
        ("CANARY", {"CanarySize": {"Type": "INSTANCE_COUNT", "Value": 2}}, (0.5, 1.0)),
        # at least one instance takes traffic
        ("CANARY", {"CanarySize": percent(10)}, (0.25, 1.0)),
        ("LINEAR", {"LinearStepSize": percent(25)}, (0.25, 0.5, 0.75, 1.0)),
        ("LINEAR", {"LinearStepSize": percent(50)}, (0.5, 1.0)),
    ],
)
def test_traffic_moves_in_steps_of_whole_instances(type_, size, shares):
    assert policy(type_, **size).shares == pytest.approx(shares)


def test_linear_steps_that_do_not_divide_the_whole_end_with_a_smaller_one():
    assert policy("LINEAR", counts=(5,), LinearStepSize=percent(40)).shares == pytest.approx((0.4, 0.8, 1.0))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"type_": "CANARY"}, "CanarySize is required with the type CANARY."),
        ({"type_": "ALL_AT_ONCE", "CanarySize": percent(10)}, "CanarySize is not valid with the type ALL_AT_ONCE."),
        (
            {"type_": "CANARY", "counts": (1,), "CanarySize": percent(10)},
            "CanarySize is 100 % of the 1 instances of the variant; it must be 1 to 50 %.",
        ),
        (
            {"type_": "LINEAR", "counts": (20,), "LinearStepSize": percent(5)},
            "LinearStepSize is 5 % of the 20 instances of the variant; it must be 10 to 50 %.",
        ),
        (
            {"type_": "LINEAR", "wait": 300, "termination_wait": 60, "limit": 1200, "LinearStepSize": percent(25)},
            "The waits add up to 1260 s; MaximumExecutionTimeoutInSeconds is 1200.",
        ),
    ],
)
def test_what_aws_would_refuse_is_refused(arguments, reason):
    with pytest.raises(ValidationError) as caught:
        policy(**arguments)
    assert str(caught.value) == reason


def test_a_rolling_update_is_refused():
    with pytest.raises(ValidationError, match="has no RollingUpdatePolicy"):
        deployment_policy({"RollingUpdatePolicy": {}}, [1])
