"""Settings come from the environment and are checked all at once."""

from pathlib import Path

import pytest

from decision_adapter.cpus import available_cpus
from decision_adapter.errors import SettingsError
from decision_adapter.settings import BASE_IMAGE_LIBRARIES, Settings


def test_the_environment_of_the_reference_container_is_read(tmp_path: Path) -> None:
    # given every variable that it knows
    gguf, tokenizer = tmp_path / "m.gguf", tmp_path / "other"
    gguf.touch()
    tokenizer.mkdir()
    paths = {
        "SEMIF_MODEL_DIR": str(tmp_path),
        "SEMIF_GGUF_PATH": str(gguf),
        "SEMIF_TOKENIZER_SOURCE": str(tokenizer),
        "SEMIF_LLAMA_CPP_LIB_DIR": str(tmp_path),
    }
    numbers = {
        "SEMIF_THREADS": "3",
        "SEMIF_N_GPU_LAYERS": "-1",
        "SEMIF_MAX_TOKENS": "2048",
        "SEMIF_MAX_REQUEST_TOKENS": "4096",
        "SEMIF_MAX_SHARED_DECISIONS": "64",
        "SEMIF_MAX_BODY_BYTES": "1024",
        "SEMIF_MAX_IN_FLIGHT": "2",
        "SEMIF_PORT": "8081",
    }
    # when
    settings = Settings.from_environment(paths | numbers | {"SEMIF_TOKENIZER_REVISION": "abc"})
    # then
    assert (settings.model_dir, settings.gguf_path) == (tmp_path, gguf)
    assert (settings.tokenizer_source, settings.tokenizer_revision) == (tokenizer, "abc")
    assert (settings.lib_dir, settings.port, settings.threads) == (tmp_path, 8081, 3)
    assert (settings.n_gpu_layers, settings.max_tokens, settings.max_request_tokens) == (-1, 2048, 4096)
    assert (settings.max_shared_decisions, settings.max_body_bytes, settings.max_in_flight) == (64, 1024, 2)


def test_an_empty_environment_gives_the_documented_defaults() -> None:
    settings = Settings.from_environment({"SEMIF_PORT": ""})
    assert settings == Settings(
        model_dir=Path("/opt/ml/model"),
        gguf_path=None,
        tokenizer_source=Path("/opt/ml/model/tokenizer"),
        tokenizer_revision=None,
        threads=available_cpus(),
        n_gpu_layers=0,
        max_tokens=4096,
        max_request_tokens=8192,
        max_shared_decisions=8,
        cache_tokens=16384,
        max_body_bytes=262144,
        max_in_flight=1,
        deadline_seconds=55,
        allow_amx=False,
        host="0.0.0.0",
        port=8080,
        lib_dir=BASE_IMAGE_LIBRARIES if BASE_IMAGE_LIBRARIES.is_dir() else None,
        prompt_profile=None,
        calibration_path=None,
        api_key=None,
    )


def test_all_problems_are_told_in_one_error_with_limit_and_unit(tmp_path: Path) -> None:
    environment = {
        "SEMIF_THREADS": "0",
        "SEMIF_MAX_TOKENS": "many",
        "SEMIF_N_GPU_LAYERS": "-2",
        "SEMIF_LLAMA_CPP_LIB_DIR": str(tmp_path / "missing"),
        "SEMIF_PORT": "65536",
    }
    with pytest.raises(SettingsError) as raised:
        Settings.from_environment(environment)
    assert [problem.split()[0] for problem in raised.value.problems] == [
        "SEMIF_THREADS",
        "SEMIF_N_GPU_LAYERS",
        "SEMIF_MAX_TOKENS",
        "SEMIF_PORT",
        "SEMIF_LLAMA_CPP_LIB_DIR",
    ]
    assert "SEMIF_THREADS is '0': must be an integer from 1 to 512 threads" in str(raised.value)
    assert str(raised.value).startswith("5 settings are wrong: ")


@pytest.mark.parametrize(("text", "layers"), [("0", 0), ("-1", -1), ("99", 99)])
def test_zero_is_a_value(text: str, layers: int) -> None:
    assert Settings.from_environment({"SEMIF_N_GPU_LAYERS": text}).n_gpu_layers == layers


def test_a_prompt_profile_is_one_of_those_there_are() -> None:
    assert Settings.from_environment({"SEMIF_PROMPT_PROFILE": "decider-chat"}).prompt_profile == "decider-chat"
    with pytest.raises(
        SettingsError,
        match=r"SEMIF_PROMPT_PROFILE is 'chat': must be one of direct-options-v1, decider-plain, decider-chat, or",
    ):
        Settings.from_environment({"SEMIF_PROMPT_PROFILE": "chat"})


def test_a_calibration_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    missing = tmp_path / "calibration.json"
    with pytest.raises(SettingsError, match=rf"SEMIF_CALIBRATION_PATH is '{missing}': there is no such file"):
        Settings.from_environment({"SEMIF_CALIBRATION_PATH": str(missing)})


@pytest.mark.parametrize(("text", "key"), [("", None), ("k-123", "k-123"), (" k-123\n", "k-123"), ("~!", "~!")])
def test_a_key_is_taken_without_the_spaces_around_it(text: str, key: str | None) -> None:
    assert Settings.from_environment({"SEMIF_API_KEY": text}).api_key == key


@pytest.mark.parametrize("text", [" ", "\n", "two words", "tab\tin", "clé", "zero\x00"])
def test_a_key_that_no_header_can_carry_is_a_problem_and_not_shown(text: str) -> None:
    with pytest.raises(SettingsError) as raised:
        Settings.from_environment({"SEMIF_API_KEY": text})
    assert raised.value.problems == [
        "SEMIF_API_KEY (not shown): must be printable ASCII characters without spaces, or left out"
    ]


def test_a_key_is_not_shown() -> None:
    assert "k-123" not in repr(Settings.from_environment({"SEMIF_API_KEY": "k-123"}))


def test_the_tokenizer_is_looked_for_in_the_model_folder(tmp_path: Path) -> None:
    settings = Settings.from_environment({"SEMIF_MODEL_DIR": str(tmp_path)})
    assert settings.tokenizer_source == tmp_path / "tokenizer"
