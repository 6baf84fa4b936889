"""The endpoints as SageMaker would be asked for them."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk.assertions import Match, Template

Templates = Callable[[str, str], Template]


def only(template: Template, kind: str, contract: str) -> dict[str, Any]:
    found = [one for name, one in template.find_resources(kind).items() if name.startswith(contract)]
    assert len(found) == 1
    return dict(found[0])


def variant(template: Template, contract: str) -> dict[str, Any]:
    variants = only(template, "AWS::SageMaker::EndpointConfig", contract)["Properties"]["ProductionVariants"]
    assert len(variants) == 1
    return dict(variants[0])


def test_dev_serves_both_contracts_on_cpu_instances(template: Templates) -> None:
    endpoints = template("dev", "Endpoints")
    assert variant(endpoints, "Chat")["InstanceType"] == "ml.c6i.2xlarge"
    assert variant(endpoints, "Decision")["InstanceType"] == "ml.c6i.8xlarge"
    environment = only(endpoints, "AWS::SageMaker::Model", "Decision")["Properties"]["PrimaryContainer"]["Environment"]
    assert (environment["SEMIF_THREADS"], environment["SEMIF_N_GPU_LAYERS"]) == ("32", "0")


def test_prod_tries_its_gpu_pools_in_the_order_written(template: Templates) -> None:
    decision = variant(template("prod", "Endpoints"), "Decision")
    assert decision["InstancePools"] == [
        {"InstanceType": "ml.g6e.xlarge", "Priority": 1},
        {"InstanceType": "ml.g6.2xlarge", "Priority": 2},
        {"InstanceType": "ml.g5.2xlarge", "Priority": 3},
        {"InstanceType": "ml.g4dn.2xlarge", "Priority": 4},
    ]
    assert decision["VariantInstanceProvisionTimeoutInSeconds"] == 1200
    assert decision["InferenceAmiVersion"] == "al2023-ami-sagemaker-inference-gpu-4-1"
    assert "InstanceType" not in decision


def test_prod_offloads_every_layer(template: Templates) -> None:
    model = only(template("prod", "Endpoints"), "AWS::SageMaker::Model", "Decision")["Properties"]
    assert model["PrimaryContainer"]["Environment"]["SEMIF_N_GPU_LAYERS"] == "-1"


def test_the_chat_container_gets_the_options_of_llama_server(template: Templates) -> None:
    container = only(template("dev", "Endpoints"), "AWS::SageMaker::Model", "Chat")["Properties"]["PrimaryContainer"]
    assert container["Environment"] == {
        "SM_LLAMA_CPP_CTX_SIZE": "8192",
        "SM_LLAMA_CPP_N_GPU_LAYERS": "0",
        "SM_LLAMA_CPP_THREADS": "8",
    }


@pytest.mark.parametrize("contract", ["Chat", "Decision"])
def test_image_and_model_are_what_the_builds_handed_on(template: Templates, contract: str) -> None:
    endpoints = template("dev", "Endpoints")
    parameters = {name: one.get("Default") for name, one in endpoints.find_parameters("*").items()}
    container = only(endpoints, "AWS::SageMaker::Model", contract)["Properties"]["PrimaryContainer"]
    image = f"/decision-endpoints/dev/artifacts/{contract.lower()}-image-uri"
    assert parameters[container["Image"]["Ref"]] == image
    assert parameters[container["ModelDataUrl"]["Ref"]] == "/decision-endpoints/dev/artifacts/model-data-url"


def pulled(template: Template, contract: str) -> list[str]:
    """The repositories that an endpoint may pull from."""
    return [
        json.dumps(statement["Resource"])
        for statement in only(template, "AWS::IAM::Policy", contract)["Properties"]["PolicyDocument"]["Statement"]
        if "ecr:BatchGetImage" in statement["Action"]
    ]


def test_an_endpoint_pulls_from_the_repository_that_its_image_is_in_and_from_no_other(template: Templates) -> None:
    for contract in ("Chat", "Decision"):
        [ours] = pulled(template("dev", "Endpoints"), contract)
        assert "repositoryname" in ours
    [regional] = pulled(template("packed", "Endpoints"), "Chat")
    assert ":ecr:eu-central-1:763104351884:repository/llama-cpp" in regional
    [ours] = pulled(template("packed", "Endpoints"), "Decision")
    assert ":repository/platform/models" in ours


@pytest.mark.parametrize("contract", ["Chat", "Decision"])
def test_a_model_is_created_after_its_role_has_its_permissions(template: Templates, contract: str) -> None:
    endpoints = template("dev", "Endpoints")
    model = only(endpoints, "AWS::SageMaker::Model", contract)
    policies = [name for name in endpoints.find_resources("AWS::IAM::Policy") if name.startswith(contract)]
    assert policies
    assert set(policies) <= set(model["DependsOn"])


@pytest.mark.parametrize("contract", ["Chat", "Decision"])
def test_the_endpoint_has_a_stable_name_and_what_it_serves_has_none(template: Templates, contract: str) -> None:
    endpoints = template("dev", "Endpoints")
    name = f"decision-endpoints-dev-{contract.lower()}"
    assert only(endpoints, "AWS::SageMaker::Endpoint", contract)["Properties"]["EndpointName"] == name
    assert "ModelName" not in only(endpoints, "AWS::SageMaker::Model", contract)["Properties"]
    assert "EndpointConfigName" not in only(endpoints, "AWS::SageMaker::EndpointConfig", contract)["Properties"]


def test_each_endpoint_is_found_by_parameter(template: Templates) -> None:
    for contract in ("chat", "decision"):
        template("dev", "Endpoints").has_resource_properties(
            "AWS::SSM::Parameter", {"Name": f"/decision-endpoints/dev/{contract}/endpoint-name"}
        )


def test_a_container_has_the_time_it_needs_to_start(template: Templates) -> None:
    for contract in ("Chat", "Decision"):
        timed = variant(template("dev", "Endpoints"), contract)
        assert timed["ContainerStartupHealthCheckTimeoutInSeconds"] == 900
        assert timed["ModelDataDownloadTimeoutInSeconds"] == 900


def test_the_decision_container_is_isolated_from_the_network(template: Templates) -> None:
    assert only(template("prod", "Endpoints"), "AWS::SageMaker::Model", "Decision")["Properties"][
        "EnableNetworkIsolation"
    ]


def test_an_endpoint_reads_models_and_writes_its_own_log_only(template: Templates) -> None:
    endpoints = template("prod", "Endpoints")
    (log_group,) = endpoints.find_resources("AWS::Logs::LogGroup")
    endpoints.has_resource_properties(
        "AWS::IAM::Policy",
        {
            "PolicyDocument": {
                "Statement": Match.array_with(
                    [
                        Match.object_like({"Action": "s3:GetObject"}),
                        Match.object_like(
                            {
                                "Action": ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
                                "Resource": {"Fn::GetAtt": [log_group, "Arn"]},
                            }
                        ),
                    ]
                )
            }
        },
    )
    assert "/models/*" in json.dumps(endpoints.find_resources("AWS::IAM::Policy"))
