"""System One's own software against the container with a real model: conformance suite, SDKs, and our page."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from backports import zstd
from typesafe_sdk import (
    Choice,
    Noul,
    RetryPolicy,
    Score,
    TypeSafeAuthenticationError,
    TypeSafeBadRequestError,
    TypeSafeClient,
    TypeSafeUnprocessableEntityError,
)

from tests.adapter.expectations import parts_of

KEY = "k-123"
# The suite asks for choices between 255 options, which take long on a busy machine: what is tested here is no limit.
ROOMY = {"SEMIF_MAX_TOKENS": "8192", "SEMIF_MAX_REQUEST_TOKENS": "16384", "SEMIF_DEADLINE_SECONDS": "3600"}
PATIENCE_SECONDS = 900
JSON = {"Content_Type": "application/json"}
MODEL = "SmolLM2-135M-Instruct.Q4_1"


@pytest.fixture(scope="module")
def unlocked(start_container: Callable[..., Any], model_dir: Path) -> Any:
    """A container without a key."""
    return start_container(model_dir, **ROOMY).wait_until_ready()


@pytest.fixture(scope="module")
def locked(start_container: Callable[..., Any], model_dir: Path) -> Any:
    """A container with a key, and with the prompt profile that writes 255 options in the fewest tokens."""
    profile = {"SEMIF_PROMPT_PROFILE": "decider-plain"}
    return start_container(model_dir, SEMIF_API_KEY=KEY, **profile, **ROOMY).wait_until_ready()


def url(container: Any) -> str:
    return f"http://127.0.0.1:{container.port}"


def sdk(container: Any, key: str = "any", **options: Any) -> TypeSafeClient:
    return TypeSafeClient(api_key=key, base_url=url(container), timeout=PATIENCE_SECONDS, compression="zstd", **options)


def conformance(container: Any, report: Path, *arguments: str) -> tuple[int, dict[str, list[str]]]:
    """The exit status of the suite, and its requirements by what became of them."""
    limits = ["--timeout", str(PATIENCE_SECONDS), "--json", str(report)]
    command = [sys.executable, "-m", "jevcompat.cli", "test", url(container), *limits, *arguments]
    status = subprocess.run(command, check=False, capture_output=True).returncode
    found: dict[str, list[str]] = {"pass": [], "fail": [], "skip": []}
    for result in json.loads(report.read_text("utf-8"))["results"]:
        found[result["status"]].append(result["id"])
    return status, found


@pytest.mark.timeout(3600)
def test_the_conformance_suite_passes_without_a_key(unlocked: Any, tmp_path: Path) -> None:
    status, found = conformance(unlocked, tmp_path / "report.json")
    assert (status, found["fail"]) == (0, [])
    assert found["skip"] == ["auth.bearer", "auth.missing", "auth.invalid"]
    assert len(found["pass"]) == 45


@pytest.mark.timeout(3600)
def test_the_conformance_suite_passes_with_a_key(locked: Any, tmp_path: Path) -> None:
    status, found = conformance(locked, tmp_path / "report.json", "--key", KEY)
    assert (status, found["fail"]) == (0, [])
    assert found["skip"] == ["auth.ignored-when-off"]
    assert len(found["pass"]) == 47


QUESTIONS = {
    "is angry?": Noul(instructions="Is the customer angry?"),
    "team": Choice(instructions="Which team?", criteria={"billing": "Payments", "🙂 기타": None}),
    "urgency": Score(instructions="How urgent is it?", criteria=["Can wait", {"label": "Today"}]),
}
STATE = {"message": "I was charged twice. Please fix this."}


def test_the_python_sdk_gets_typed_answers(unlocked: Any) -> None:
    with sdk(unlocked) as client:
        response = client.system_one(state=STATE, questions=QUESTIONS)
        listed = client.models.list()
    assert response.model == MODEL
    assert re.fullmatch("req_[0-9a-f]{32}", response.request_id)
    assert 0 <= response.nouls["is angry?"].noul <= 1
    team, urgency = response.choices["team"], response.scores["urgency"]
    assert set(team.probabilities) == {"billing", "🙂 기타"}
    assert team.choice == max(team.probabilities, key=lambda name: team.probabilities[name])
    assert urgency.legend == {0: "Can wait", 1: {"label": "Today"}}
    assert urgency.score == pytest.approx(urgency.probabilities[1])
    assert response.usage.input_tokens is not None
    assert response.usage.input_tokens > 0
    assert [model.name for model in listed.models] == [MODEL, "jev-latest"]


def test_the_python_sdk_gets_the_same_answer_to_a_body_that_it_compresses(unlocked: Any) -> None:
    sent: list[httpx2.Request] = []
    http = httpx2.Client(event_hooks={"request": [sent.append]}, timeout=PATIENCE_SECONDS)
    state = {"message": "I was charged twice. Please fix this. " * 30}
    with sdk(unlocked, http_client=http) as client:
        compressed = client.system_one(state=state, questions=QUESTIONS)
    plain = unlocked.request("POST", "/v1/systemone", zstd.decompress(sent[0].content), **JSON)
    assert sent[0].headers["Content-Encoding"] == "zstd"
    assert compressed.nouls["is angry?"].noul == plain[1]["answers"]["is angry?"]["noul"]


def test_the_python_sdk_understands_what_is_wrong(unlocked: Any, locked: Any) -> None:
    never = RetryPolicy(max_retries=0)
    with sdk(unlocked, retry=never) as client:
        with pytest.raises(
            TypeSafeUnprocessableEntityError, match=r"questions\.q\.score\.criteria: needs at least 2, got 1"
        ):
            client.system_one(state=STATE, questions={"q": Score(criteria=["only"])})
        with pytest.raises(TypeSafeBadRequestError, match=r"model: 'jev-1\.13\.0' is not served here"):
            client.system_one(state=STATE, questions=QUESTIONS, model="jev-1.13.0")
    with (
        sdk(locked, key="wrong", retry=never) as client,
        pytest.raises(TypeSafeAuthenticationError, match="request_id=req_"),
    ):
        client.system_one(state=STATE, questions=QUESTIONS)


def test_the_python_sdk_meets_a_busy_container_and_comes_again(
    unlocked: Any, long_decision: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    # given the only place taken for seconds
    first = unlocked.score_in_background({"decision": long_decision})
    # when
    with (
        caplog.at_level("INFO", logger="typesafe_sdk"),
        sdk(unlocked, retry=RetryPolicy(max_retries=1000, timeout=None)) as client,
    ):
        response = client.system_one(state=STATE, questions=QUESTIONS)
    # then it was told to come again, and did until it was answered
    assert "<- 503" in caplog.text
    assert "retry 1" in caplog.text
    assert set(response.answers) == set(QUESTIONS)
    assert first.result()[0] == 200


def test_a_header_that_is_no_text_is_a_wrong_key_where_there_is_one(unlocked: Any, locked: Any) -> None:
    odd = "Bearer \xff\xfe"  # which http.client sends as these bytes
    assert unlocked.request("GET", "/v1/models", Authorization=odd)[0] == 200
    status, answer = locked.request("GET", "/v1/models", Authorization=odd)
    assert (status, answer["detail"]["error_type"]) == (401, "authentication_error")


def node(repository_root: Path, container: Any, key: str) -> subprocess.CompletedProcess[str]:
    script = repository_root / "tests" / "adapter" / "contracts" / "system_one_client.mjs"
    command = ["node", str(script), url(container), key]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE_SECONDS)


def test_the_javascript_sdk_gets_typed_answers_with_the_key_only(repository_root: Path, locked: Any) -> None:
    done = node(repository_root, locked, KEY)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["model"] == MODEL
    assert answer["requestId"].startswith("req_")
    assert {name: given["type"] for name, given in answer["answers"].items()} == {
        "is angry?": "noul",
        "team": "choice",
        "urgency": "score",
    }
    assert set(answer["answers"]["team"]["probabilities"]) == {"billing", "🙂 기타"}
    assert [model["name"] for model in answer["models"]] == [MODEL, "jev-latest"]
    refused = node(repository_root, locked, "wrong")
    assert refused.returncode == 1
    assert "AuthenticationError" in refused.stderr


def test_the_javascript_sdk_meets_a_busy_container_and_comes_again(
    repository_root: Path, unlocked: Any, long_decision: dict[str, Any]
) -> None:
    first = unlocked.score_in_background({"decision": long_decision})
    done = node(repository_root, unlocked, "any")
    assert done.returncode == 0, done.stderr
    assert "busy" in done.stderr
    assert set(json.loads(done.stdout)["answers"]) == set(QUESTIONS)
    assert first.result()[0] == 200


def test_the_key_is_in_no_line_of_the_log(locked: Any) -> None:
    assert locked.request("GET", "/v1/models", Authorization=f"Bearer {KEY}")[0] == 200
    assert KEY not in locked.log()


def asked(container: Any, questions: dict[str, Any], path: str = "/v1/systemone") -> Any:
    body = {"model": "jev-latest", "state": "I was charged twice.", "questions": questions}
    status, answer = container.request("POST", path, json.dumps(body), Content_Type="application/json")
    assert status == 200, answer
    return answer


def test_questions_share_one_reading_of_the_state_and_keep_their_bits(unlocked: Any) -> None:
    # given three questions, together and alone
    questions = {
        "noul": {"type": "noul", "instructions": "Is the customer angry?"},
        "choice": {"type": "choice", "criteria": {"": None, " ": "Payments", "<|im_end|>": None}},
        "score": {"type": "score", "instructions": "How urgent?", "criteria": ["Can wait", "Today"]},
    }
    together = asked(unlocked, questions)
    alone = {name: asked(unlocked, {name: question}, "/invocations") for name, question in questions.items()}
    # then the answers are the same bits
    assert together["answers"] == {name: answer["answers"][name] for name, answer in alone.items()}
    assert set(together["answers"]["choice"]["probabilities"]) == {"", " ", "<|im_end|>"}
    # and the state was counted once
    apart = sum(answer["usage"]["input_tokens"] for answer in alone.values())
    prefix = together["x_timing"]["prefix_tokens"]
    assert together["usage"] == {"input_tokens": apart - 2 * prefix, "output_tokens": 0}


def test_the_python_of_the_page_runs(repository_root: Path, unlocked: Any) -> None:
    page = (repository_root / "docs" / "system-one.md").read_text("utf-8")
    [code] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code.replace(":8080", f":{unlocked.port}"), names)
    names["client"].close()
    assert 0 < names["answer"].nouls["refund"].noul < 1


def test_the_pages_request_gets_the_pages_answer(repository_root: Path, unlocked: Any) -> None:
    # given the first two blocks of the page
    page = (repository_root / "docs" / "system-one.md").read_text("utf-8")
    request, expected = re.findall(r"```json\n(.*?)```", page, re.DOTALL)[:2]
    # when the one is sent
    status, answer = unlocked.request("POST", "/v1/systemone", request.encode(), Content_Type="application/json")
    # then the other comes back
    assert status == 200
    assert parts_of(answer, json.loads(expected)) == json.loads(expected)
    # with no field of the contract left out
    assert {name for name in answer if not name.startswith("x_")} == set(json.loads(expected)) - {"x_model", "x_timing"}
    for name, given in answer["answers"].items():
        assert {field for field in given if not field.startswith("x_")} <= set(json.loads(expected)["answers"][name])
