"""Application Auto Scaling through boto3, as far as CloudFormation does not show it."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ClientError

DIMENSION = {"ServiceNamespace": "sagemaker", "ScalableDimension": "sagemaker:variant:DesiredInstanceCount"}


def tracking(target: float, **cooldowns: int) -> dict:
    metric = {"PredefinedMetricType": "SageMakerVariantConcurrentRequestsPerModelHighResolution"}
    configuration = {"TargetValue": target, "PredefinedMetricSpecification": metric, **cooldowns}
    return {"PolicyType": "TargetTrackingScaling", "TargetTrackingScalingPolicyConfiguration": configuration}


def test_policy_goes_with_its_target(workshop, stub_endpoint):
    scaling = workshop.client("application-autoscaling")
    target = {"ResourceId": f"endpoint/{stub_endpoint}/variant/primary", **DIMENSION}
    scaling.register_scalable_target(**target, MinCapacity=1, MaxCapacity=2)
    scaling.put_scaling_policy(**target, PolicyName="p", **tracking(1))
    scaling.register_scalable_target(**target, MaxCapacity=5)

    [described] = scaling.describe_scalable_targets(ServiceNamespace="sagemaker", ResourceIds=[target["ResourceId"]])[
        "ScalableTargets"
    ]
    assert (described["MinCapacity"], described["MaxCapacity"]) == (1, 5)

    scaling.deregister_scalable_target(**target)
    policies = scaling.describe_scaling_policies(ServiceNamespace="sagemaker", ResourceId=target["ResourceId"])
    assert policies["ScalingPolicies"] == []


def test_instances_follow_the_load_and_no_request_is_cut(workshop, stub_image, stub_archive, eventually):
    scaling = workshop.client("application-autoscaling")
    model = workshop.model(stub_image, stub_archive)
    routing = {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"}
    endpoint = workshop.endpoint(workshop.config(model, RoutingConfig=routing))
    target = {"ResourceId": f"endpoint/{endpoint}/variant/primary", **DIMENSION}
    scaling.register_scalable_target(**target, MinCapacity=1, MaxCapacity=3)
    scaling.put_scaling_policy(**target, PolicyName="p", **tracking(1, ScaleOutCooldown=0, ScaleInCooldown=0))

    def instances() -> int:
        described = workshop.client("sagemaker").describe_endpoint(EndpointName=endpoint)
        return described["ProductionVariants"][0]["CurrentInstanceCount"]

    loaded, stopping, ports = threading.Event(), threading.Event(), set()

    def ask(worker: int) -> None:
        """Without a pause; one of the workers goes on when the load is over."""
        while not (stopping if worker == 0 else loaded).is_set():
            ports.add(workshop.invoke(endpoint, sleep=0.2)["environment"]["SEMIF_PORT"])

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask, worker) for worker in range(4)]
        try:
            eventually(lambda: instances() == 3)
            eventually(lambda: len(ports) == 3)
            # a new configuration may not take the variant to other instances while it is scaled
            with pytest.raises(ClientError, match="primary must be deregistered as scalable targets"):
                workshop.client("sagemaker").update_endpoint(
                    EndpointName=endpoint, EndpointConfigName=workshop.config(model, InstanceType="ml.c6i.xlarge")
                )
            loaded.set()
            eventually(lambda: instances() == 1, timeout_seconds=60)
        finally:
            loaded.set()
            stopping.set()
    for one in asking:
        one.result()


def test_a_target_that_is_no_variant_of_an_endpoint_is_refused(workshop, stub_endpoint):
    with pytest.raises(ClientError, match="has no variant other"):
        workshop.client("application-autoscaling").register_scalable_target(
            ResourceId=f"endpoint/{stub_endpoint}/variant/other", **DIMENSION, MinCapacity=1, MaxCapacity=2
        )


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
