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


def test_there_is_a_project_for_the_model_and_for_each_image_that_runs(template: Templates) -> None:
    projects = resources(template("dev", "Artifacts"), "AWS::CodeBuild::Project").values()
    variables = [environment_variables(project) for project in projects]

    model = next(one for one in variables if "MODEL_UPLOAD_URI" in one)
    assert model["MODEL_GGUF_REPOSITORY"] == "bartowski/Qwen_Qwen3.5-4B-GGUF"
    assert model["MODEL_GGUF_REVISION"] == "4168f45a16a1290d65a4ec0fa312ae917a4c15d6"
    assert model["MODEL_GGUF_SHA256"] == "13c16f426047e2de38cd075bdade4a7bcbc8c774384876f677740cda65f8a983"
    assert model["MODEL_TOKENIZER_REVISION"] == "851bf6e806efd8d0a36b00ddf55e13ccb7b8cd0a"
    bases = [one["IMAGE_BASE"].split("@")[1] for one in variables if "IMAGE_BASE" in one]
    assert bases == ["sha256:1f19c220f5f169228f20cdddca00f4838be22a3a1ce9002bc444006adc3d6d43"]
    assert len(variables) == 1 + len(bases)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_a_deployment_runs_the_build_of_the_model_and_of_the_image_that_is_served(
    template: Templates, environment: str
) -> None:
    artifacts = template(environment, "Artifacts")
    builds = resources(artifacts, "Custom::Build").values()
    projects = resources(artifacts, "AWS::CodeBuild::Project")
    started = [environment_variables(projects[build["Properties"]["ProjectName"]["Ref"]]) for build in builds]
    served = "sha256:9f2e" if environment == "prod" else "sha256:1f19"
    assert sorted("IMAGE_BASE" in one for one in started) == [False, True]
    assert all(f"@{served}" in one["IMAGE_BASE"] for one in started if "IMAGE_BASE" in one)


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
    assert {"model_build/__main__.py", "model_build/requirements.txt"} <= model
    assert {"adapter/Dockerfile", "adapter/serve", "adapter/requirements.txt", "adapter/image_build.py"} <= image
    page = repository_root / "adapter" / "decision_adapter" / "playground"
    assert {str(file.relative_to(repository_root)) for file in page.iterdir() if file.is_file()} <= image
    assert all(file.startswith("model_build/") for file in model)
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
