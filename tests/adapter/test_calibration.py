"""Where a calibration comes from, what it may hold, and which of its temperatures a decision gets."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from decision_adapter import calibration
from decision_adapter.calibration import Calibration
from decision_adapter.decider_config import DeciderConfig
from decision_adapter.errors import CalibrationError


def write(path: Path, **content: Any) -> Path:
    path.write_text(json.dumps(content))
    return path


def test_the_types_temperature_comes_first_then_the_counts_then_the_overall_one() -> None:
    fitted = Calibration(id="c", temperature=2.0, by_option_count={2: 1.5}, by_type={"noul": 3.0})
    assert fitted.of("noul", 2) == 3.0
    assert fitted.of("choice", 2) == 1.5
    assert fitted.of("choice", 3) == 2.0


def test_without_a_file_there_is_none(tmp_path: Path) -> None:
    assert calibration.find(tmp_path, None) is None


def test_the_archives_own_is_found(tmp_path: Path) -> None:
    write(
        tmp_path / "calibration.json",
        **{"id": "support-2026-11", "temperature": 2, "by_option_count": {"2": 1.5}, "by_type": {"score": 0.5}},
        fitted_on={"decisions": 1200},
    )
    found = calibration.find(tmp_path, None)
    assert found is not None
    assert (found.id, found.temperature, found.by_option_count, found.by_type) == (
        *("support-2026-11", 2.0, {2: 1.5}, {"score": 0.5}),
    )


def test_the_settings_own_comes_before_the_archives(tmp_path: Path) -> None:
    write(tmp_path / "calibration.json", id="archive", temperature=1)
    other = write(tmp_path / "other.json", id="other", temperature=1)
    found = calibration.find(tmp_path, other)
    assert found is not None
    assert found.id == "other"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"id": "c"}', "temperature: Field required$"),
        ('{"temperature": 1}', "id: Field required$"),
        ('{"id": " ", "temperature": 1}', "id: String should have at least 1 character"),
        ('{"id": "c", "temperature": 0}', "temperature: Input should be greater than 0, got 0$"),
        ('{"id": "c", "temperature": "1"}', 'temperature: Input should be a valid number, got "1"$'),
        ('{"id": "c", "temperature": true}', "temperature: Input should be a valid number, got true$"),
        ('{"id": "c", "temperature": NaN}', "temperature: Input should be a finite number, got NaN$"),
        ('{"id": "c", "temperature": 1, "by_type": {"bool": 1}}', "'choice', 'noul' or 'score', got \"bool\"$"),
        ('{"id": "c", "temperature": 1, "by_option_count": {"1": 1}}', "by_option_count.1.*greater than or equal to 2"),
        ('{"id": "c", "temperature": 1, "by_option_count": {"256": 1}}', "less than or equal to 255"),
        ('{"id": "c", "temperature": 1, "by_options": {}}', "by_options: Extra inputs are not permitted"),
        ("[]", "the file: Input should be an object"),
        ("{", "the file: Invalid JSON"),
    ],
)
def test_what_breaks_the_schema_is_refused_with_file_and_field(tmp_path: Path, content: str, reason: str) -> None:
    (tmp_path / "calibration.json").write_text(content)
    with pytest.raises(CalibrationError, match=rf"calibration\.json is not a calibration: .*{reason}"):
        calibration.find(tmp_path, None)


def test_a_folder_is_no_calibration(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match="cannot be read"):
        calibration.find(tmp_path, tmp_path)


def test_a_deciders_temperatures_by_type_are_a_calibration() -> None:
    found = calibration.of_decider(DeciderConfig(temperature=1.3, temperature_by_type={"noul": 2.2}))
    assert found is not None
    assert (found.of("choice", 2), found.of("noul", 2)) == (1.3, 2.2)
    assert found.id.startswith("decider_config.json:")


def test_a_deciders_line_gives_a_temperature_for_each_number_of_options() -> None:
    # given T(n) = max(0.5, 3 - ln n)
    config = DeciderConfig.model_validate({"temperature_by_options": {"a": 3, "b": -1, "min": 0.5}})
    found = calibration.of_decider(config)
    # then
    assert found is not None
    assert found.of("choice", 2) == pytest.approx(3 - math.log(2))
    assert found.of("noul", 2) == pytest.approx(3 - math.log(2))
    assert found.of("choice", 255) == 0.5


def test_a_decider_without_temperatures_is_uncalibrated() -> None:
    assert calibration.of_decider(DeciderConfig(layout="chat")) is None


def test_other_temperatures_have_another_id() -> None:
    ids = {found.id for value in (1.2, 1.3) if (found := calibration.of_decider(DeciderConfig(temperature=value)))}
    assert len(ids) == 2
