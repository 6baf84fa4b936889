"""The `docker` stand-in as a build calls it."""

import json
from pathlib import Path

import pytest

from local_cloud.built_images import image_store
from local_cloud.errors import ImageError
from local_cloud.image_store import ImageStore

BASE = "public.ecr.aws/deep-learning-containers/llama-cpp@sha256:" + "b" * 64
REGISTRY = "000000000000.dkr.ecr.us-east-1.amazonaws.com"


@pytest.fixture
def context(tmp_path: Path) -> Path:
    directory = tmp_path / "context"
    (directory / "package").mkdir(parents=True)
    (directory / "serve").write_text("#!/bin/sh\n")
    (directory / "package" / "app.py").write_text("x = 1\n")
    (directory / "Dockerfile").write_text("ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nARG VERSION\nCOPY . /opt/adapter\n")
    return directory


def build(workshop, context: Path, tag: str, *options: str | Path):
    return workshop.docker("build", "--build-arg", f"BASE_IMAGE={BASE}", "--tag", tag, *options, context)


def digest_of(workshop, tag: str) -> str:
    inspected = json.loads(workshop.docker("inspect", tag).stdout)
    return inspected[0]["RepoDigests"][0].partition("@")[2]


def test_equal_content_gives_the_equal_digest_and_any_change_another(workshop, context, tmp_path):
    copy = tmp_path / "copy"
    (copy / "package").mkdir(parents=True)
    for name in ("serve", "package/app.py", "Dockerfile"):
        (copy / name).write_bytes((context / name).read_bytes())
    build(workshop, context, "same:1")
    build(workshop, copy, "same:2")
    build(workshop, context, "platform:1", "--platform", "linux/arm64")
    build(workshop, context, "argument:1", "--build-arg", "VERSION=2")
    (copy / "package" / "app.py").write_text("x = 2\n")
    build(workshop, copy, "content:1")
    (context / "serve").chmod(0o755)
    build(workshop, context, "mode:1")

    same = [digest_of(workshop, f"same:{n}") for n in (1, 2)]
    others = [digest_of(workshop, f"{name}:1") for name in ("platform", "argument", "content", "mode")]
    assert same[0] == same[1]
    assert len({same[0], *others}) == 5


@pytest.mark.parametrize("base", ["python:3.12", "python", "python@sha256:abc", ""])
def test_base_that_is_not_pinned_is_refused(workshop, context, base):
    outcome = workshop.docker("build", "--build-arg", f"BASE_IMAGE={base}", "-t", "x:1", context)

    assert outcome.returncode == 1
    assert "is not pinned" in outcome.stderr
    assert "repository@sha256:" in outcome.stderr


def test_stage_of_the_same_dockerfile_is_a_valid_base(workshop, context):
    (context / "Dockerfile").write_text(f"FROM {BASE} AS wheels\nFROM wheels\nCOPY . /opt\n")

    assert workshop.docker("build", "-t", "stages:1", context).returncode == 0


def test_push_registers_what_was_built_and_prints_the_digest(workshop, context):
    ecr = workshop.client("ecr")
    uri = ecr.create_repository(repositoryName="push/adapter", imageTagMutability="IMMUTABLE")["repository"][
        "repositoryUri"
    ]
    options = ("--platform", "linux/amd64", "--provenance=false", "--output", "type=docker,oci-mediatypes=false")
    workshop.docker("login", "--username", "AWS", "--password-stdin", REGISTRY, text="secret")
    assert build(workshop, context, f"{uri}:v1", *options).returncode == 0

    pushed = workshop.docker("push", f"{uri}:v1")

    image = ecr.describe_images(repositoryName="push/adapter", imageIds=[{"imageTag": "v1"}])["imageDetails"][0]
    assert pushed.stdout.splitlines()[-1].startswith(f"v1: digest: {image['imageDigest']} size: ")
    assert image["imageManifestMediaType"] == "application/vnd.docker.distribution.manifest.v2+json"
    again = workshop.docker("push", f"{uri}:v1")
    assert (again.returncode, "already exists" in again.stderr) == (1, True)


def test_buildx_build_with_push_is_the_same(workshop, context):
    ecr = workshop.client("ecr")
    uri = ecr.create_repository(repositoryName="buildx/adapter")["repository"]["repositoryUri"]
    workshop.docker("login", "-u", "AWS", "--password-stdin", f"https://{REGISTRY}", text="secret")
    argument = f"--build-arg=BASE_IMAGE={BASE}"

    outcome = workshop.docker(
        "buildx", "build", argument, f"--tag={uri}:v1", "--push", "--provenance", "false", context
    )

    assert outcome.returncode == 0, outcome.stderr
    assert ecr.describe_images(repositoryName="buildx/adapter")["imageDetails"][0]["imageDigest"] in outcome.stdout


