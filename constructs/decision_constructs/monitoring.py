"""What is seen of one endpoint: its log, its alarms, and its rows of the dashboard."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from constructs import Construct

from decision_constructs.endpoint_metrics import EndpointMetrics
from decision_constructs.instance_type import Accelerator
from decision_constructs.monitoring_settings import Alarms, DecisionAlarms, Monitoring
from decision_constructs.settings import ChatEndpoint, Endpoint

_RETENTION = {
    1: logs.RetentionDays.ONE_DAY,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
    731: logs.RetentionDays.TWO_YEARS,
    1827: logs.RetentionDays.FIVE_YEARS,
    3653: logs.RetentionDays.TEN_YEARS,
}


class EndpointMonitoring(Construct):
    """The endpoint's log group and alarms. They exist before the endpoint, which is known by its name alone."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        endpoint_name: str,
        variant_name: str,
        settings: Endpoint,
        monitoring: Monitoring,
        encryption_key: kms.IKey | None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.log_group = logs.LogGroup(
            self,
            "Log",
            log_group_name=f"/aws/sagemaker/Endpoints/{endpoint_name}",
            retention=_RETENTION[monitoring.log_retention_days],
            removal_policy=RemovalPolicy.DESTROY,
            encryption_key=encryption_key,
        )
        self.endpoint_name = endpoint_name
        self.metrics = EndpointMetrics(endpoint_name, variant_name)
        self._topic = sns.Topic.from_topic_arn(self, "Topic", monitoring.topic_arn) if monitoring.topic_arn else None
        alarms = settings.alarms
        self.alarms = [
            *self._server_errors(alarms),
            self._client_errors(alarms),
            self._latency(settings),
            *self._instances(alarms),
        ]
        if isinstance(alarms, DecisionAlarms):
            self.metrics.count_in_log(self, self.log_group)
            self.alarms.append(self._busy(alarms))
        if alarms.quiet_minutes:
            self.alarms.append(self._quiet(alarms.quiet_minutes))

    def _server_errors(self, alarms: Alarms) -> list[cloudwatch.Alarm]:
        """Some errors that should not be, and so many that most callers are in trouble.

        The second also sees those that no container answered: a crash loop writes no line for a request.
        """
        unexpected = self.metrics.failures() if isinstance(alarms, DecisionAlarms) else self.metrics.server_errors()
        share = self.metrics.server_errors("Average")
        return [
            self._alarm("server-errors", unexpected, alarms.server_errors, "requests fail in the container"),
            self._alarm(
                "failing", share, alarms.server_error_percent / 100, "a big share of requests gets 5xx", periods=2
            ),
        ]

    def _client_errors(self, alarms: Alarms) -> cloudwatch.Alarm:
        share = self.metrics.client_errors("Average")
        percent = alarms.client_error_percent
        return self._alarm("client-errors", share, percent / 100, "a share of requests is refused with 4xx", periods=3)

    def _latency(self, settings: Endpoint) -> cloudwatch.Alarm:
        milliseconds = settings.alarms.latency_p95_milliseconds or _usual_latency_milliseconds(settings)
        latency = self.metrics.model_latency("p95")
        return self._alarm("latency", latency, milliseconds * 1000, "a request in twenty takes too long", periods=2)

    def _instances(self, alarms: Alarms) -> list[cloudwatch.Alarm]:
        memory, disk = self.metrics.utilization("Memory"), self.metrics.utilization("Disk")
        return [
            self._alarm("memory", memory, alarms.memory_percent, "an instance is short of memory", periods=2),
            self._alarm("disk", disk, alarms.disk_percent, "an instance is short of disk", periods=2),
        ]

    def _busy(self, alarms: DecisionAlarms) -> cloudwatch.Alarm:
        busy = self.metrics.busy_rejections()
        return self._alarm("busy", busy, alarms.busy_rejections, "requests find all places taken: add instances")

    def _quiet(self, minutes: int) -> cloudwatch.Alarm:
        return self._alarm(
            "quiet",
            self.metrics.invocations(Duration.minutes(minutes)),
            1,
            f"no request came for {minutes} minutes",
            comparison=cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
            missing=cloudwatch.TreatMissingData.BREACHING,
        )

    def _alarm(
        self,
        name: str,
        metric: cloudwatch.IMetric,
        threshold: float,
        meaning: str,
        *,
        periods: int = 1,
        comparison: cloudwatch.ComparisonOperator = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        missing: cloudwatch.TreatMissingData = cloudwatch.TreatMissingData.NOT_BREACHING,
    ) -> cloudwatch.Alarm:
        alarm = cloudwatch.Alarm(
            self,
            name,
            alarm_name=f"{self.endpoint_name}-{name}",
            alarm_description=f"{self.endpoint_name}: {meaning}",
            metric=metric,
            threshold=threshold,
            comparison_operator=comparison,
            evaluation_periods=periods,
            treat_missing_data=missing,
        )
        if self._topic:
            alarm.add_alarm_action(actions.SnsAction(self._topic))
            alarm.add_ok_action(actions.SnsAction(self._topic))
        return alarm


def _usual_latency_milliseconds(settings: Endpoint) -> int:
    """What is too long when the settings do not say: text takes longer than a decision, a CPU longer than a GPU."""
    if isinstance(settings, ChatEndpoint):
        return 30_000
    return 2_000 if settings.accelerator is Accelerator.CUDA else 15_000
