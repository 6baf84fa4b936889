"""Builds through boto3: buildspecs really run."""

import io
import json
import zipfile
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from botocore.exceptions import ClientError

INLINE = """
version: 0.2
env:
  variables:
    FROM_BUILDSPEC: buildspec
    OVERRIDDEN: buildspec
    NUMBER: 3
  exported-variables: [DIGEST, NEVER_SET]
phases:
  install:
    runtime-versions: {python: 3.12}
    commands:
      - helper() { echo "helped $1"; }
      - unexported=kept
  pre_build:
    commands:
      - echo "$FROM_BUILDSPEC $OVERRIDDEN $NUMBER"
      - mkdir sub && cd sub
  build:
    commands:
      - helper "$unexported" && basename "$PWD"
      - |
        DIGEST="sha256:abc
        second line"
        if true; then echo "AWS at $AWS_ENDPOINT_URL, key $AWS_ACCESS_KEY_ID"; fi
  post_build:
    commands: [echo "succeeded $CODEBUILD_BUILD_ID"]
"""


@pytest.fixture
def run(workshop, unique, eventually):
    """Runs a build of a new project and returns its record once it is complete."""

    def create_and_run(buildspec: str, source: dict | None = None, **start) -> dict:
        name = unique("project")
        codebuild = workshop.client("codebuild")
        codebuild.create_project(
            name=name,
            source={"type": "NO_SOURCE", "buildspec": buildspec, **(source or {})},
            artifacts={"type": "NO_ARTIFACTS"},
            environment={
                "type": "LINUX_CONTAINER",
                "image": "aws/codebuild/standard:7.0",
                "computeType": "BUILD_GENERAL1_SMALL",
                "environmentVariables": [{"name": "OVERRIDDEN", "value": "project"}],
            },
            serviceRole="arn:aws:iam::000000000000:role/build",
        )
        build_id = codebuild.start_build(projectName=name, **start)["build"]["id"]

        def complete() -> dict | None:
            build = codebuild.batch_get_builds(ids=[build_id])["builds"][0]
            return build if build["buildComplete"] else None

        return eventually(complete)

    return create_and_run


def log_of(workshop, build: dict) -> str:
    logs = build["logs"]
    pages = (
        workshop.client("logs")
        .get_paginator("filter_log_events")
        .paginate(logGroupName=logs["groupName"], logStreamNames=[logs["streamName"]])
    )
    return "\n".join(event["message"] for page in pages for event in page["events"])


def phases(build: dict) -> dict[str, str]:
    return {phase["phaseType"]: phase.get("phaseStatus", "") for phase in build["phases"]}


def complaint(build: dict) -> tuple[str, str, str]:
    phase = next(phase for phase in build["phases"] if phase.get("contexts"))
    return phase["phaseType"], phase["contexts"][0]["statusCode"], phase["contexts"][0]["message"]


def test_phases_share_variables_functions_and_directory(workshop, run):
    build = run(INLINE, environmentVariablesOverride=[{"name": "EXTRA", "value": "x"}])

    log = log_of(workshop, build)
    assert build["buildStatus"] == "SUCCEEDED", log
    assert "buildspec project 3" in log
    assert "helped kept\nsub" in log
    assert f"AWS at {workshop.cloud.endpoint_url}, key LOCAL" in log
    assert f"succeeded {build['id']}" in log
    assert list(phases(build)) == [
        *("SUBMITTED", "QUEUED", "PROVISIONING", "DOWNLOAD_SOURCE", "INSTALL", "PRE_BUILD", "BUILD", "POST_BUILD"),
        *("UPLOAD_ARTIFACTS", "FINALIZING", "COMPLETED"),
    ]


def test_exported_variables_are_returned(run):
    build = run(INLINE)

    assert build["exportedEnvironmentVariables"] == [{"name": "DIGEST", "value": "sha256:abc\nsecond line"}]


def test_log_is_in_the_file_that_the_deep_link_names(run):
    build = run("version: 0.2\nphases: {build: {commands: [echo found me]}}\n")

    log = Path(url2pathname(urlsplit(build["logs"]["deepLink"]).path))
    assert "found me" in log.read_text().splitlines()


def test_variables_of_the_call_win_over_the_projects(workshop, run):
    build = run(INLINE, environmentVariablesOverride=[{"name": "OVERRIDDEN", "value": "call"}])

    assert "buildspec call 3" in log_of(workshop, build)


@pytest.mark.parametrize(
    "failing", ["test 1 = 2", "bash -c 'exit 3'", "exit 3", "|\n        echo before\n        exit 3\n"]
)
def test_failing_command_fails_its_phase_by_name_and_post_build_still_runs(workshop, run, failing):
    build = run(
        f"version: 0.2\nphases:\n  build:\n    commands:\n      - echo one\n      - {failing}\n      - echo never\n"
        "  post_build:\n    commands: [echo cleaned up]\n"
    )

    assert build["buildStatus"] == "FAILED"
    assert (phases(build)["BUILD"], phases(build)["POST_BUILD"]) == ("FAILED", "SUCCEEDED")
    phase, code, message = complaint(build)
    assert (phase, code) == ("BUILD", "COMMAND_EXECUTION_ERROR")
    assert message.startswith("Error while executing command: ")
    assert message.endswith(f"Reason: exit status {1 if failing == 'test 1 = 2' else 3}")
    log = log_of(workshop, build)
    assert "cleaned up" in log.splitlines()
    assert "never" not in log.splitlines()