def test_push_without_login_is_refused_as_docker_does(workshop, context):
    build(workshop, context, "elsewhere.example/x:1")

    outcome = workshop.docker("push", "elsewhere.example/x:1")

    assert outcome.returncode == 1
    assert "no basic auth credentials for elsewhere.example" in outcome.stderr


def test_push_of_what_was_not_built_is_refused(workshop):
    outcome = workshop.docker("push", "nothing:1")

    assert (outcome.returncode, "does not exist locally" in outcome.stderr) == (1, True)


def test_a_copy_of_a_published_image_has_its_digest_and_an_index_of_it_another(workshop, unique):
    ecr = workshop.client("ecr")
    name = unique("copied")
    uri = ecr.create_repository(repositoryName=name)["repository"]["repositoryUri"]
    workshop.docker("login", "-u", "AWS", "--password-stdin", REGISTRY, text="secret")

    create = ("buildx", "imagetools", "create")
    copied = workshop.docker(*create, "--prefer-index=false", "--tag", f"{uri}:copy", BASE)
    indexed = workshop.docker(*create, "--tag", f"{uri}:index", BASE)

    assert (copied.returncode, indexed.returncode) == (0, 0), copied.stderr + indexed.stderr
    found = {one["imageTags"][0]: one for one in ecr.describe_images(repositoryName=name)["imageDetails"]}
    assert found["copy"]["imageDigest"] == BASE.partition("@")[2]
    assert found["index"]["imageDigest"] != BASE.partition("@")[2]
    assert "manifest.list" in found["index"]["imageManifestMediaType"]


def test_an_image_tool_wants_a_digest_and_a_login(workshop, unique):
    by_tag = workshop.docker("buildx", "imagetools", "inspect", "--raw", "public.ecr.aws/x/llama-cpp:latest")
    elsewhere = workshop.docker("buildx", "imagetools", "create", "--tag", "elsewhere.example/x:1", BASE)

    assert (by_tag.returncode, "is not pinned" in by_tag.stderr) == (1, True)
    assert (elsewhere.returncode, "no basic auth credentials for elsewhere" in elsewhere.stderr) == (1, True)


def test_ignored_files_are_not_part_of_the_image(workshop, context):
    (context / ".dockerignore").write_text("# caches\n**/__pycache__\n*.md\n!README.md\n")
    build(workshop, context, "ignored:1")
    (context / "package" / "__pycache__").mkdir()
    (context / "package" / "__pycache__" / "app.pyc").write_bytes(b"x")
    (context / "NOTES.md").write_text("x")
    build(workshop, context, "ignored:2")
    (context / "README.md").write_text("x")
    build(workshop, context, "ignored:3")

    digests = [digest_of(workshop, f"ignored:{n}") for n in (1, 2, 3)]
    assert digests[0] == digests[1] != digests[2]


def test_tag_gives_a_second_name(workshop, context):
    build(workshop, context, "first:1")

    workshop.docker("tag", "first:1", "second:1")

    assert digest_of(workshop, "second:1") == digest_of(workshop, "first:1")


def test_unknown_option_is_an_error(workshop, context):
    outcome = workshop.docker("build", "--squash", context)

    assert outcome.returncode == 2
    assert "--squash" in outcome.stderr


def test_version_says_what_it_is(workshop):
    assert "stand-in" in workshop.docker("--version").stdout
    assert "stand-in" in workshop.docker("version").stdout


def test_a_published_base_is_known_by_its_name_alone(workshop):
    assert workshop.docker("pull", "--platform", "linux/amd64", BASE).returncode == 0
    assert json.loads(workshop.docker("inspect", BASE).stdout)[0]["RootFS"]["Layers"] == []


def test_a_base_that_is_not_pinned_is_not_pulled(workshop):
    outcome = workshop.docker("pull", "python:3.12")

    assert outcome.returncode == 1
    assert "python:3.12 is not pinned: give repository@sha256:" in outcome.stderr


def test_a_stage_is_another_image_and_a_secret_is_no_part_of_one(workshop, context):
    build(workshop, context, "whole:1")
    build(workshop, context, "stage:1", "--target", "packages")
    build(workshop, context, "secret:1", "--secret", "id=pip.conf,src=/nowhere")

    assert digest_of(workshop, "whole:1") == digest_of(workshop, "secret:1") != digest_of(workshop, "stage:1")


def test_images_are_built_for_real_only_when_asked_for_by_name(tmp_path, monkeypatch):
    assert isinstance(image_store(tmp_path), ImageStore)
    monkeypatch.setenv("LOCAL_CLOUD_IMAGES", "yes")
    with pytest.raises(ImageError, match="LOCAL_CLOUD_IMAGES is 'yes': must be recorded or built"):
        image_store(tmp_path)


def test_without_buildah_what_is_missing_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCAL_CLOUD_IMAGES", "built")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ImageError, match=r"buildah is not on PATH: apt-get install .* buildah debootstrap"):
        image_store(tmp_path)
