"""The DeploymentConfig of an endpoint, and the alarm that takes an update back."""

from aws_cdk import ArnFormat, Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from decision_constructs.endpoint_metrics import EndpointMetrics
from decision_constructs.execution_role import ExecutionRole
from decision_constructs.settings import Endpoint
from decision_constructs.updates import Updates

_PROVISION_SECONDS = 1800
"""For instances to be found where the settings give no time for it."""
_POLICY_TYPES = {"all-at-once": "ALL_AT_ONCE", "canary": "CANARY", "linear": "LINEAR"}


class SafeUpdate(Construct):
    """Watches the share of failing invocations while an update bakes; `deployment_config` is for the endpoint.

    The alarm names the endpoint by its name alone, which is stable, so that it is there before the endpoint.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Endpoint,
        endpoint_name: str,
        metrics: EndpointMetrics,
        role: ExecutionRole,
    ) -> None:
        super().__init__(scope, construct_id)
        updates = settings.updates
        alarm = cloudwatch.Alarm(
            self,
            "Alarm",
            alarm_name=f"{endpoint_name}-rollback",
            alarm_description=f"Rolls an update of {endpoint_name} back when too many invocations fail",
            metric=metrics.server_errors("Average", Duration.minutes(1)),
            threshold=updates.rollback_error_percent / 100,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            evaluation_periods=1,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        alarms = [alarm.alarm_arn, *(_alarm_arn(self, name) for name in updates.rollback_alarms)]
        role.allow(["cloudwatch:DescribeAlarms"], *alarms)
        self.deployment_config = sagemaker.CfnEndpoint.DeploymentConfigProperty(
            auto_rollback_configuration=sagemaker.CfnEndpoint.AutoRollbackConfigProperty(
                alarms=[
                    sagemaker.CfnEndpoint.AlarmProperty(alarm_name=name)
                    for name in (alarm.alarm_name, *updates.rollback_alarms)
                ]
            ),
            blue_green_update_policy=sagemaker.CfnEndpoint.BlueGreenUpdatePolicyProperty(
                traffic_routing_configuration=_traffic_routing(updates),
                termination_wait_in_seconds=updates.keep_old_seconds,
                maximum_execution_timeout_in_seconds=_longest_seconds(settings),
            ),
        )


def _longest_seconds(settings: Endpoint) -> int:
    """What every time-out and wait of an update may take, so that one that hangs goes back some time."""
    start = settings.provision_timeout_seconds or _PROVISION_SECONDS
    start += settings.download_timeout_seconds + settings.startup_timeout_seconds
    return min(Updates.MAX_SECONDS, start + settings.updates.wait_seconds)


def _traffic_routing(updates: Updates) -> sagemaker.CfnEndpoint.TrafficRoutingConfigProperty:
    step = sagemaker.CfnEndpoint.CapacitySizeProperty(type="CAPACITY_PERCENT", value=updates.step_percent)
    return sagemaker.CfnEndpoint.TrafficRoutingConfigProperty(
        type=_POLICY_TYPES[updates.strategy],
        wait_interval_in_seconds=updates.bake_seconds,
        canary_size=step if updates.strategy == "canary" else None,
        linear_step_size=step if updates.strategy == "linear" else None,
    )


def _alarm_arn(scope: Construct, name: str) -> str:
    return Stack.of(scope).format_arn(
        service="cloudwatch", resource="alarm", resource_name=name, arn_format=ArnFormat.COLON_RESOURCE_NAME
    )
