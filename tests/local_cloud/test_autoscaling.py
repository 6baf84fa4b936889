"""Application Auto Scaling through boto3, as far as CloudFormation does not show it."""

import pytest
from botocore.exceptions import ClientError

DIMENSION = {"ServiceNamespace": "sagemaker", "ScalableDimension": "sagemaker:variant:DesiredInstanceCount"}


def test_policy_goes_with_its_target(workshop):
    scaling = workshop.client("application-autoscaling")
    target = {"ResourceId": "endpoint/one/variant/primary", **DIMENSION}
    scaling.register_scalable_target(**target, MinCapacity=1, MaxCapacity=2)
    scaling.put_scaling_policy(**target, PolicyName="p", PolicyType="TargetTrackingScaling")
    scaling.register_scalable_target(**target, MaxCapacity=5)

    [described] = scaling.describe_scalable_targets(ServiceNamespace="sagemaker", ResourceIds=[target["ResourceId"]])[
        "ScalableTargets"
    ]
    assert (described["MinCapacity"], described["MaxCapacity"]) == (1, 5)

    scaling.deregister_scalable_target(**target)
    policies = scaling.describe_scaling_policies(ServiceNamespace="sagemaker", ResourceId=target["ResourceId"])
    assert policies["ScalingPolicies"] == []


def test_policy_needs_a_registered_target(workshop):
    with pytest.raises(ClientError) as caught:
        workshop.client("application-autoscaling").put_scaling_policy(
            ResourceId="endpoint/none/variant/primary", **DIMENSION, PolicyName="p"
        )

    assert caught.value.response["Error"]["Code"] == "ObjectNotFoundException"
    assert "No scalable target registered for sagemaker, endpoint/none" in caught.value.response["Error"]["Message"]


def test_dimension_that_aws_does_not_have_is_refused(workshop):
    with pytest.raises(ClientError, match="failed to satisfy constraint: Member must satisfy enum value set"):
        workshop.client("application-autoscaling").register_scalable_target(
            ServiceNamespace="sagemaker", ResourceId="r", ScalableDimension="sagemaker:variant:Count"
        )
