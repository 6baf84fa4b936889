"""The adapter as SageMaker meets it: a process with a real model, asked over a socket."""

import json
import math
import os
import signal
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest

from decision_adapter.settings import Settings
from tests.adapter.expectations import parts_of

REQUESTS = Path(__file__).parents[1] / "requests"
OPTIONS = [{"id": "yes", "description": "Yes."}, {"id": "no", "description": "No."}]


def corpus(kind: str) -> list[Any]:
    return [pytest.param(path, id=path.stem) for path in sorted((REQUESTS / kind).glob("*.json"))]


@pytest.mark.parametrize("path", corpus("valid"))
def test_valid_requests_are_answered(container: Any, path: Path) -> None:
    case = json.loads(path.read_text("utf-8"))
    status, answer = container.score(case["request"])
    assert status == 200, answer
    assert parts_of(answer, case["answer"]) == case["answer"]


@pytest.mark.parametrize("path", corpus("invalid"))
def test_invalid_requests_are_refused_with_the_field_named(container: Any, path: Path) -> None:
    # given a request as JSON, or as text when it is no JSON; unpaired surrogates stand escaped in both
    case = json.loads(path.read_text("utf-8"))
    body = case["text"].encode() if "text" in case else json.dumps(case["request"])
    # when
    status, answer = container.request("POST", "/invocations", body, Content_Type="application/json")
    # then
    assert (status, answer) == (case["status"], {"error": case["error"]})


def test_a_result_has_every_field_of_the_contract(container: Any) -> None:
    _, answer = container.score({"decision": {"id": "d", "state": "s", "question": "q", "options": OPTIONS}})
    assert set(answer) == {"result"}
    result = answer["result"]
    assert set(result) == {
        *("id", "option_ids", "probabilities", "option_logits", "answer_token_ids", "input_tokens"),
        *("allowed_token_mass", "full_vocab_argmax_id", "prompt_sha256", "prompt_version", "forward_seconds"),
        *("total_seconds", "model", "readout", "probability_status", "temperature", "full_vocab_argmax_is_option"),
    }
    assert sum(result["probabilities"]) == pytest.approx(1)
    assert 0 < result["allowed_token_mass"] <= 1
    model = result["model"]
    assert model["gguf"]["repo"] == "example/smollm2"
    assert model["gguf"]["sha256"] == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    assert model["tokenizer"] == {"repo": "example/tokenizer", "revision": "1" * 40}
    assert (model["backends"], model["gpu_layers"], model["threads"]) == (["CPU"], 0, 1)
    assert (model["prompt_profile"], model["calibration"]) == ("direct-options-v1", None)
    assert result["probability_status"] == "uncalibrated: softmax over the declared options only"


def test_the_labels_that_an_answer_names_by_hash_are_listed(container: Any) -> None:
    # given answers in both layouts
    many = [{"id": f"o{index}", "description": f"x{index}"} for index in range(17)]
    asked = [{"id": "d", "state": "s", "question": "q", "options": options} for options in (OPTIONS, many)]
    answers = [container.score({"decision": decision})[1]["result"] for decision in asked]
    # when
    status, metadata = container.request("GET", "/metadata")
    # then
    assert status == 200
    for answer, layout in zip(answers, metadata["profiles"], strict=True):
        assert layout["prompt_profile"] == answer["prompt_version"] == answer["model"]["prompt_profile"]
        assert layout["labels_sha256"] == answer["model"]["labels_sha256"]
        assert answer["answer_token_ids"] == layout["label_token_ids"][: len(answer["option_ids"])]
    assert [layout["max_options"] for layout in metadata["profiles"]] == [16, 255]


def test_a_calibrated_container_says_so_and_keeps_the_logits(
    container: Any, start_container: Callable[..., Any], model_dir: Path, tmp_path: Path
) -> None:
    # given
    fitted = tmp_path / "fitted.json"
    fitted.write_text(json.dumps({"id": "fitted-1", "temperature": 4.0}))
    calibrated = start_container(model_dir, SEMIF_CALIBRATION_PATH=str(fitted)).wait_until_ready()
    body = {"decision": {"id": "d", "state": "s", "question": "q", "options": OPTIONS}}
    # when
    plain, flat = (asked.score(body)[1]["result"] for asked in (container, calibrated))
    calibrated.stop()
    # then
    assert flat["option_logits"] == plain["option_logits"]
    assert flat["model"]["calibration"] == "fitted-1"
    assert flat["probability_status"].startswith("calibrated by fitted-1")
    first, second = plain["option_logits"]
    assert flat["probabilities"][0] == pytest.approx(1 / (1 + math.exp((second - first) / 4)))


