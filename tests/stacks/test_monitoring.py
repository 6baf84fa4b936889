"""Alarms and dashboards, against what SageMaker publishes."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aws_cdk.assertions import Template

from decision_adapter import errors
from decision_constructs.endpoint_metrics import BUSY_OUTCOME
from tests.stacks.conftest import ENVIRONMENTS

Templates = Callable[[str, str], Template]

# https://docs.aws.amazon.com/sagemaker/latest/dg/monitoring-cloudwatch.html: "endpoint invocation metrics" and
# "endpoint metrics", both with the dimensions EndpointName and VariantName
PUBLISHED = {
    "AWS/SageMaker": {
        "ConcurrentRequestsPerModel",
        "Invocation4XXErrors",
        "Invocation5XXErrors",
        "InvocationModelErrors",
        "Invocations",
        "InvocationsPerInstance",
        "ModelLatency",
        "OverheadLatency",
    },
    "/aws/sagemaker/Endpoints": {
        "CPUUtilization",
        "DiskUtilization",
        "GPUMemoryUtilization",
        "GPUUtilization",
        "MemoryUtilization",
    },
}
COUNTED_FROM_LOGS = "DecisionEndpoints/"
Metric = tuple[str, str, dict[str, Any]]


def alarms(template: Template) -> dict[str, dict[str, Any]]:
    """Properties by name."""
    found = template.find_resources("AWS::CloudWatch::Alarm").values()
    return {one["Properties"]["AlarmName"]: dict(one["Properties"]) for one in found}


def alarm_metrics(properties: dict[str, Any]) -> Iterator[Metric]:
    stats = [one["MetricStat"]["Metric"] for one in properties.get("Metrics", []) if "MetricStat" in one]
    for metric in stats or [properties]:
        dimensions = {one["Name"]: one["Value"] for one in metric.get("Dimensions", [])}
        yield metric["Namespace"], metric["MetricName"], dimensions


def dashboard(template: Template) -> list[dict[str, Any]]:
    (board,) = template.find_resources("AWS::CloudWatch::Dashboard").values()
    body = board["Properties"]["DashboardBody"]
    parts = body["Fn::Join"][1] if isinstance(body, dict) else [body]
    text = "".join(part if isinstance(part, str) else "token" for part in parts)
    return list(json.loads(text)["widgets"])


def dashboard_metrics(template: Template) -> Iterator[Metric]:
    for widget in dashboard(template):
        for row in widget["properties"].get("metrics", []):
            if isinstance(row[0], str):
                namespace, name, *pairs = [part for part in row if isinstance(part, str)]
                yield namespace, name, dict(zip(pairs[::2], pairs[1::2], strict=True))


def dimensions_of_endpoints(template: Template) -> list[dict[str, str]]:
    """What SageMaker publishes the metrics of the deployed variants with."""
    configs = template.find_resources("AWS::SageMaker::EndpointConfig")
    return [
        {
            "EndpointName": one["Properties"]["EndpointName"],
            "VariantName": configs[one["Properties"]["EndpointConfigName"]["Fn::GetAtt"][0]]["Properties"][
                "ProductionVariants"
            ][0]["VariantName"],
        }
        for one in template.find_resources("AWS::SageMaker::Endpoint").values()
    ]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_what_is_watched_is_published_with_just_these_dimensions(template: Templates, environment: str) -> None:
    endpoints = template(environment, "Endpoints")
    watched = [metric for one in alarms(endpoints).values() for metric in alarm_metrics(one)]
    if environment != "lodger":  # it has no dashboard
        watched += dashboard_metrics(endpoints)
    assert watched
    filtered = {
        (transformation["MetricNamespace"], transformation["MetricName"])
        for one in endpoints.find_resources("AWS::Logs::MetricFilter").values()
        for transformation in one["Properties"]["MetricTransformations"]
    }
    for namespace, name, dimensions in watched:
        if namespace.startswith(COUNTED_FROM_LOGS):
            assert (namespace, name, dimensions) in [(*one, {}) for one in filtered]
        else:
            assert name in PUBLISHED[namespace]
            assert dimensions in dimensions_of_endpoints(endpoints)


def test_each_endpoint_has_its_alarms(template: Templates) -> None:
    names = set(alarms(template("dev", "Endpoints")))
    shared = {"server-errors", "failing", "client-errors", "latency", "memory", "disk", "rollback"}
    assert names == {
        *(f"decision-endpoints-dev-chat-{name}" for name in shared),
        *(f"decision-endpoints-dev-decision-{name}" for name in (*shared, "busy")),
    }


def test_alarms_take_their_thresholds_from_the_settings(template: Templates) -> None:
    found = alarms(template("guarded", "Endpoints"))
    prefix = "decision-endpoints-guarded-decision-"
    thresholds = {name.removeprefix(prefix): one["Threshold"] for name, one in found.items() if name.startswith(prefix)}
    assert thresholds == {
        "server-errors": 2,
        "failing": 0.4,  # shares
        "client-errors": 0.25,
        "latency": 700_000,  # microseconds
        "busy": 3,
        "memory": 80,
        "disk": 70,
        "quiet": 1,
        "rollback": 0.2,
    }


def test_latency_is_the_95th_percentile_of_the_model_s(template: Templates) -> None:
    alarm = alarms(template("prod", "Endpoints"))["decision-endpoints-prod-decision-latency"]
    assert (alarm["MetricName"], alarm["ExtendedStatistic"], alarm["Threshold"]) == ("ModelLatency", "p95", 2_000_000)


def test_no_news_is_bad_news_only_where_requests_are_expected(template: Templates) -> None:
    found = alarms(template("guarded", "Endpoints"))
    missing = {name.rpartition("-")[2]: one["TreatMissingData"] for name, one in found.items() if "decision-" in name}
    assert missing.pop("quiet") == "breaching"
    assert set(missing.values()) == {"notBreaching"}
    quiet = found["decision-endpoints-guarded-decision-quiet"]
    assert (quiet["MetricName"], quiet["Statistic"], quiet["Period"]) == ("Invocations", "Sum", 1800)
    assert quiet["ComparisonOperator"] == "LessThanThreshold"


def test_a_busy_container_is_counted_by_the_outcome_that_its_log_says(template: Templates) -> None:
    patterns = {
        one["Properties"]["MetricTransformations"][0]["MetricName"]: one["Properties"]["FilterPattern"]
        for one in template("prod", "Endpoints").find_resources("AWS::Logs::MetricFilter").values()
    }
    assert patterns == {
        "BusyRejections": '{ $.outcome = "BusyError" }',
        "Failures": '{ ($.status >= 500) && ($.outcome != "BusyError") }',
    }
    assert getattr(errors, BUSY_OUTCOME).__mro__.index(errors.RequestError)  # the adapter logs the class's name


def test_5xx_are_watched_apart_from_busy_and_all_together(template: Templates) -> None:
    found = alarms(template("dev", "Endpoints"))
    watched = {
        name.removeprefix("decision-endpoints-dev-"): (one["MetricName"], one["Statistic"])
        for name, one in found.items()
        if name.endswith(("server-errors", "failing"))
    }
    assert watched == {
        "chat-server-errors": ("Invocation5XXErrors", "Sum"),
        "chat-failing": ("Invocation5XXErrors", "Average"),
        "decision-server-errors": ("Failures", "Sum"),
        "decision-failing": ("Invocation5XXErrors", "Average"),
    }


def test_the_topic_hears_of_every_alarm_and_of_its_end_but_not_of_what_only_updates_watch(template: Templates) -> None:
    topic = "arn:aws:sns:eu-central-1:111122223333:on-call"
    for name, alarm in alarms(template("guarded", "Endpoints")).items():
        told = [] if name.endswith("-rollback") else [topic]
        assert alarm.get("AlarmActions", []) == alarm.get("OKActions", []) == told
    for alarm in alarms(template("dev", "Endpoints")).values():
        assert "AlarmActions" not in alarm


def test_alarms_are_there_before_the_endpoint(template: Templates) -> None:
    endpoints = template("prod", "Endpoints")
    (endpoint,) = endpoints.find_resources("AWS::SageMaker::Endpoint").values()
    config = endpoint["Properties"]["DeploymentConfig"]["AutoRollbackConfiguration"]
    awaited = {*endpoint["DependsOn"], *(one["AlarmName"]["Ref"] for one in config["Alarms"])}
    assert set(endpoints.find_resources("AWS::CloudWatch::Alarm")) <= awaited


def test_an_environment_has_one_dashboard_with_every_endpoint(template: Templates) -> None:
    endpoints = template("dev", "Endpoints")
    endpoints.has_resource_properties("AWS::CloudWatch::Dashboard", {"DashboardName": "decision-endpoints-dev"})
    headings = [one["properties"]["markdown"] for one in dashboard(endpoints) if one["type"] == "text"]
    assert headings == ["# decision-endpoints-dev-chat", "# decision-endpoints-dev-decision"]


def test_gpus_are_shown_where_there_are_some(template: Templates) -> None:
    shown = {
        environment: {name for _, name, _ in dashboard_metrics(template(environment, "Endpoints"))}
        for environment in ("dev", "prod")
    }
    assert {"GPUUtilization", "GPUMemoryUtilization"} == shown["prod"] - shown["dev"]
