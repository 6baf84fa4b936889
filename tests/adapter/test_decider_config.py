"""What a ``decider_config.json`` says about layout and temperatures."""

from pathlib import Path

import pytest

from decision_adapter import decider_config
from decision_adapter.errors import ArtifactError


def read(folder: Path, content: str) -> decider_config.DeciderConfig:
    (folder / "decider_config.json").write_text(content)
    found = decider_config.read(folder)
    assert found is not None
    return found


def test_without_the_file_there_is_none(tmp_path: Path) -> None:
    assert decider_config.read(tmp_path) is None


@pytest.mark.parametrize(
    ("content", "profile"),
    [
        ("{}", "decider-plain"),
        ('{"layout": "plain", "max_options": 10}', "decider-plain"),
        ('{"layout": "chat"}', "decider-chat"),
        ('{"chat_template": true}', "decider-chat"),
        ('{"chat_template": false}', "decider-plain"),
    ],
)
def test_the_layout_names_the_profile(tmp_path: Path, content: str, profile: str) -> None:
    assert read(tmp_path, content).profile == profile


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"layout": "schema"}', "layout: Input should be 'plain' or 'chat'"),
        ('{"layout": "plain", "chat_template": true}', "layout is plain and chat_template true"),
        ('{"temperature": 0}', "temperature: Input should be greater than 0"),
        ('{"temperature_by_type": {"bool": 1}}', "temperature_by_type.bool"),
        ('{"temperature_by_options": {"a": 1}}', "temperature_by_options.b: Field required"),
        (
            '{"temperature_by_options": {"a": 1, "b": 1}, "temperature_by_type": {"noul": 1}}',
            "temperature_by_type and temperature_by_options; keep one",
        ),
        ("{", "the file: Invalid JSON"),
    ],
)
def test_what_cannot_be_followed_is_refused(tmp_path: Path, content: str, reason: str) -> None:
    with pytest.raises(ArtifactError, match=reason):
        read(tmp_path, content)
