"""A calibration that an environment names: refused before anything is deployed where the adapter would refuse it."""

import json
from pathlib import Path
from typing import Any

import pytest

from decision_adapter import calibration as adapter_calibration
from decision_adapter.errors import CalibrationError
from decision_constructs import calibration_file

GOOD: dict[str, Any] = {"id": "c", "temperature": 1.8, "by_type": {"noul": 2}, "by_option_count": {"2": 1.5}}


def adapter_takes(folder: Path) -> bool:
    try:
        return adapter_calibration.find(folder, None) is not None
    except CalibrationError:
        return False


def ours_takes(folder: Path) -> bool:
    try:
        calibration_file.text("calibration.json", folder)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        GOOD | {"fitted_on": {"decisions": 1}},
        GOOD | {"id": " "},
        GOOD | {"id": "x" * 201},
        GOOD | {"temperature": 0},
        GOOD | {"temperature": "1"},
        GOOD | {"temperature": True},
        GOOD | {"by_type": {"bool": 1.0}},
        GOOD | {"by_option_count": {"1": 1.0}},
        GOOD | {"by_option_count": {"x": 1.0}},
        GOOD | {"temprature": 1.0},
        {"id": "c"},
        [],
    ],
)
def test_it_is_taken_where_the_adapter_takes_it(tmp_path: Path, content: Any) -> None:
    (tmp_path / "calibration.json").write_text(json.dumps(content))
    assert ours_takes(tmp_path) == adapter_takes(tmp_path)


def test_it_travels_as_one_line(tmp_path: Path) -> None:
    (tmp_path / "calibration.json").write_text(json.dumps(GOOD, indent=2) + "\n")
    line = calibration_file.text("calibration.json", tmp_path)
    assert "\n" not in line
    assert json.loads(line) == GOOD


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: No such file or directory; the path counts from the project's top folder"),
        ("{", "is not a calibration: the file: Invalid JSON"),
        (json.dumps(GOOD | {"temperature": -1}), "is not a calibration: temperature: Input should be greater than 0"),
        (json.dumps(GOOD | {"fitted_on": "x" * 3000}), "at most 3000; shorten fitted_on"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / "calibration.json").write_text(content)
    with pytest.raises(ValueError, match=said):
        calibration_file.text("calibration.json", tmp_path)
