"""What of an endpoint decides how it is updated and scaled, and the batch job's definition."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk.assertions import Template

from tests.stacks.test_security import EXISTING_KEY, flat, statements

Templates = Callable[[str, str], Template]

FIVE_XX = {
    "Namespace": "AWS/SageMaker",
    "MetricName": "Invocation5XXErrors",
    "Statistic": "Average",
    "Period": 60,
    "EvaluationPeriods": 1,
    "Threshold": 0.2,
    "ComparisonOperator": "GreaterThanOrEqualToThreshold",
    "TreatMissingData": "notBreaching",
}


def only(template: Template, kind: str, prefix: str = "") -> dict[str, Any]:
    found = [one for name, one in template.find_resources(kind).items() if name.startswith(prefix)]
    assert len(found) == 1
    return dict(found[0])


def as_list(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("contract", ["Chat", "Decision"])
def test_an_update_bakes_and_goes_back_on_failing_invocations(template: Templates, contract: str) -> None:
    endpoints = template("dev", "Endpoints")
    [name] = [
        name for name in endpoints.find_resources("AWS::CloudWatch::Alarm") if name.startswith(f"{contract}Update")
    ]
    dimensions = [
        {"Name": "EndpointName", "Value": f"decision-endpoints-dev-{contract.lower()}"},
        {"Name": "VariantName", "Value": "AllTraffic"},
    ]
    endpoints.has_resource_properties("AWS::CloudWatch::Alarm", {**FIVE_XX, "Dimensions": dimensions})
    assert only(endpoints, "AWS::SageMaker::Endpoint", contract)["Properties"]["DeploymentConfig"] == {
        "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": {"Ref": name}}]},
        "BlueGreenUpdatePolicy": {
            "TrafficRoutingConfiguration": {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 180},
            "TerminationWaitInSeconds": 0,
            "MaximumExecutionTimeoutInSeconds": 3780,
        },
    }


def test_sagemaker_may_look_at_the_alarms_of_the_update_and_at_no_others(template: Templates) -> None:
    endpoints = template("guarded", "Endpoints")
    [alarm] = [name for name in endpoints.find_resources("AWS::CloudWatch::Alarm") if name.startswith("DecisionUpdate")]
    endpoint = only(endpoints, "AWS::SageMaker::Endpoint", "Decision")["Properties"]["DeploymentConfig"]
    assert endpoint["AutoRollbackConfiguration"]["Alarms"] == [
        {"AlarmName": {"Ref": alarm}},
        {"AlarmName": "checkout-errors"},
    ]
    [looked_at] = [
        [flat(bound) for bound in bounds]
        for name, actions, bounds in statements(endpoints)
        if name.startswith("DecisionRole") and "cloudwatch:DescribeAlarms" in actions
    ]
    own, other = sorted(looked_at)
    assert own == f"<{alarm}.Arn>"
    assert other.endswith(":alarm:checkout-errors")


def test_prod_scales_on_concurrent_requests_and_an_update_keeps_the_instances(template: Templates) -> None:
    endpoints = template("prod", "Endpoints")
    target = only(endpoints, "AWS::ApplicationAutoScaling::ScalableTarget")["Properties"]
    policy = only(endpoints, "AWS::ApplicationAutoScaling::ScalingPolicy")["Properties"]
    endpoint = only(endpoints, "AWS::SageMaker::Endpoint")["Properties"]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (1, 4)
    assert target["ScalableDimension"] == "sagemaker:variant:DesiredInstanceCount"
    # the name comes from the endpoint, so that the target is registered when there is something to scale
    assert "EndpointName" in json.dumps(target["ResourceId"])
    assert json.dumps(target["ResourceId"]).endswith('"/variant/AllTraffic"]]}')
    assert policy["TargetTrackingScalingPolicyConfiguration"] == {
        "TargetValue": 4,
        "PredefinedMetricSpecification": {
            "PredefinedMetricType": "SageMakerVariantConcurrentRequestsPerModelHighResolution"
        },
        "ScaleInCooldown": 300,
        "ScaleOutCooldown": 60,
    }
    assert endpoint["RetainAllVariantProperties"] is True
    assert endpoint["ExcludeRetainedVariantProperties"] == [{"VariantPropertyType": "DataCaptureConfig"}]


def test_requests_go_to_the_instance_with_the_fewest_under_way(template: Templates) -> None:
    for config in template("dev", "Endpoints").find_resources("AWS::SageMaker::EndpointConfig").values():
        [variant] = config["Properties"]["ProductionVariants"]
        assert variant["RoutingConfig"] == {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"}


def test_an_endpoint_that_is_not_scaled_takes_the_number_that_is_written(template: Templates) -> None:
    endpoints = template("dev", "Endpoints")
    assert not endpoints.find_resources("AWS::ApplicationAutoScaling::ScalableTarget")
    assert "RetainAllVariantProperties" not in only(endpoints, "AWS::SageMaker::Endpoint", "Decision")["Properties"]


def test_the_batch_model_is_the_decision_contract_s_image_and_archive_on_a_cpu(template: Templates) -> None:
    endpoints = template("dev", "Endpoints")
    batch = only(endpoints, "AWS::SageMaker::Model", "Batch")["Properties"]
    parameters = {name: one.get("Default") for name, one in endpoints.find_parameters("*").items()}
    container = batch["PrimaryContainer"]
    assert parameters[container["Image"]["Ref"]] == "/decision-endpoints/dev/artifacts/batch-image-uri"
    assert parameters[container["ModelDataUrl"]["Ref"]] == "/decision-endpoints/dev/artifacts/model-data-url"
    assert batch["EnableNetworkIsolation"] is True
    environment = container["Environment"]
    assert (environment["SEMIF_N_GPU_LAYERS"], environment["SEMIF_THREADS"]) == ("0", "32")
    assert environment["SEMIF_DEADLINE_SECONDS"] == "295"


def transform_job(template: Templates, environment: str) -> dict[str, Any]:
    parameter = next(
        one["Properties"]
        for one in template(environment, "Endpoints").find_resources("AWS::SSM::Parameter").values()
        if one["Properties"]["Name"] == f"/decision-endpoints/{environment}/batch/transform-job"
    )
    parts = parameter["Value"]["Fn::Join"][1]
    return dict(json.loads("".join(part if isinstance(part, str) else "TOKEN" for part in parts)))


def test_a_client_finds_a_job_that_it_only_has_to_name(template: Templates) -> None:
    assert transform_job(template, "local") == {
        "ModelName": "TOKEN",
        "BatchStrategy": "SingleRecord",
        "MaxConcurrentTransforms": 1,
        "MaxPayloadInMB": 1,
        "ModelClientConfig": {"InvocationsTimeoutInSeconds": 300, "InvocationsMaxRetries": 3},
        "TransformInput": {
            "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://TOKEN/batch/input/"}},
            "ContentType": "application/jsonlines",
            "SplitType": "Line",
        },
        "TransformOutput": {
            "S3OutputPath": "s3://TOKEN/batch/output/",
            "Accept": "application/jsonlines",
            "AssembleWith": "Line",
        },
        "TransformResources": {"InstanceType": "ml.c6i.large", "InstanceCount": 2},
    }


def test_a_transform_job_reads_models_and_input_and_writes_output_only(template: Templates) -> None:
    [policy] = [
        one["Properties"]["PolicyDocument"]["Statement"]
        for name, one in template("dev", "Endpoints").find_resources("AWS::IAM::Policy").items()
        if name.startswith("Batch")
    ]
    allowed = {action: json.dumps(one["Resource"]) for one in policy for action in as_list(one["Action"])}
    assert "/models/*" in allowed["s3:GetObject"]
    assert "/batch/input/*" in allowed["s3:GetObject"]
    assert "/batch/output/*" in allowed["s3:PutObject"]
    assert "/batch/input" not in allowed["s3:PutObject"]


def test_a_transform_job_encrypts_its_output_and_its_volume_with_the_environment_s_key(template: Templates) -> None:
    for environment, key in (("guarded", "TOKEN"), ("lodger", EXISTING_KEY)):
        job = transform_job(template, environment)
        assert job["TransformOutput"]["KmsKeyId"] == key
        assert job["TransformResources"]["VolumeKmsKeyId"] == key


def test_the_batch_image_is_for_a_cpu_beside_an_endpoint_on_something_else(template: Templates) -> None:
    for environment, other in (("guarded", "cuda"), ("lodger", "arm64")):
        images = {
            one["Properties"]["Name"].rpartition("/")[2]: json.dumps(one["Properties"]["Value"])
            for one in template(environment, "Artifacts").find_resources("AWS::SSM::Parameter").values()
        }
        assert images["batch-image-uri"].startswith('{"Fn::GetAtt": ["CpuImage')
        assert images["decision-image-uri"].startswith(f'{{"Fn::GetAtt": ["{other.capitalize()}Image')


def test_a_transform_job_takes_the_role_that_exists(template: Templates) -> None:
    model = only(template("lodger", "Endpoints"), "AWS::SageMaker::Model", "Batch")
    assert model["Properties"]["ExecutionRoleArn"] == "arn:aws:iam::111122223333:role/models/endpoint"
