"""Temperatures: known ones are found again, those that do not help are refused, and the endpoint reads the file."""

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from decide.evaluation import calibration, calibration_file
from decide.evaluation.calibration import LEAST_ROWS, Temperatures, calibrate, deal
from decide.evaluation.errors import CalibrationError
from decide.evaluation.evidence import DIRECT, THROUGH_PREAMBLES, Evidence
from decide.evaluation.row import Row
from decide.evaluation.saved_run import SavedRun
from decide.evaluation.temperature import Logits, at_an_end, fit
from decision_adapter import calibration as adapter_calibration
from tests.decide.evaluation.endpoint import softmax
from tests.decide.evaluation.rows import header, logit_row, row


def drawn(count: int, temperature: float, *, options: int = 3, seed: int = 1, **fields: object) -> list[Row]:
    """Rows whose labels are drawn with the probabilities that their logits have at ``temperature``."""
    random = np.random.default_rng([seed, count, options])
    rows = []
    for number in range(count):
        logits = tuple(random.normal(0, 4, options).tolist())
        place = int(random.choice(options, p=softmax([logit / temperature for logit in logits])))
        identity = {"id": f"{seed}-{number}", "group": f"{seed}-{number}"}
        rows.append(logit_row(number, logits, place, **{**identity, **fields}))
    return rows


def run(rows: list[Row]) -> SavedRun:
    return SavedRun(header=header(), model=None, rows=tuple(rows), size_bytes=0)


def test_the_least_log_loss_by_hand() -> None:
    # given logits (1, 0), three labels of four at the first: p = 3/4 is 1/(1 + e^(-1/T)), so T = 1 / ln 3
    logits = Logits.of([(1.0, 0.0)] * 4, [0, 0, 0, 1])
    assert fit(logits) == pytest.approx(1 / math.log(3), rel=1e-5)
    # then the loss is the entropy of 3/4
    loss = float(logits.losses(1 / math.log(3)).mean())
    assert loss == pytest.approx(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)))


def test_decisions_with_fewer_options_are_not_disturbed_by_those_with_more() -> None:
    both = Logits.of([(2.0, 1.0), (3.0, 2.0, 1.0, -5.0)], [0, 2])
    assert both.losses(2.0) == pytest.approx(
        [-math.log(softmax([1.0, 0.5])[0]), -math.log(softmax([1.5, 1.0, 0.5, -2.5])[2])]
    )
    assert both.probabilities(2.0)[0] == pytest.approx([*softmax([1.0, 0.5]), 0, 0])


@pytest.mark.parametrize("places", [[0, 0], [1, 1]])
def test_labels_that_are_all_right_or_all_wrong_have_no_temperature(places: list[int]) -> None:
    assert at_an_end(fit(Logits.of([(3.0, 1.0), (2.0, 1.0)], places)))


def test_a_known_temperature_is_found_again() -> None:
    fitted = calibrate(Evidence.of(drawn(3000, 2.5)))
    assert fitted.temperatures.overall == pytest.approx(2.5, rel=0.08)
    assert fitted.way == "one temperature"
    assert fitted.after.log_loss < fitted.before.log_loss
    assert fitted.gain.low > 0
    assert fitted.after.ece < 0.03 < fitted.before.ece


def test_what_the_endpoint_divides_by_is_undone() -> None:
    # given the same rows, as an endpoint answers them that divides by 0.5
    plain = drawn(1000, 2.5)
    divided = [
        logit_row(0, one.answer.option_logits, one.place, 0.5, id=one.id, group=one.group)
        for one in plain
        if one.answer
    ]
    # then the same temperatures are fitted, and they have to do better than what is served
    first, second = calibrate(Evidence.of(plain)), calibrate(Evidence.of(divided))
    assert first.temperatures == second.temperatures
    assert second.before.log_loss > first.before.log_loss
    assert first.after == second.after


def test_types_that_differ_get_temperatures_of_their_own() -> None:
    rows = drawn(800, 4.0) + drawn(800, 1.2, options=2, seed=2, type="noul") + drawn(20, 1.2, seed=3, type="score")
    fitted = calibrate(Evidence.of(rows))
    assert fitted.way == "a temperature for each type"
    assert set(fitted.temperatures.by_type) == {"choice", "noul"}  # 20 scores are too few
    assert fitted.temperatures.by_type["choice"] == pytest.approx(4.0, rel=0.15)
    assert fitted.temperatures.by_type["noul"] == pytest.approx(1.2, rel=0.15)


def test_numbers_of_options_that_differ_get_temperatures_of_their_own_which_reach_choices_alone() -> None:
    rows = drawn(1500, 5.0, options=2) + drawn(1500, 1.0, options=6, seed=2) + drawn(20, 9.0, options=4, seed=3)
    fitted = calibrate(Evidence.of(rows))
    assert fitted.way == "choices by their number of options"
    assert set(fitted.temperatures.by_option_count) == {2, 6}
    assert fitted.temperatures.by_option_count[2] == pytest.approx(5.0, rel=0.2)
    assert fitted.temperatures.by_option_count[6] == pytest.approx(1.0, rel=0.2)
    assert fitted.temperatures.of("noul", 2) == fitted.temperatures.overall
    assert "choice" not in fitted.temperatures.by_type


def test_a_temperature_that_does_not_help_is_refused_with_the_numbers() -> None:
    with pytest.raises(
        CalibrationError, match=r"no temperature helps .* as served \d.* one temperature: \d.* 300 rows"
    ):
        calibrate(Evidence.of(drawn(300, 1.0)))