def test_shared_decisions_have_the_bits_of_single_ones(container: Any) -> None:
    # given three questions over one state
    state = {"customer": "Zoë", "messages": ["It never arrived.", "I want my money back."]}
    questions = ["Is the customer angry?", "Does the customer want a refund?", "Is <|im_end|> in it?"]
    decisions = [
        {"id": str(index), "state": state, "question": question, "options": OPTIONS}
        for index, question in enumerate(questions)
    ]
    # when they are asked together and one by one
    _, together = container.score({"decisions": decisions})
    alone = [container.score({"decision": decision})[1]["result"] for decision in decisions]
    # then every number that the model gave is the same
    fields = ("option_logits", "probabilities", "allowed_token_mass", "full_vocab_argmax_id", "input_tokens")
    for shared, single in zip(together["results"], alone, strict=True):
        assert [shared[field] for field in fields] == [single[field] for field in fields]
    timing = together["timing"]
    assert set(timing) == {
        *("batch_size", "prefix_tokens", "encode_seconds", "prefill_seconds", "suffix_forward_seconds"),
        "total_seconds",
    }
    assert timing["batch_size"] == 3


def test_a_control_token_in_a_state_is_text(container: Any) -> None:
    # given the same state with a control token spelled out, and with as many plain characters
    def tokens(state: str) -> int:
        _, answer = container.score({"decision": {"id": "d", "state": state, "question": "q", "options": OPTIONS}})
        return int(answer["result"]["input_tokens"])

    # then it takes several tokens, as text does, and not the one that ends a message
    assert tokens("a <|im_end|> b") >= tokens("a b") + 5


@pytest.mark.parametrize("chunked", [True, False])
def test_a_body_over_the_limit_is_refused_however_it_is_sent(container: Any, chunked: bool) -> None:
    piece = b" " * 1000
    body = iter([piece] * 30) if chunked else piece * 30
    status, answer = container.request("POST", "/invocations", body, Content_Type="application/json")
    assert status == 413
    assert "at most 20000 (SEMIF_MAX_BODY_BYTES)" in answer["error"]


def test_a_body_in_chunks_is_read(container: Any) -> None:
    body = json.dumps({"decision": {"id": "d", "state": "s", "question": "q", "options": OPTIONS}}).encode()
    pieces = iter([body[:10], body[10:50], body[50:]])
    assert container.request("POST", "/invocations", pieces, Content_Type="application/json")[0] == 200


def test_of_two_at_once_one_is_scored_and_one_told_to_retry_while_ping_answers(
    container: Any, long_decision: dict[str, Any]
) -> None:
    with ThreadPoolExecutor(2) as pool:
        # when two long decisions come at once
        both = [pool.submit(container.score, {"decision": long_decision}) for _ in range(2)]
        # then health checks are answered in time, as long as it takes
        slowest = 0.0
        while not all(future.done() for future in both):
            started = time.monotonic()
            assert container.request("GET", "/ping")[0] == 200
            slowest = max(slowest, time.monotonic() - started)
            wait(both, timeout=0.1)
    assert slowest < 2
    # and one of the two is scored
    answers = sorted((future.result() for future in both), key=lambda answer: answer[0])
    assert [status for status, _ in answers] == [200, 503]
    assert answers[1][1]["retryable"] is True


def test_sigterm_lets_the_running_decision_finish(
    start_container: Callable[..., Any], model_dir: Path, long_decision: dict[str, Any]
) -> None:
    # given a container that is scoring
    container = start_container(model_dir).wait_until_ready()
    answer = container.score_in_background({"decision": long_decision})
    # when it is told to stop
    status = container.stop()
    # then the caller still gets the answer, and the container ends well
    assert answer.result(timeout=0)[0] == 200
    assert status == 0


def test_sigterm_ends_a_container_that_still_loads_without_waiting_for_that(
    start_container: Callable[..., Any], tmp_path: Path
) -> None:
    # given a model file whose end never comes
    gguf = tmp_path / "model.gguf"
    os.mkfifo(gguf)
    container = start_container(tmp_path, SEMIF_GGUF_PATH=str(gguf)).wait_until_loading()
    # when it is told to stop
    status = container.stop()
    # then it ends by itself
    assert status == 0
    assert "SIGKILL" not in container.log()


def test_a_client_that_says_nothing_does_not_hold_up_the_end(
    start_container: Callable[..., Any], model_dir: Path
) -> None:
    container = start_container(model_dir).wait_until_ready()
    with socket.create_connection(("127.0.0.1", container.port)):
        assert container.request("GET", "/ping")[0] == 200  # connections are accepted in order
        container.process.send_signal(signal.SIGTERM)
        assert container.process.wait(timeout=15) == 0
    assert "SIGKILL" not in container.log()


def test_the_containers_lines_are_json(container: Any) -> None:
    container.score({"decision": {}})
    lines = [json.loads(line) for line in container.log().splitlines()]
    assert {"model loaded", "ready", "request"} <= {line["message"] for line in lines}


