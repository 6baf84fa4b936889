"""Deployment guardrails through boto3: traffic shifting, baking, rollback on alarms, and what an update retains."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ClientError

PERCENT = {"Type": "CAPACITY_PERCENT", "Value": 50}


def deployment_config(type_: str = "ALL_AT_ONCE", *, wait: int, alarm: str | None = None, **size) -> dict:
    routing = {"Type": type_, "WaitIntervalInSeconds": wait, **size}
    rollback = {"AutoRollbackConfiguration": {"Alarms": [{"AlarmName": alarm}]}} if alarm else {}
    return {"BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": routing}, **rollback}


@pytest.fixture(scope="module")
def models(workshop, stub_image, stub_archive) -> dict[str, str]:
    return {name: workshop.model(stub_image, stub_archive, STUB_NAME=name) for name in ("blue", "green")}


@pytest.fixture
def alarm(workshop, unique) -> str:
    name = unique("alarm")
    workshop.client("cloudwatch").put_metric_alarm(
        AlarmName=name,
        Namespace="AWS/SageMaker",
        MetricName=name,
        Statistic="Average",
        Period=60,
        EvaluationPeriods=1,
        Threshold=1,
        ComparisonOperator="GreaterThanThreshold",
    )
    return name


def trip(workshop, alarm: str) -> None:
    workshop.client("cloudwatch").set_alarm_state(AlarmName=alarm, StateValue="ALARM", StateReason="half of it fails")


def served_by(workshop, endpoint: str) -> str:
    return workshop.invoke(endpoint)["environment"]["STUB_NAME"]


def test_a_canary_takes_its_share_and_goes_back_when_an_alarm_trips(workshop, models, alarm, eventually):
    blue, green = (workshop.config(models[name], InitialInstanceCount=2) for name in ("blue", "green"))
    endpoint = workshop.endpoint(blue)

    workshop.client("sagemaker").update_endpoint(
        EndpointName=endpoint,
        EndpointConfigName=green,
        DeploymentConfig=deployment_config("CANARY", wait=3600, alarm=alarm, CanarySize=PERCENT),
    )
    eventually(lambda: served_by(workshop, endpoint) == "green")
    both = {served_by(workshop, endpoint) for _ in range(40)}
    trip(workshop, alarm)
    settled = workshop.settled(endpoint)

    assert both == {"blue", "green"}
    assert (settled["EndpointStatus"], settled["EndpointConfigName"]) == ("InService", blue)
    reason = settled["FailureReason"]
    assert f"Rolled back with 50% of the traffic on the new fleet: alarm {alarm} (half of it fails)" in reason
    assert reason.endswith(".log).")
    assert {served_by(workshop, endpoint) for _ in range(10)} == {"blue"}


def test_an_update_whose_alarms_stay_quiet_goes_through_every_step(workshop, models, alarm):
    blue, green = (workshop.config(models[name], InitialInstanceCount=2) for name in ("blue", "green"))
    endpoint = workshop.endpoint(blue)

    config = deployment_config("LINEAR", wait=1, alarm=alarm, LinearStepSize=PERCENT)
    workshop.client("sagemaker").update_endpoint(
        EndpointName=endpoint, EndpointConfigName=green, DeploymentConfig=config
    )
    settled = workshop.settled(endpoint)

    assert (settled["EndpointConfigName"], settled.get("FailureReason")) == (green, None)
    assert settled["LastDeploymentConfig"] == config
    assert served_by(workshop, endpoint) == "green"


def test_an_alarm_that_does_not_exist_is_refused(workshop, models):
    endpoint = workshop.endpoint(workshop.config(models["blue"]))
    with pytest.raises(ClientError, match="names alarms that do not exist: nowhere"):
        workshop.client("sagemaker").update_endpoint(
            EndpointName=endpoint,
            EndpointConfigName=workshop.config(models["green"]),
            DeploymentConfig=deployment_config(wait=0, alarm="nowhere"),
        )
    assert workshop.settled(endpoint)["EndpointStatus"] == "InService"


def test_an_update_retains_the_number_of_instances_when_asked(workshop, models):
    sagemaker = workshop.client("sagemaker")
    endpoint = workshop.endpoint(workshop.config(models["blue"]))
    sagemaker.update_endpoint_weights_and_capacities(
        EndpointName=endpoint, DesiredWeightsAndCapacities=[{"VariantName": "primary", "DesiredInstanceCount": 2}]
    )
    [variant] = workshop.settled(endpoint)["ProductionVariants"]
    assert (variant["CurrentInstanceCount"], variant["DesiredInstanceCount"]) == (2, 2)

    for retain, count in ((True, 2), (False, 1)):
        sagemaker.update_endpoint(
            EndpointName=endpoint,
            EndpointConfigName=workshop.config(models["green"]),
            RetainAllVariantProperties=retain,
        )
        [variant] = workshop.settled(endpoint)["ProductionVariants"]
        assert variant["CurrentInstanceCount"] == count


def test_a_variant_that_is_not_there_cannot_be_scaled(workshop, stub_endpoint):
    with pytest.raises(ClientError, match="has no variant other"):
        workshop.client("sagemaker").update_endpoint_weights_and_capacities(
            EndpointName=stub_endpoint,
            DesiredWeightsAndCapacities=[{"VariantName": "other", "DesiredInstanceCount": 2}],
        )


def test_a_request_under_way_is_answered_though_its_container_is_replaced(workshop, models, tmp_path, eventually):
    endpoint = workshop.endpoint(workshop.config(models["blue"]))
    arrived = tmp_path / "arrived"
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(workshop.invoke, endpoint, touch=str(arrived), sleep=2)
        eventually(arrived.exists)

        workshop.client("sagemaker").update_endpoint(
            EndpointName=endpoint, EndpointConfigName=workshop.config(models["green"])
        )
        workshop.settled(endpoint)

    assert asking.result()["environment"]["STUB_NAME"] == "blue"
    assert served_by(workshop, endpoint) == "green"
