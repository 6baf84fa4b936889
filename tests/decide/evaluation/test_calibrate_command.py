"""`decide calibrate`, from rows of the real adapter to the real adapter with the file it wrote."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from decide.evaluation.saved_run import load
from decision_client import Decision, DecisionClient, Option
from tests.decide.command import decide
from tests.decide.evaluation.endpoint import endpoint, softmax
from tests.decide.evaluation.rows import OPTIONS, line, write
from tests.tiny_models import write_tiny_model

TEMPERATURE = 3.0
ROWS = 400


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calibrated")
    write_tiny_model(folder / "tiny.gguf", "attention")
    return folder


def test_a_known_temperature_comes_back_and_the_adapter_answers_as_predicted(
    start_container: Callable[..., Any], model_dir: Path, tmp_path: Path
) -> None:
    # given the adapter's own logits, and labels drawn with their probabilities at a known temperature
    container = start_container(model_dir).wait_until_ready()
    url = f"http://127.0.0.1:{container.port}"
    random_labels = np.random.default_rng(7)
    words = random.Random(7)
    decisions = []
    with DecisionClient.from_url(url) as client:
        for number in range(ROWS):
            state = " ".join(words.choices(("mail", "invoice", "never", "twice", "seats", "error"), k=4)) + f" {number}"
            options = tuple(Option(one["id"], one["description"]) for one in OPTIONS)
            decisions.append(Decision(id=f"d-{number}", state=state, question="Which queue?", options=options))
        results = client.decide_many(decisions)
    lines = []
    for decision, result in zip(decisions, results, strict=True):
        likely = softmax([logit / TEMPERATURE for logit in result.option_logits])
        lines.append({**decision.wire(), "label": str(random_labels.choice(result.option_ids, p=likely))})
    labelled = write(tmp_path / "labelled.jsonl", lines)
    # when
    told = decide("calibrate", str(labelled), "--url", url, "--save", "a.run.jsonl", "--json", cwd=tmp_path)
    # then
    assert told.status == 0, told.err
    fitted = told.json["calibration"]
    assert fitted["temperature"] == pytest.approx(TEMPERATURE, rel=0.25)
    assert told.json["after_out_of_fold"]["log_loss"] < told.json["before"]["log_loss"]
    assert fitted == json.loads((tmp_path / "calibration.json").read_text("utf-8"))
    assert fitted["fitted_on"]["decisions"] == ROWS
    # when an adapter starts with the file in its model folder
    (model_dir / "calibration.json").write_bytes((tmp_path / "calibration.json").read_bytes())
    calibrated = start_container(model_dir).wait_until_ready()
    with DecisionClient.from_url(f"http://127.0.0.1:{calibrated.port}") as client:
        again = client.decide_many(decisions[:20])
    # then
    for row, result in zip(load(tmp_path / "a.run.jsonl").rows, again, strict=False):
        assert row.answer is not None
        predicted = softmax([logit / fitted["temperature"] for logit in row.answer.option_logits])
        assert result.probabilities == pytest.approx(predicted, abs=1e-12)
        assert result.option_logits == row.answer.option_logits
        assert result.model.calibration == fitted["id"]
    # and fitting on the answers of the calibrated endpoint has nothing to add
    url = f"http://127.0.0.1:{calibrated.port}"
    refused = decide("calibrate", str(labelled), "--url", url, "--output", "again.json", cwd=tmp_path)
    assert refused.status == 1
    assert f"the endpoint already divides by {fitted['id']}" in refused.err
    assert "no temperature helps by more than the noise" in refused.err
    assert not (tmp_path / "again.json").exists()


def answers(decision: dict[str, Any]) -> list[float]:
    """Logits far too sure, right three times of four."""
    number = int(decision["id"].removeprefix("d-"))
    return [6.0 if place == number % 3 else 0.0 for place in range(len(decision["options"]))]


def overconfident(count: int) -> list[dict[str, Any]]:
    labels = [OPTIONS[(number % 3 + (number % 4 == 0)) % 3]["id"] for number in range(count)]
    return [line(number, label) for number, label in enumerate(labels)]


def test_before_and_after_are_shown(tmp_path: Path) -> None:
    labelled = write(tmp_path / "labelled.jsonl", overconfident(120))
    with endpoint(answers) as here:
        told = decide(
            "calibrate", str(labelled), "--url", here.url, "--id", "support-1", "-o", "new/c.json", cwd=tmp_path
        )
    assert told.status == 0, told.err
    for said in ("as served", "calibrated, out-of-fold", "log loss", "Brier", "ECE", "one temperature: log loss"):
        assert said in told.out
    assert "support-1 is in new/c.json" in told.err
    assert json.loads((tmp_path / "new" / "c.json").read_text("utf-8"))["id"] == "support-1"


def test_too_few_rows_and_a_bad_id_are_refused(tmp_path: Path) -> None:
    labelled = write(tmp_path / "labelled.jsonl", overconfident(10))
    with endpoint(answers) as here:
        told = decide("calibrate", str(labelled), "--url", here.url, cwd=tmp_path)
        assert decide("calibrate", str(labelled), "--url", here.url, "--id", " ", cwd=tmp_path).status == 2
    assert told.status == 1
    assert "10 rows with an answer, at least 50 are needed" in told.err
    assert not (tmp_path / "calibration.json").exists()


def test_what_was_asked_is_not_overwritten_by_what_is_made_of_it(tmp_path: Path) -> None:
    labelled = write(tmp_path / "labelled.jsonl", overconfident(10))
    content = labelled.read_bytes()
    for command in (("calibrate", "--output"), ("evaluate", "--report")):
        told = decide(
            command[0], str(labelled), command[1], "./labelled.jsonl", "--url", "http://127.0.0.1:9", cwd=tmp_path
        )
        assert told.status == 2
        assert "would be lost" in told.err
    assert labelled.read_bytes() == content