def test_failure_before_the_build_phase_ends_the_build(run):
    build = run("version: 0.2\nphases:\n  install: {commands: ['false']}\n  build: {commands: [echo never]}\n")

    assert phases(build)["INSTALL"] == "FAILED"
    assert "BUILD" not in phases(build)


def test_finally_runs_after_a_failure_and_on_failure_continue_goes_on(workshop, run):
    build = run(
        "version: 0.2\nphases:\n"
        "  install: {on-failure: CONTINUE, commands: ['false'], finally: [echo at last]}\n"
        "  build: {commands: [echo went on]}\n"
    )

    assert build["buildStatus"] == "SUCCEEDED"
    assert {"at last", "went on"} <= set(log_of(workshop, build).splitlines())


def test_source_zip_is_extracted_with_modes_and_holds_the_buildspec(workshop, run, unique):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("part/buildspec.yml", "version: 0.2\nphases: {build: {commands: [part/run.sh]}}\n")
        script = zipfile.ZipInfo("part/run.sh")
        script.external_attr = 0o755 << 16
        archive.writestr(script, "#!/bin/sh\necho ran from $PWD, $CODEBUILD_SRC_DIR\n")
    bucket = unique("source")
    workshop.client("s3").create_bucket(Bucket=bucket)
    workshop.client("s3").put_object(Bucket=bucket, Key="source.zip", Body=content.getvalue())

    build = run("part/buildspec.yml", {"type": "S3", "location": f"{bucket}/source.zip"})

    log = log_of(workshop, build)
    assert build["buildStatus"] == "SUCCEEDED", log
    directory = next(line for line in log.splitlines() if line.startswith("ran from ")).removeprefix("ran from ")
    assert len(set(directory.split(", "))) == 1


def test_missing_buildspec_says_what_the_source_holds(run):
    build = run("elsewhere/buildspec.yml")

    assert complaint(build)[1:] == (
        "YAML_FILE_ERROR",
        "YAML_FILE_ERROR: stat elsewhere/buildspec.yml: no such file or directory; the source holds nothing",
    )


@pytest.mark.parametrize(
    ("buildspec", "reason"),
    [
        ("version: 0.1\nphases: {}\n", "version: "),
        ("version: 0.2\n\n", "phases: Field required"),
        ("version: 0.2\nphases: {deploy: {commands: []}}\n", "deploy"),
        ("version: 0.2\nenv: {variable: {}}\nphases: {}\n", "env.variable: Extra inputs"),
        ("version: [\n", "while parsing"),
    ],
)
def test_malformed_buildspec_names_the_key(run, buildspec, reason):
    build = run(buildspec)

    phase, code, message = complaint(build)
    assert (phase, code) == ("DOWNLOAD_SOURCE", "YAML_FILE_ERROR")
    assert reason in message


def test_docker_in_a_build_is_the_stand_in_and_python_that_of_the_cloud(workshop, run):
    build = run('version: 0.2\nphases: {build: {commands: [docker version, python -c "import boto3"]}}\n')

    assert build["buildStatus"] == "SUCCEEDED", log_of(workshop, build)
    assert "stand-in" in log_of(workshop, build)


def test_parameter_store_variables_are_resolved(workshop, run, unique):
    name = f"/{unique('parameter')}"
    workshop.client("ssm").put_parameter(Name=name, Value="from the store", Type="String")
    override = {"name": "SECRET", "value": name, "type": "PARAMETER_STORE"}

    build = run(
        "version: 0.2\nphases: {build: {commands: ['echo \"$SECRET\"']}}\n", environmentVariablesOverride=[override]
    )

    assert "from the store" in log_of(workshop, build).splitlines()


def test_stopped_build_ends_what_it_runs(workshop, run, unique, eventually, processes_with):
    codebuild, mark, name = workshop.client("codebuild"), unique("mark"), unique("project")
    codebuild.create_project(
        name=name,
        source={
            "type": "NO_SOURCE",
            "buildspec": json.dumps({"version": 0.2, "phases": {"build": {"commands": [f"sleep 600 # {mark}"]}}}),
        },
        artifacts={"type": "NO_ARTIFACTS"},
        environment={"type": "LINUX_CONTAINER", "image": "x", "computeType": "BUILD_GENERAL1_SMALL"},
        serviceRole="arn:aws:iam::000000000000:role/build",
    )
    variable = [{"name": "MARK", "value": mark}]
    build_id = codebuild.start_build(projectName=name, environmentVariablesOverride=variable)["build"]["id"]
    eventually(lambda: any("sleep 600" in command for command in processes_with(mark)))

    codebuild.stop_build(id=build_id)

    build = eventually(
        lambda: next((b for b in codebuild.batch_get_builds(ids=[build_id])["builds"] if b["buildComplete"]), None)
    )
    assert build["buildStatus"] == "STOPPED"
    assert not processes_with(mark)


def test_equal_idempotency_token_starts_one_build(workshop, run, unique):
    build = run("version: 0.2\nphases: {build: {commands: ['true']}}\n", idempotencyToken="once")

    again = workshop.client("codebuild").start_build(projectName=build["projectName"], idempotencyToken="once")

    assert again["build"]["id"] == build["id"]
    assert workshop.client("codebuild").list_builds_for_project(projectName=build["projectName"])["ids"] == [
        build["id"]
    ]


def test_unknown_project_is_refused(workshop):
    with pytest.raises(ClientError, match=r"Project cannot be found: arn:aws:codebuild:.*:project/none"):
        workshop.client("codebuild").start_build(projectName="none")
