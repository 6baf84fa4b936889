"""`decide models` and `decide status`, as processes; SageMaker's side is in tests/e2e."""

from pathlib import Path

from tests.decide.command import decide


def test_models_tell_what_answers(url: str) -> None:
    shown, told = decide("models", "--url", url), decide("models", "--url", url, "--json")
    assert shown.status == told.status == 0, shown.err
    assert told.json["gguf"]["file"] == "tiny.gguf"
    for part in ("tiny.gguf", told.json["gguf"]["sha256"], "llama_cpp.build", "uncalibrated"):
        assert part in shown.out


def test_a_narrow_terminal_cuts_no_hash(url: str) -> None:
    shown = decide("models", "--url", url, COLUMNS="60")
    sha256 = decide("models", "--url", url, "--json").json["gguf"]["sha256"]
    assert sha256 in "".join(shown.out.split())


def test_in_a_pipe_a_hash_stays_on_its_line(url: str) -> None:
    told = decide("models", "--url", url, COLUMNS="")
    [line] = [line for line in told.out.splitlines() if "gguf.sha256" in line]
    assert len(line.split()[1]) == 64


def test_status_of_a_url_is_its_ping(url: str) -> None:
    assert (decide("status", "--url", url).out, decide("status", "--url", f"{url}/").status) == ("ready\n", 0)
    assert decide("status", "--url", url, "--json").json == {"endpoint": url, "serves": True}


def test_status_of_what_is_no_container_is_told(url: str) -> None:
    told = decide("status", "--url", f"{url}/nothing")
    assert told.status == 4
    assert "is this a decision container?" in told.err
    assert decide("status", "--url", "http://127.0.0.1:9").status == 4
    assert decide("status", "--url", "ftp://x").status == 2


def test_sagemaker_without_credentials_or_region_is_told(tmp_path: Path) -> None:
    nothing = decide("status", "--env", "dev")
    assert (nothing.status, nothing.out) == (2, "")
    assert "--region" in nothing.err
    no_credentials = decide("status", "--env", "dev", "--region", "us-east-1")
    assert no_credentials.status == 5
    assert "log in" in no_credentials.err
    assert decide("status", "--env", "dev", "--profile", "nobody").status == 2


def test_the_local_cloud_that_does_not_run_is_told(tmp_path: Path) -> None:
    told = decide("status", "--env", "local", cwd=tmp_path)
    assert told.status == 4
    assert "make local-up" in told.err
