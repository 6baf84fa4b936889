"""The bucket, the repository and the builds, as they would be deployed."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aws_cdk.assertions import Match, Template

from tests.stacks.conftest import ENVIRONMENTS as EVERY_ENVIRONMENT

Templates = Callable[[str, str], Template]

ENVIRONMENTS = ("local", "dev", "prod")


def resources(template: Template, kind: str) -> dict[str, Any]:
    found = template.find_resources(kind)
    assert found, f"no {kind}"
    return dict(found)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_the_bucket_is_private_encrypted_versioned_and_speaks_tls_only(template: Templates, environment: str) -> None:
    artifacts = template(environment, "Artifacts")
    artifacts.has_resource_properties(
        "AWS::S3::Bucket",
        {
            "BucketEncryption": {
                "ServerSideEncryptionConfiguration": [{"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]
            },
            "PublicAccessBlockConfiguration": {
                "BlockPublicAcls": True,
                "BlockPublicPolicy": True,
                "IgnorePublicAcls": True,
                "RestrictPublicBuckets": True,
            },
            "VersioningConfiguration": {"Status": "Enabled"},
        },
    )
    denied = {"Action": "s3:*", "Effect": "Deny", "Principal": {"AWS": "*"}}
    for condition in ({"Bool": {"aws:SecureTransport": "false"}}, {"NumericLessThan": {"s3:TlsVersion": 1.2}}):
        artifacts.has_resource_properties(
            "AWS::S3::BucketPolicy",
            {
                "PolicyDocument": {
                    "Statement": Match.array_with([Match.object_like({**denied, "Condition": condition})])
                }
            },
        )


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_image_tags_are_immutable_and_images_scanned(template: Templates, environment: str) -> None:
    template(environment, "Artifacts").has_resource_properties(
        "AWS::ECR::Repository",
        {"ImageTagMutability": "IMMUTABLE", "ImageScanningConfiguration": {"ScanOnPush": True}},
    )


@pytest.mark.parametrize(("environment", "policy"), [("local", "Delete"), ("dev", "Delete"), ("prod", "Retain")])
def test_bucket_and_images_outlive_the_stack_only_where_the_settings_say_so(
    template: Templates, environment: str, policy: str
) -> None:
    for kind in ("AWS::S3::Bucket", "AWS::ECR::Repository"):
        for resource in resources(template(environment, "Artifacts"), kind).values():
            assert resource["DeletionPolicy"] == policy


def environment_variables(project: dict[str, Any]) -> dict[str, Any]:
    return {one["Name"]: one["Value"] for one in project["Properties"]["Environment"]["EnvironmentVariables"]}


CPU_DIGEST = "sha256:1f19c220f5f169228f20cdddca00f4838be22a3a1ce9002bc444006adc3d6d43"
CUDA_DIGEST = "sha256:9f2eb2d9cbdc3172c2046117c4a43401bc95dbabdc3e2aeaa35daa11565c8b36"


def started(artifacts: Template) -> list[dict[str, Any]]:
    """The variables of each build that a deployment runs."""
    projects = resources(artifacts, "AWS::CodeBuild::Project")
    builds = resources(artifacts, "Custom::Build").values()
    variables = [environment_variables(projects[build["Properties"]["ProjectName"]["Ref"]]) for build in builds]
    assert len(variables) == len(projects)
    return variables


def test_the_model_is_built_from_what_the_settings_pin(template: Templates) -> None:
    [model] = [one for one in started(template("dev", "Artifacts")) if "MODEL_UPLOAD_URI" in one]
    assert model["MODEL_GGUF_REPOSITORY"] == "bartowski/Qwen_Qwen3.5-4B-GGUF"
    assert model["MODEL_GGUF_REVISION"] == "4168f45a16a1290d65a4ec0fa312ae917a4c15d6"
    assert model["MODEL_GGUF_SHA256"] == "13c16f426047e2de38cd075bdade4a7bcbc8c774384876f677740cda65f8a983"
    assert model["MODEL_TOKENIZER_REVISION"] == "851bf6e806efd8d0a36b00ddf55e13ccb7b8cd0a"


@pytest.mark.parametrize(("environment", "digest"), [("local", CPU_DIGEST), ("dev", CPU_DIGEST), ("prod", CUDA_DIGEST)])
def test_a_container_is_copied_once_and_the_image_that_is_served_is_built_on_the_copy(
    template: Templates, environment: str, digest: str
) -> None:
    artifacts = template(environment, "Artifacts")
    [copied] = [one for one in started(artifacts) if "IMAGE_SOURCE" in one]
    [built] = [one for one in started(artifacts) if "IMAGE_BASE" in one]
    assert copied["IMAGE_SOURCE"] == f"public.ecr.aws/deep-learning-containers/llama-cpp@{digest}"
    assert copied["IMAGE_TAG"] == f"copy-amd64-{digest.removeprefix('sha256:')}"
    copy, attribute = built["IMAGE_BASE"]["Fn::GetAtt"]
    assert attribute == "ImageUri"
    assert resources(artifacts, "Custom::Build")[copy]["Properties"]["ImageTag"] == copied["IMAGE_TAG"]


def published(template: Template) -> dict[str, Any]:
    return {
        one["Properties"]["Name"].rpartition("/")[2]: one["Properties"]["Value"]
        for one in resources(template, "AWS::SSM::Parameter").values()
    }


def test_the_chat_endpoint_runs_the_copy_that_the_decision_image_is_built_on(template: Templates) -> None:
    artifacts = template("dev", "Artifacts")
    [built] = [one for one in started(artifacts) if "IMAGE_BASE" in one]
    assert published(artifacts)["chat-image-uri"] == built["IMAGE_BASE"]


def test_the_calibration_is_packed_with_the_model(template: Templates, repository_root: Path) -> None:
    [guarded], [dev] = (
        [one for one in started(template(environment, "Artifacts")) if "MODEL_GGUF_SHA256" in one]
        for environment in ("guarded", "dev")
    )
    file = repository_root / "tests" / "stacks" / "environments" / "calibration.json"
    assert json.loads(guarded["MODEL_CALIBRATION"]) == json.loads(file.read_text("utf-8"))
    assert "MODEL_CALIBRATION" not in dev


def test_each_image_is_copied_that_something_runs_on(template: Templates) -> None:
    copied = [one["IMAGE_SOURCE"] for one in started(template("guarded", "Artifacts")) if "IMAGE_SOURCE" in one]
    assert sorted(
        copied
    ) == [  # the chat endpoint and the transform jobs share the one, the decision endpoint has the other
        f"222233334444.dkr.ecr.eu-central-1.amazonaws.com/shared/llama-cpp@sha256:{'1' * 64}",
        f"public.ecr.aws/deep-learning-containers/llama-cpp@{CUDA_DIGEST}",
    ]


def test_a_build_may_pull_from_the_private_repository_that_an_image_comes_from(template: Templates) -> None:
    readers = [
        name
        for name, policy in resources(template("guarded", "Artifacts"), "AWS::IAM::Policy").items()
        if ":ecr:eu-central-1:222233334444:repository/shared/llama-cpp" in json.dumps(policy)
    ]
    assert [name[:12] for name in readers] == ["CpuCopyBuild", "CpuImageBuil"]


def test_nothing_is_copied_where_images_are_pulled_from_where_they_are(template: Templates) -> None:
    built = started(template("lodger", "Artifacts"))
    assert not [one for one in built if "IMAGE_SOURCE" in one]
    assert {one["IMAGE_BASE"] for one in built if "IMAGE_BASE" in one} == {
        f"public.ecr.aws/deep-learning-containers/llama-cpp@sha256:{'0' * 64}",
        f"public.ecr.aws/deep-learning-containers/llama-cpp@{CPU_DIGEST}",
    }


def test_a_regional_image_is_that_of_the_region_by_the_same_digest(template: Templates) -> None:
    assert published(template("packed", "Artifacts"))["chat-image-uri"] == (
        f"763104351884.dkr.ecr.eu-central-1.amazonaws.com/llama-cpp@{CPU_DIGEST}"
    )


def test_a_build_starts_only_when_project_and_permissions_are_there(template: Templates) -> None:
    artifacts = template("dev", "Artifacts")
    policies = resources(artifacts, "AWS::IAM::Policy")
    for build in resources(artifacts, "Custom::Build").values():
        awaited = build["DependsOn"]
        assert build["Properties"]["ProjectName"]["Ref"] in awaited
        starting = [
            name
            for name in awaited
            if name in policies and "codebuild:StartBuild" in json.dumps(policies[name]["Properties"])
        ]
        assert starting, awaited


def test_the_output_of_a_build_is_named_by_what_goes_into_it(template: Templates) -> None:
    local, dev = (template(name, "Artifacts") for name in ("local", "dev"))

    def keys(artifacts: Template, name: str) -> list[str]:
        builds = resources(artifacts, "Custom::Build").values()
        return [build["Properties"][name] for build in builds if name in build["Properties"]]

    # another model: another key; the same adapter and base: the same tag
    assert keys(local, "Key") != keys(dev, "Key")
    assert keys(local, "ImageTag") == keys(dev, "ImageTag")


def test_only_the_files_of_a_build_are_its_source(synthesize: Callable[[str], Path], repository_root: Path) -> None:
    assembly = synthesize("local")
    sources = [
        {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
        for folder in assembly.glob("asset.*")
    ]
    model = next(files for files in sources if "model_build/buildspec.yml" in files)
    image = next(files for files in sources if "adapter/buildspec.yml" in files)
    copy = next(files for files in sources if "image_copy/buildspec.yml" in files)
    assert {"model_build/__main__.py", "model_build/requirements.txt"} <= model
    assert {"adapter/Dockerfile", "adapter/serve", "adapter/requirements.lock", "adapter/image_build.py"} <= image
    assert {"adapter/bases.toml", "adapter/build-requirements.lock", "adapter/proof/prove.py"} <= image
    page = repository_root / "adapter" / "decision_adapter" / "playground"
    assert {str(file.relative_to(repository_root)) for file in page.iterdir() if file.is_file()} <= image
    assert all(file.startswith("model_build/") for file in model)
    assert copy == {f"image_copy/{name}" for name in ("__init__.py", "__main__.py", "buildspec.yml", "copy.py")}
    assert all(file.startswith("adapter/") and not file.endswith((".pyc", ".md")) for file in image)


def test_the_templates_pass_cfn_lint(synthesize: Callable[[str], Path]) -> None:
    for environment in EVERY_ENVIRONMENT:
        files = sorted(str(file) for file in synthesize(environment).glob("*.template.json"))
        linted = subprocess.run(
            # W3005: CDK states dependencies that references imply
            [str(Path(sys.executable).with_name("cfn-lint")), "--ignore-checks", "W3005", "--", *files],
            capture_output=True,
            text=True,
            check=False,
        )
        assert linted.returncode == 0, linted.stdout
