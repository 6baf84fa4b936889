"""The buildspec as CodeBuild runs it: phase by phase in bash, from a source root that holds only model_build/."""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import yaml

MODEL_BUILD = Path(__file__).parents[2] / "model_build"
GGUF = b"GGUF" + os.urandom(100_000)


def test_the_phases_install_the_pins_and_build_from_the_source_zip(bucket, s3_endpoint, build_env, tmp_path):
    # given a source root as CodeBuild unpacks it, and the project's environment
    source = tmp_path / "src"
    shutil.copytree(MODEL_BUILD, source / "model_build", ignore=shutil.ignore_patterns("__pycache__"))
    buildspec = yaml.safe_load((source / "model_build" / "buildspec.yml").read_text())
    env = {
        **build_env,
        "PIP_NO_INDEX": "1",  # everything pinned is installed here: the install phase must find it so
        "AWS_ENDPOINT_URL": s3_endpoint,
        "MODEL_GGUF_URI": bucket.put("model.gguf", GGUF),
        "MODEL_GGUF_SHA256": hashlib.sha256(GGUF).hexdigest(),
        "MODEL_UPLOAD_URI": f"s3://{bucket.name}/model.tar.gz",
    }
    del env["PYTHONPATH"]

    # when its commands run
    outputs = [
        subprocess.run(
            ["bash", "-c", command], cwd=source, env=env, capture_output=True, text=True, timeout=120, check=True
        ).stdout
        for phase in buildspec["phases"].values()
        for command in phase["commands"]
    ]

    # then the last line of the last one is the result
    result = json.loads(outputs[-1].splitlines()[-1])
    uploaded, metadata = bucket.get("model.tar.gz")
    assert buildspec["version"] == 0.2
    assert list(buildspec["phases"]) == ["install", "build"]
    assert result["model_data_url"] == env["MODEL_UPLOAD_URI"]
    assert result["sha256"] == metadata["sha256"] == hashlib.sha256(uploaded).hexdigest()
