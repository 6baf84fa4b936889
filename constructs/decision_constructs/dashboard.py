"""The dashboard of an environment: a block of rows for each endpoint."""

from collections.abc import Mapping, Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from decision_constructs.endpoint_metrics import EndpointMetrics
from decision_constructs.instance_type import Accelerator
from decision_constructs.monitoring import EndpointMonitoring
from decision_constructs.settings import DecisionEndpoint, Endpoint

_THIRD = 8
"""A row has 24 columns."""


class EnvironmentDashboard(cloudwatch.Dashboard):
    """What each endpoint is asked, how it answers, and what its instances have left."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        environment: str,
        endpoints: Sequence[tuple[EndpointMonitoring, Endpoint]],
    ) -> None:
        super().__init__(scope, construct_id, dashboard_name=f"decision-endpoints-{environment}")
        for monitoring, settings in endpoints:
            metrics = monitoring.metrics
            self.add_widgets(
                cloudwatch.TextWidget(markdown=f"# {monitoring.endpoint_name}", width=24, height=1),
                cloudwatch.AlarmStatusWidget(alarms=monitoring.alarms, title="alarms", width=24, height=3),
            )
            self.add_widgets(_requests(metrics), _latency(metrics), _concurrency(metrics, settings))
            self.add_widgets(*_instances(metrics, settings))


def _requests(metrics: EndpointMetrics) -> cloudwatch.GraphWidget:
    return _graph(
        "requests in five minutes",
        {"all": metrics.invocations(), "4xx": metrics.client_errors(), "5xx": metrics.server_errors()},
    )


def _latency(metrics: EndpointMetrics) -> cloudwatch.GraphWidget:
    microseconds = {
        **{f"model {statistic}": metrics.model_latency(statistic) for statistic in ("p50", "p95", "p99")},
        "overhead p95": metrics.overhead_latency("p95"),
    }
    milliseconds = {
        label: cloudwatch.MathExpression(
            expression=f"m{number} / 1000", using_metrics={f"m{number}": metric}, period=metric.period
        )
        for number, (label, metric) in enumerate(microseconds.items())
    }
    return _graph("latency, milliseconds", milliseconds)


def _concurrency(metrics: EndpointMetrics, settings: Endpoint) -> cloudwatch.GraphWidget:
    shown = {"most at a time": metrics.concurrent_requests()}
    if isinstance(settings, DecisionEndpoint):
        shown["refused as busy, in five minutes"] = metrics.busy_rejections()
        shown["failed, in five minutes"] = metrics.failures()
    return _graph("requests at a time", shown)


def _instances(metrics: EndpointMetrics, settings: Endpoint) -> list[cloudwatch.GraphWidget]:
    kept = {"memory": metrics.utilization("Memory"), "disk": metrics.utilization("Disk")}
    used = {"CPU": metrics.utilization("CPU")}
    if settings.accelerator is Accelerator.CUDA:
        kept["GPU memory"] = metrics.utilization("GPUMemory")
        used["GPU"] = metrics.utilization("GPU")
    return [_graph("memory and disk, percent", kept), _graph("cores and GPUs, percent summed", used)]


def _graph(title: str, metrics: Mapping[str, cloudwatch.Metric | cloudwatch.MathExpression]) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title=title,
        width=_THIRD,
        left=[metric.with_(label=label) for label, metric in metrics.items()],
        left_y_axis=cloudwatch.YAxisProps(min=0),
    )
