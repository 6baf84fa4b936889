"""Target tracking of a production variant on the requests under way at an instance."""

from aws_cdk import aws_applicationautoscaling as autoscaling
from constructs import Construct

from decision_constructs.scaling import Scaling

_DIMENSION = "sagemaker:variant:DesiredInstanceCount"
_NAMESPACE = "sagemaker"


class VariantScaling(Construct):
    """The scalable target and its one policy. The service-linked role scales; none of ours is needed.

    The metric is the high-resolution one, sent every ten seconds: a minute is long for somebody who waits.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, settings: Scaling, endpoint_name: str, variant_name: str
    ) -> None:
        super().__init__(scope, construct_id)
        target = autoscaling.CfnScalableTarget(
            self,
            "Target",
            min_capacity=settings.min_count,
            max_capacity=settings.max_count,
            resource_id=f"endpoint/{endpoint_name}/variant/{variant_name}",
            scalable_dimension=_DIMENSION,
            service_namespace=_NAMESPACE,
        )
        autoscaling.CfnScalingPolicy(
            self,
            "Policy",
            policy_name="concurrent-requests",
            policy_type="TargetTrackingScaling",
            scaling_target_id=target.ref,
            target_tracking_scaling_policy_configuration=autoscaling.CfnScalingPolicy.TargetTrackingScalingPolicyConfigurationProperty(
                target_value=settings.target_concurrency,
                predefined_metric_specification=autoscaling.CfnScalingPolicy.PredefinedMetricSpecificationProperty(
                    predefined_metric_type="SageMakerVariantConcurrentRequestsPerModelHighResolution"
                ),
                scale_in_cooldown=settings.scale_in_cooldown_seconds,
                scale_out_cooldown=settings.scale_out_cooldown_seconds,
            ),
        )
