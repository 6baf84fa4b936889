"""Builds between S3 buckets: the real command against a local S3."""

import hashlib
import os
import signal
import subprocess
import sys
import tarfile

import pytest

GGUF = b"GGUF" + os.urandom(20_000_000)  # two parts of a multipart transfer
GGUF_SHA256 = hashlib.sha256(GGUF).hexdigest()


@pytest.fixture
def pins(bucket, build_env, s3_endpoint):
    build_env["AWS_ENDPOINT_URL"] = s3_endpoint
    return {"MODEL_GGUF_URI": bucket.put("pins/model.gguf", GGUF), "MODEL_GGUF_SHA256": GGUF_SHA256}


@pytest.fixture
def archive(tmp_path):
    return tmp_path / "work" / "model.tar.gz"


def test_the_archive_is_uploaded_with_its_hash_as_metadata(pins, bucket, run_build, archive):
    target = f"s3://{bucket.name}/models/0123/model.tar.gz"

    result = run_build(**pins, MODEL_UPLOAD_URI=target).result

    uploaded, metadata = bucket.get("models/0123/model.tar.gz")
    sha256 = hashlib.sha256(uploaded).hexdigest()
    assert uploaded == archive.read_bytes()
    assert metadata == {"sha256": sha256}
    assert result == {
        "model_data_url": target,
        "sha256": sha256,
        "size_bytes": len(uploaded),
        "manifest": {
            "gguf": {
                "uri": pins["MODEL_GGUF_URI"],
                "file": "model.gguf",
                "sha256": GGUF_SHA256,
                "bytes": len(GGUF),
            },
            "tokenizer": None,
            "tokenizer_files": {},
        },
    }
    with tarfile.open(archive) as tar:
        assert tar.getnames() == ["model-manifest.json", "model.gguf"]


def test_a_calibration_stands_at_the_archive_s_root_as_it_was_given(pins, run_build, archive):
    calibration = '{"id": "ä", "temperature": 1.8}\n'

    run_build(**pins, MODEL_CALIBRATION=calibration)

    with tarfile.open(archive) as tar:
        assert tar.getnames() == ["calibration.json", "model-manifest.json", "model.gguf"]
        assert tar.extractfile("calibration.json").read() == calibration.encode()


def test_two_builds_in_two_places_give_identical_bytes(pins, run_build, tmp_path):
    first = run_build(**pins, MODEL_WORK_DIR=str(tmp_path / "one"))
    second = run_build(**pins, MODEL_WORK_DIR=str(tmp_path / "two"))

    assert first.result == second.result
    assert (tmp_path / "one/model.tar.gz").read_bytes() == (tmp_path / "two/model.tar.gz").read_bytes()


def test_every_step_says_what_it_does_and_how_long_it_took(pins, bucket, run_build):
    build = run_build(**pins, MODEL_UPLOAD_URI=f"s3://{bucket.name}/model.tar.gz")

    for step in ("fetching s3://", "checking the SHA-256", "packing 2 files", "reading 20.0 MB", "uploading 20.0 MB"):
        announced, ended = (line for line in build.stderr.splitlines() if step in line)
        assert announced.endswith(" ...")
        assert ended.endswith(" s")
    assert len(build.stdout.splitlines()) == 1


def test_another_object_than_the_pinned_one_stops_the_build_naming_both_hashes(pins, bucket, run_build, archive):
    build = run_build(**{**pins, "MODEL_GGUF_SHA256": "0" * 64}, MODEL_UPLOAD_URI=f"s3://{bucket.name}/out.tar.gz")

    assert build.returncode == 1
    assert build.stdout == ""
    assert all(word in build.stderr for word in (pins["MODEL_GGUF_URI"], "0" * 64, GGUF_SHA256))
    assert not archive.exists()
    assert "Contents" in (listing := bucket.client.list_objects_v2(Bucket=bucket.name))
    assert [entry["Key"] for entry in listing["Contents"]] == ["pins/model.gguf"]


@pytest.mark.parametrize("uri", ["s3://{bucket}/missing.gguf", "s3://no-such-bucket-anywhere/model.gguf"])
def test_a_missing_object_is_named(pins, bucket, run_build, uri):
    uri = uri.format(bucket=bucket.name)

    build = run_build(**{**pins, "MODEL_GGUF_URI": uri})

    assert build.returncode == 1
    assert f"{uri}: no such object" in build.stderr
    assert "Traceback" not in build.stderr


def test_a_refused_upload_fails_the_build_and_keeps_the_verified_archive(pins, run_build, archive):
    build = run_build(**pins, MODEL_UPLOAD_URI="s3://no-such-bucket-anywhere/model.tar.gz")

    assert build.returncode == 1
    assert build.stdout == ""
    assert "s3://no-such-bucket-anywhere/model.tar.gz was not written" in build.stderr
    assert str(archive) in build.stderr
    assert archive.is_file()


def test_denied_access_names_the_object_and_the_permission(forbidding_endpoint, bucket, pins, run_build):
    source = run_build(**pins, AWS_ENDPOINT_URL=forbidding_endpoint)

    assert source.returncode == 1
    assert f"{pins['MODEL_GGUF_URI']}: access denied. Allow s3:GetObject" in source.stderr


def test_an_unreachable_s3_is_named_and_the_build_may_be_repeated(pins, run_build, unused_endpoint):
    build = run_build(**pins, AWS_ENDPOINT_URL=unused_endpoint)

    assert build.returncode == 1
    assert all(word in build.stderr for word in (pins["MODEL_GGUF_URI"], unused_endpoint, "again may succeed."))


def test_a_build_killed_while_packing_leaves_nothing_under_the_archives_name(pins, build_env, run_build, archive):
    # given a build that is killed when it says that it packs
    with subprocess.Popen(
        [sys.executable, "-m", "model_build"], env={**build_env, **pins}, stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stderr:
            if "packing" in line:
                process.send_signal(signal.SIGKILL)
                break
        process.wait(60)

    # then no archive is there, and the next build makes one
    assert process.returncode == -signal.SIGKILL
    assert not archive.exists()
    assert run_build(**pins).result["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    assert [path.name for path in archive.parent.iterdir() if path.is_file()] == ["model.tar.gz"]
