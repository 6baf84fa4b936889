"""The OpenAPI document says what the container does: read, and tried against a real one."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import schemathesis

from decision_adapter import openapi
from decision_adapter.app import create_app
from decision_adapter.loading import BackgroundLoad
from decision_adapter.settings import Settings
from tests.tiny_models import write_tiny_model

UNDESCRIBED = {"/metrics", "/openapi.json"}
"""Prometheus text, and the document itself."""

CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")
EXAMPLES = 40
"""Generated cases of each operation; the coverage phase adds some two thousand."""


def test_the_page_is_what_the_types_say(repository_root: Path) -> None:
    page = json.loads((repository_root / "docs" / "openapi.json").read_text("utf-8"))
    assert page == openapi.document(), "write it anew: python -m decision_adapter.openapi > docs/openapi.json"


def test_every_route_is_described() -> None:
    loading = BackgroundLoad(lambda: None, lambda: None, lambda _: None)  # type: ignore[arg-type, return-value]
    app = create_app(loading, Settings.from_environment({}))
    routes = {
        (method.lower(), rule.rule)
        for rule in app.url_map.iter_rules()
        if rule.rule not in UNDESCRIBED
        for method in rule.methods or ()
        if method not in {"HEAD", "OPTIONS"}
    }
    assert routes == {(operation.method, operation.path) for operation in openapi.OPERATIONS}


def test_types_have_names_of_their_own() -> None:
    # pydantic puts modules in front of names that two types share
    assert not [name for name in openapi.document()["components"]["schemas"] if "__" in name]


def test_the_document_is_valid() -> None:
    schemathesis.openapi.from_dict(openapi.document()).validate()


def test_a_container_answers_generated_requests_as_documented(
    start_container: Callable[..., Any], tmp_path: Path
) -> None:
    # given a container that has a place for everyone
    write_tiny_model(tmp_path / "tiny.gguf", "attention")
    container = start_container(tmp_path, SEMIF_MAX_IN_FLIGHT="16").wait_until_ready()
    # when requests are generated from what it says of itself
    url = f"http://127.0.0.1:{container.port}/openapi.json"
    command = [str(Path(sys.executable).with_name("st")), "run", url, "--checks", ",".join(CHECKS), "--no-shrink"]
    bounds = ["--phases", "examples,coverage,fuzzing", "--max-examples", str(EXAMPLES), "--seed", "1"]
    run = subprocess.run(command + bounds, cwd=tmp_path, text=True, capture_output=True, timeout=600, check=False)
    # then no answer is a 5xx or differs from it, and its own examples were answered
    assert run.returncode == 0, run.stdout[-5000:]
    assert f"{len(openapi.OPERATIONS)} passed" in run.stdout
    for operation in openapi.OPERATIONS:
        assert container.log().count(f'"path": "{operation.path}", "status": 200') >= len(operation.asks)