def reason_to_end(container: Any) -> str:
    """The sentence a container ends with; its exit code says that starting again would not help."""
    assert container.process.wait(timeout=30) == 3
    lines = [json.loads(line) for line in container.log().splitlines()]
    [sentence] = [line["message"] for line in lines if line["level"] == "critical"]
    assert "Traceback" not in container.log()
    return str(sentence)


def test_a_second_gguf_ends_the_container(start_container: Callable[..., Any], tmp_path: Path) -> None:
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).touch()
    sentence = f"cannot start: {tmp_path} holds 2 GGUF files, exactly one is needed: a.gguf, b.gguf"
    assert reason_to_end(start_container(tmp_path)) == sentence


def test_a_missing_gguf_ends_the_container(start_container: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "model.bin").touch()
    sentence = f"cannot start: {tmp_path} holds no GGUF file at its root or one folder down; it holds model.bin"
    assert reason_to_end(start_container(tmp_path)) == sentence


def test_a_gguf_that_is_not_the_manifests_ends_the_container(
    start_container: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "m.gguf").write_bytes(b"other")
    gguf = {"file": "m.gguf", "sha256": "0" * 64, "bytes": 5}
    (tmp_path / "model-manifest.json").write_text(json.dumps({"gguf": gguf}))
    assert "is not the file of model-manifest.json: sha256 is " in reason_to_end(start_container(tmp_path))


def test_wrong_settings_end_the_container_all_named(start_container: Callable[..., Any], tmp_path: Path) -> None:
    sentence = reason_to_end(start_container(tmp_path, SEMIF_THREADS="0", SEMIF_MAX_TOKENS="x"))
    assert sentence.startswith("cannot start: 2 settings are wrong: SEMIF_THREADS is '0'")
    assert "SEMIF_MAX_TOKENS is 'x'" in sentence


def test_a_calibration_that_is_none_ends_the_container(start_container: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "calibration.json").write_text('{"id": "c", "temperature": -1}')
    assert reason_to_end(start_container(tmp_path)) == (
        f"cannot start: {tmp_path}/calibration.json is not a calibration: temperature: Input should be greater than 0, "
        "got -1"
    )


def test_gpu_layers_without_a_gpu_end_the_container(start_container: Callable[..., Any], model_dir: Path) -> None:
    sentence = reason_to_end(start_container(model_dir, SEMIF_N_GPU_LAYERS="-1"))
    assert sentence.startswith("cannot start: SEMIF_N_GPU_LAYERS is -1, but llama.cpp finds no GPU")


def test_a_worker_that_dies_ends_the_container(start_container: Callable[..., Any], model_dir: Path) -> None:
    # given a container whose worker is killed, as the kernel does when memory runs out
    container = start_container(model_dir).wait_until_ready()
    main = container.process.pid
    [worker] = Path(f"/proc/{main}/task/{main}/children").read_text().split()
    os.kill(int(worker), signal.SIGKILL)
    # then no other takes its place
    assert container.process.wait(timeout=30) == 1


def test_gunicorn_loads_the_model_in_one_worker_and_drains_within_the_platforms_limit(
    repository_root: Path,
) -> None:
    configuration: dict[str, Any] = {"__file__": str(repository_root / "adapter" / "gunicorn.conf.py")}
    exec(Path(configuration["__file__"]).read_text(), configuration)
    assert configuration["workers"] == 1
    assert configuration["preload_app"] is False
    assert configuration["graceful_timeout"] < 30
    assert configuration["threads"] > Settings.from_environment(os.environ).max_in_flight + 1


@pytest.mark.parametrize(("host", "bind"), [("127.0.0.1", "127.0.0.1:8080"), ("::1", "[::1]:8080")])
def test_it_listens_on_an_address_of_either_kind(
    repository_root: Path, monkeypatch: pytest.MonkeyPatch, host: str, bind: str
) -> None:
    monkeypatch.setenv("SEMIF_HOST", host)
    configuration: dict[str, Any] = {"__file__": str(repository_root / "adapter" / "gunicorn.conf.py")}
    exec(Path(configuration["__file__"]).read_text(), configuration)
    assert configuration["bind"] == bind


@pytest.mark.parametrize(
    "sent",
    [
        b"Content-Length: 500\r\n\r\n{",  # ends early
        b"Transfer-Encoding: chunked\r\n\r\nnot a size\r\n",
    ],
)
def test_a_body_that_cannot_be_read_is_the_senders_fault(container: Any, sent: bytes) -> None:
    head = b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", container.port), timeout=10) as connection:
        connection.sendall(head + sent)
        connection.shutdown(socket.SHUT_WR)
        answer = connection.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 400 ")
