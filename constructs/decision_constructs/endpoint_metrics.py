"""The CloudWatch metrics of one endpoint.

Names, units and dimensions are SageMaker's (https://docs.aws.amazon.com/sagemaker/latest/dg/monitoring-cloudwatch.html);
what it does not count is made from the container's log by a metric filter.
"""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_logs as logs
from constructs import Construct

WINDOW = Duration.minutes(5)
BUSY_OUTCOME = "BusyError"
"""What the adapter's log line of a request says as `outcome` when all places were taken."""

_INVOCATIONS = "AWS/SageMaker"
_INSTANCES = "/aws/sagemaker/Endpoints"


class EndpointMetrics:
    """Counts are sums, utilization the highest of the instances; all over five minutes unless said otherwise."""

    def __init__(self, endpoint_name: str, variant_name: str) -> None:
        self._dimensions = {"EndpointName": endpoint_name, "VariantName": variant_name}
        self._logged = f"DecisionEndpoints/{endpoint_name}"

    def invocations(self, period: Duration = WINDOW) -> cloudwatch.Metric:
        """Requests."""
        return self._metric(_INVOCATIONS, "Invocations", "Sum", period)

    def client_errors(self, statistic: str = "Sum") -> cloudwatch.Metric:
        """Requests that got 4xx. SageMaker sends a 1 or a 0 for each request: the average is their share."""
        return self._metric(_INVOCATIONS, "Invocation4XXErrors", statistic)

    def server_errors(self, statistic: str = "Sum", period: Duration = WINDOW) -> cloudwatch.Metric:
        """Requests that got 5xx, or their share; a busy container's 503 is among them."""
        return self._metric(_INVOCATIONS, "Invocation5XXErrors", statistic, period)

    def model_latency(self, statistic: str) -> cloudwatch.Metric:
        """The container's time, in microseconds."""
        return self._metric(_INVOCATIONS, "ModelLatency", statistic)

    def overhead_latency(self, statistic: str) -> cloudwatch.Metric:
        """SageMaker's own time, in microseconds."""
        return self._metric(_INVOCATIONS, "OverheadLatency", statistic)

    def concurrent_requests(self) -> cloudwatch.Metric:
        """The most requests at a time; what autoscaling follows."""
        return self._metric(_INVOCATIONS, "ConcurrentRequestsPerModel", "Maximum")

    def utilization(self, what: str) -> cloudwatch.Metric:
        """`CPU`, `Memory`, `Disk`, `GPU` or `GPUMemory`, in percent: CPU and GPU of one core or GPU, summed."""
        return self._metric(_INSTANCES, f"{what}Utilization", "Maximum")

    def busy_rejections(self) -> cloudwatch.Metric:
        """Requests that the decision container refused because all places were taken."""
        return self._counted("BusyRejections")

    def failures(self) -> cloudwatch.Metric:
        """Requests that the decision container answered with 5xx for any other reason."""
        return self._counted("Failures")

    def count_in_log(self, scope: Construct, log_group: logs.ILogGroup) -> None:
        """Count both in the decision container's log, which tells apart what to SageMaker is 5xx alike."""
        pattern = logs.FilterPattern
        busy = pattern.string_value("$.outcome", "=", BUSY_OUTCOME)
        failed = pattern.all(
            pattern.number_value("$.status", ">=", 500), pattern.string_value("$.outcome", "!=", BUSY_OUTCOME)
        )
        for metric, lines in ((self.busy_rejections(), busy), (self.failures(), failed)):
            logs.MetricFilter(
                scope,
                metric.metric_name,
                log_group=log_group,
                filter_pattern=lines,
                metric_namespace=metric.namespace,
                metric_name=metric.metric_name,
                metric_value="1",
                default_value=0,
            )

    def _counted(self, name: str) -> cloudwatch.Metric:
        return cloudwatch.Metric(namespace=self._logged, metric_name=name, statistic="Sum", period=WINDOW)

    def _metric(self, namespace: str, name: str, statistic: str, period: Duration = WINDOW) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace=namespace,
            metric_name=name,
            dimensions_map=self._dimensions,
            statistic=statistic,
            period=period,
        )
