"""How an endpoint is named."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from decide.errors import DecideError, ExitStatus, UsageError
from decide.target import Target, choose
from decision_client import ClientSettings, ConfigurationError


def chosen(variables: dict[str, str] | None = None, **named: str) -> Target:
    nothing = dict.fromkeys(("environment", "endpoint", "url", "api_key", "region", "profile"))
    return choose(**{**nothing, **named}, variables=variables or {})


@pytest.mark.parametrize(("kind", "name"), [("environment", "x"), ("endpoint", "x"), ("url", "http://x")])
def test_an_option_names_it(kind: str, name: str) -> None:
    target = chosen(**{kind: name})
    assert getattr(target, kind) == str(target) == name


@pytest.mark.parametrize(
    ("variable", "kind", "name"),
    [("DECIDE_ENV", "environment", "x"), ("DECIDE_ENDPOINT", "endpoint", "x"), ("DECIDE_URL", "url", "http://x")],
)
def test_a_variable_names_it_where_no_option_does(variable: str, kind: str, name: str) -> None:
    assert getattr(chosen({variable: name}), kind) == name
    assert chosen({variable: name}, environment="dev") == Target(environment="dev")


def test_a_url_that_cannot_be_asked_is_refused_before_it_stands_in_any_file() -> None:
    for url in ("x", "http://me:secret@127.0.0.1"):
        with pytest.raises(ConfigurationError) as raised:
            Target(url=url)
        assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "named",
    [
        {},
        {"environment": "dev", "url": "http://127.0.0.1"},
        {"environment": ""},
        {"url": "http://127.0.0.1", "region": "us-east-1"},
        {"url": "http://127.0.0.1", "profile": "me"},
        {"environment": "dev", "api_key": "k"},
    ],
)
def test_what_makes_no_sense_is_refused(named: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        chosen(**named)


def test_two_variables_are_refused_and_empty_ones_are_none() -> None:
    with pytest.raises(UsageError, match="not dev and x"):
        chosen({"DECIDE_ENV": "dev", "DECIDE_ENDPOINT": "x"})
    assert chosen({"DECIDE_ENV": "dev", "DECIDE_ENDPOINT": ""}) == Target(environment="dev")


def test_the_key_is_taken_from_its_variable_for_a_url_alone_and_never_shown() -> None:
    key = {"DECIDE_API_KEY": "secret"}
    assert chosen(key, url="http://127.0.0.1").api_key == "secret"
    assert chosen(key, environment="dev").api_key is None
    assert "secret" not in repr(chosen(key, url="http://127.0.0.1"))


def test_a_session_needs_a_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    with pytest.raises(UsageError, match="--region"):
        Target(endpoint="x").session()
    assert Target(endpoint="x", region="eu-central-1").session().region_name == "eu-central-1"


def test_what_needs_sagemaker_says_so_of_a_url() -> None:
    with pytest.raises(UsageError, match="not --url"):
        Target(url="http://127.0.0.1").endpoint_name(None, ClientSettings())  # type: ignore[arg-type]


class TestTheLocalCloud:
    """A checkout is a folder with `.local/run.json`."""

    @pytest.fixture(autouse=True)
    def not_pointed_elsewhere(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
        monkeypatch.setenv("AWS_PROFILE", "nobody")
        monkeypatch.chdir(tmp_path)

    @staticmethod
    def record(folder: Path, content: Any) -> None:
        (folder / ".local").mkdir()
        (folder / ".local" / "run.json").write_text(json.dumps(content))

    def test_it_is_found_from_a_folder_below(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with socket.create_server(("127.0.0.1", 0)) as cloud:
            port = cloud.getsockname()[1]
            self.record(tmp_path, {"port": port, "pid": 1, "start_id": "x"})
            (tmp_path / "below").mkdir()
            monkeypatch.chdir(tmp_path / "below")
            session = Target(environment="local").session()
        ssm = session.client("ssm")
        assert ssm.meta.endpoint_url == f"http://127.0.0.1:{port}"
        assert session.region_name == "us-east-1"
        assert ssm.meta.config.proxies == {}

    def test_none_is_told(self) -> None:
        with pytest.raises(DecideError, match="make local-up") as raised:
            Target(environment="local").session()
        assert raised.value.status is ExitStatus.UNREACHABLE

    @pytest.mark.parametrize("content", [[], {}, {"port": "x"}, {"port": 1e999}, {"port": 99_999_999}])
    def test_one_that_has_ended_is_told(self, tmp_path: Path, content: Any) -> None:
        self.record(tmp_path, content)
        with pytest.raises(DecideError, match="has ended"):
            Target(environment="local").session()

    def test_a_shell_that_is_pointed_somewhere_is_obeyed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("AWS_PROFILE")
        monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        assert Target(environment="local").session().client("ssm").meta.endpoint_url == "http://127.0.0.1:9"