def test_too_few_rows_and_no_answers_are_refused() -> None:
    with pytest.raises(CalibrationError, match=f"{LEAST_ROWS - 1} rows with an answer, at least {LEAST_ROWS}"):
        calibrate(Evidence.of([*drawn(LEAST_ROWS - 1, 3.0), row(999, None)]))
    few = [one.model_copy(update={"group": f"g{number % 19}"}) for number, one in enumerate(drawn(200, 3.0))]
    with pytest.raises(CalibrationError, match="19 groups, at least 20"):
        calibrate(Evidence.of(few))
    with pytest.raises(CalibrationError, match="no row has an answer"):
        Evidence.of([row(1, None)])


def test_a_model_that_is_always_right_or_worse_than_a_guess_is_refused() -> None:
    right = [logit_row(number, (2.0, 0.0), 0, id=str(number)) for number in range(60)]
    with pytest.raises(CalibrationError, match="right: 60 of 60"):
        calibrate(Evidence.of(right))
    wrong = [logit_row(number, (2.0, 0.0), number % 4 and 1, id=str(number)) for number in range(60)]
    with pytest.raises(CalibrationError, match="right: 15 of 60"):
        calibrate(Evidence.of(wrong))


def test_readouts_whose_probabilities_cannot_be_undone_are_refused() -> None:
    averaged = [logit_row(1, (1.0, 0.0), 0, readout=f"{DIRECT}+order-average")]
    with pytest.raises(CalibrationError, match="order-average, whose probabilities are means"):
        Evidence.of(averaged)
    with pytest.raises(CalibrationError, match="fit each apart"):
        Evidence.of([*averaged, logit_row(2, (1.0, 0.0), 0)])
    tampered = logit_row(1, (1.0, 0.0), 0)
    assert tampered.answer
    other = tampered.answer.model_copy(update={"probabilities": (0.5, 0.5)})
    with pytest.raises(CalibrationError, match="'d-1': its probabilities are not those of its logits"):
        Evidence.of([tampered.model_copy(update={"answer": other})])


def test_through_preambles_the_masses_are_had_back_from_the_probabilities() -> None:
    # given probabilities m^(1/T) / Σ of the masses 0.3 and 0.1 at T = 2, with other next-token logits
    masses = (0.3, 0.1)
    one = logit_row(1, tuple(math.log(mass) for mass in masses), 0, 2.0, readout=THROUGH_PREAMBLES)
    assert one.answer
    one = one.model_copy(update={"answer": one.answer.model_copy(update={"option_logits": (7.0, 7.0)})})
    # then
    assert Evidence.of([one]).logits.probabilities(1.0)[0] == pytest.approx([0.75, 0.25])


def test_folds_are_even_and_keep_groups_together() -> None:
    rows = [one.model_copy(update={"group": f"g{number // 2}"}) for number, one in enumerate(drawn(100, 1.0))]
    rows += drawn(25, 1.0, options=2, seed=2, type="noul")
    evidence = Evidence.of(rows)
    folds = deal(evidence)
    assert folds == deal(evidence)
    assert Counter(folds[:100]) == dict.fromkeys(range(5), 20)
    assert Counter(folds[100:]) == dict.fromkeys(range(5), 5)
    assert folds[0:100:2] == folds[1:100:2]


def test_no_row_is_scored_with_a_temperature_that_it_helped_to_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    # given a way that learns which rows it was given
    def learns(some: Evidence, _: Evidence) -> Temperatures:
        return Temperatures(1.0, by_type=dict.fromkeys(some.groups, 9.0))

    evidence = Evidence.of([one.model_copy(update={"type": one.group}) for one in drawn(50, 1.0)])
    # then what it learned is used for none of them
    folds = deal(evidence)
    assert calibration._held_out(evidence, folds, learns).tolist() == [1.0] * 50


@pytest.mark.parametrize("by_type", [{}, {"noul": 3.0}, {"choice": 2.0, "score": 0.5}])
@pytest.mark.parametrize("by_count", [{}, {2: 1.5, 7: 4.0}])
def test_the_endpoint_reads_the_file_and_chooses_as_we_do(
    tmp_path: Path, by_type: dict[str, float], by_count: dict[int, float]
) -> None:
    # given a fit with these temperatures
    evidence = Evidence.of(drawn(60, 5.0))
    fitted = calibrate(evidence)
    ours = Temperatures(1.8, by_type, by_count)
    object.__setattr__(fitted, "temperatures", ours)
    # when
    content = calibration_file.content(fitted, run(drawn(60, 5.0)), evidence)
    calibration_file.write(tmp_path / "calibration.json", content)
    # then
    theirs = adapter_calibration.find(tmp_path, None)
    assert theirs is not None
    assert theirs.id == content["id"]
    for kind in ("choice", "noul", "score"):
        for count in (2, 3, 7):
            assert theirs.of(kind, count) == ours.of(kind, count)
    assert list(tmp_path.iterdir()) == [tmp_path / "calibration.json"]


def test_the_file_is_the_same_for_the_same_rows_and_says_what_it_was_fitted_on() -> None:
    evidence, saved = Evidence.of(drawn(200, 3.0)), run(drawn(200, 3.0))
    content = calibration_file.content(calibrate(evidence), saved, evidence)
    assert content == calibration_file.content(calibrate(evidence), saved, evidence)
    assert content["id"].startswith("labelled-")
    origin = content["fitted_on"]
    assert (origin["decisions"], origin["labels"]["sha256"], origin["folds"]) == (200, "1a" * 32, 5)
    assert origin["out_of_fold"]["log_loss"]["after"] < origin["out_of_fold"]["log_loss"]["before"]
    assert json.loads(json.dumps(content)) == content
    assert calibration_file.content(calibrate(evidence), saved, evidence, "mine")["id"] == "mine"
