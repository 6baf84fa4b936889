"""Memory stays below 200 MB: models larger than that go through the command, and its high-water mark is read."""

import hashlib
import os
import re

COMMIT = "4" * 40
LIMIT_BYTES = 200_000_000
# VmHWM counts from the start of this program, unlike ru_maxrss, which also remembers the process it was forked from.
REPORT_PEAK = "import atexit; atexit.register(lambda: print(open('/proc/self/status').read(), file=sys.stderr))"


def peak_bytes(build):
    assert build.returncode == 0, build.stderr
    (kibibytes,) = re.findall(r"VmHWM:\s+(\d+) kB", build.stderr)
    return int(kibibytes) * 1024


def test_a_600_mb_model_of_the_hub_is_packed_within_200_mb(hub, run_build):
    # given a file that takes no room on the Hub's disk
    hub.add("owner/model", COMMIT, {"model.gguf": b"GGUF"})
    path = hub.folder / "owner/model/model.gguf"
    os.truncate(path, 600_000_000)
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()

    build = run_build(
        before=REPORT_PEAK,
        HF_ENDPOINT=hub.endpoint,
        MODEL_GGUF_REPOSITORY="owner/model",
        MODEL_GGUF_REVISION=COMMIT,
        MODEL_GGUF_FILE="model.gguf",
        MODEL_GGUF_SHA256=sha256,
    )

    assert build.result["manifest"]["gguf"]["bytes"] == 600_000_000
    assert peak_bytes(build) < LIMIT_BYTES


def test_a_300_mb_model_goes_from_s3_to_s3_within_200_mb(bucket, s3_endpoint, run_build):
    # given a GGUF that does not compress: a random block longer than gzip's window of 32 KiB, repeated
    gguf = b"GGUF" + os.urandom(1_000_000) * 300

    build = run_build(
        before=REPORT_PEAK,
        AWS_ENDPOINT_URL=s3_endpoint,
        MODEL_GGUF_URI=bucket.put("model.gguf", gguf),
        MODEL_GGUF_SHA256=hashlib.sha256(gguf).hexdigest(),
        MODEL_UPLOAD_URI=f"s3://{bucket.name}/model.tar.gz",
    )

    assert build.result["size_bytes"] > 300_000_000
    assert peak_bytes(build) < LIMIT_BYTES
