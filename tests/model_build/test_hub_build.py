"""Builds whose files come from a Hugging Face Hub: the real command against a local server."""

import hashlib
import os
import tarfile

import pytest

COMMIT, TOKENIZER_COMMIT = "4" * 40, "8" * 40
REPOSITORY, TOKENIZER_REPOSITORY = "owner/model-GGUF", "owner/model"
GGUF = b"GGUF" + os.urandom(3_000_000)
GGUF_SHA256 = hashlib.sha256(GGUF).hexdigest()
TOKENIZER_FILES = {
    "tokenizer.json": b'{"model": {}}',
    "tokenizer_config.json": b'{"chat_template": null}',
    "chat_template.jinja": "{{ '→' }}".encode(),
    "tokenizer.model": b"\x0a\x00\x0a",
    "merges.txt": b"a b\n",
}
OTHER_FILES = {"README.md": b"#", "model.safetensors": b"weights", "onnx/config.json": b"{}", ".gitattributes": b""}
PINS = {
    "MODEL_GGUF_REPOSITORY": REPOSITORY,
    "MODEL_GGUF_REVISION": COMMIT,
    "MODEL_GGUF_FILE": "Q4/model.gguf",
    "MODEL_GGUF_SHA256": GGUF_SHA256,
}
TOKENIZER_PINS = {
    "MODEL_TOKENIZER_REPOSITORY": TOKENIZER_REPOSITORY,
    "MODEL_TOKENIZER_REVISION": TOKENIZER_COMMIT,
}
# The clock is the only thing faked: huggingface_hub waits up to 8 s between its attempts.
NO_WAITING = "import time; time.sleep = lambda seconds: None"


@pytest.fixture
def hub(hub, build_env):
    hub.add(REPOSITORY, COMMIT, {"Q4/model.gguf": GGUF})
    hub.add(TOKENIZER_REPOSITORY, TOKENIZER_COMMIT, TOKENIZER_FILES | OTHER_FILES)
    build_env["HF_ENDPOINT"] = hub.endpoint
    return hub


@pytest.fixture
def archive(tmp_path):
    return tmp_path / "work" / "model.tar.gz"


def test_the_archive_holds_the_gguf_the_tokenizer_files_and_the_manifest(hub, run_build, archive):
    result = run_build(**PINS, **TOKENIZER_PINS).result

    with tarfile.open(archive) as tar:
        packed = {info.name: tar.extractfile(info).read() for info in tar}
    manifest = packed.pop("model-manifest.json")
    assert packed == {"model.gguf": GGUF} | {f"tokenizer/{name}": data for name, data in TOKENIZER_FILES.items()}
    assert result["manifest"]["gguf"] == {
        "repo": REPOSITORY,
        "revision": COMMIT,
        "file": "Q4/model.gguf",
        "sha256": GGUF_SHA256,
        "bytes": len(GGUF),
    }
    assert result["manifest"]["tokenizer"] == {"repo": TOKENIZER_REPOSITORY, "revision": TOKENIZER_COMMIT}
    assert b'"tokenizer/tokenizer.json"' in manifest
    assert result["model_data_url"] is None
    assert result["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    assert result["size_bytes"] == archive.stat().st_size


def test_flags_say_the_same_as_the_environment(hub, run_build):
    flags = [
        part
        for name, value in {**PINS, **TOKENIZER_PINS}.items()
        for part in (f"--{name.removeprefix('MODEL_').lower().replace('_', '-')}", value)
    ]

    by_flags = run_build(*flags, "--work-dir", "by-flags").result
    by_environment = run_build(**PINS, **TOKENIZER_PINS, MODEL_UPLOAD_URI="", MODEL_GGUF_URI="").result

    assert by_flags == by_environment


def test_a_second_build_fetches_no_gguf_again_and_gives_identical_bytes(hub, run_build, archive):
    run_build(**PINS, **TOKENIZER_PINS)
    first = archive.read_bytes()
    hub.requests.clear()

    second = run_build(**PINS, **TOKENIZER_PINS)

    assert second.returncode == 0
    assert archive.read_bytes() == first
    assert hub.headers_of("/storage/") == []


def test_a_broken_transfer_is_resumed_where_it_broke(hub, run_build):
    # given a GGUF of three chunks of huggingface_hub (10 MiB each), broken off in the second
    gguf = b"GGUF" + bytes(25_000_000)
    hub.add(REPOSITORY, COMMIT, {"Q4/model.gguf": gguf})
    hub.break_after_bytes = 15_000_000
    sha256 = hashlib.sha256(gguf).hexdigest()

    build = run_build(**{**PINS, "MODEL_GGUF_SHA256": sha256}, before=NO_WAITING)

    assert build.result["manifest"]["gguf"]["sha256"] == sha256
    first, second = hub.headers_of("/storage/")
    assert "range" not in first
    assert second["range"] == "bytes=10485760-"


def test_a_hub_that_is_busy_for_a_moment_is_asked_again(hub, run_build):
    hub.unavailable_answers = 2

    assert run_build(**PINS, before=NO_WAITING).returncode == 0


def test_nothing_but_the_plain_download_is_used_although_the_hub_offers_xet(hub, run_build):
    assert run_build(**PINS).returncode == 0

    assert len(hub.headers_of("/storage/")) == 1
    assert hub.headers_of("/api/xet") == []


def test_a_token_left_by_a_login_is_never_sent(hub, run_build, build_env, tmp_path):
    login = tmp_path / "home" / ".cache" / "huggingface"
    login.mkdir(parents=True)
    (login / "token").write_text("hf_left_by_a_login")

    assert run_build(**PINS, **TOKENIZER_PINS).returncode == 0

    assert [headers for _, _, headers in hub.requests if "authorization" in headers] == []


def test_hf_token_goes_to_the_hub_and_never_to_its_storage(hub, run_build):
    assert run_build(**PINS, **TOKENIZER_PINS, HF_TOKEN="hf_given").returncode == 0

    tree, resolve, storage = (hub.headers_of(part) for part in ("/tree/", "/resolve/", "/storage/"))
    assert {headers.get("authorization") for headers in [*tree, *resolve]} == {"Bearer hf_given"}
    assert [headers for headers in storage if "authorization" in headers] == []
    assert storage


def test_a_pin_the_hub_contradicts_stops_before_anything_is_transferred(hub, run_build, archive):
    build = run_build(**{**PINS, "MODEL_GGUF_SHA256": "0" * 64})

    assert build.returncode == 1
    assert build.stdout == ""
    assert all(word in build.stderr for word in ("0" * 64, GGUF_SHA256, REPOSITORY, COMMIT, "Q4/model.gguf"))
    assert hub.headers_of("/storage/") == []
    assert not archive.exists()


def test_bytes_other_than_the_hub_promised_stop_the_build_and_are_fetched_anew_next_time(hub, run_build, archive):
    assert run_build(**PINS).returncode == 0
    archive.unlink()
    (fetched,) = archive.parent.rglob("model.gguf")
    fetched.write_bytes(GGUF[:-1] + b"!")

    damaged = run_build(**PINS)

    assert damaged.returncode == 1
    assert GGUF_SHA256 in damaged.stderr
    assert hashlib.sha256(GGUF[:-1] + b"!").hexdigest() in damaged.stderr
    assert not archive.exists()
    assert run_build(**PINS).returncode == 0


def test_a_pinned_file_that_is_no_gguf_is_refused(hub, run_build, archive):
    page = b"<!DOCTYPE html>"
    hub.add(REPOSITORY, COMMIT, {"page.gguf": page})
    pins = {**PINS, "MODEL_GGUF_FILE": "page.gguf", "MODEL_GGUF_SHA256": hashlib.sha256(page).hexdigest()}

    build = run_build(**pins)

    assert build.returncode == 1
    assert "begins with b'<!DO', a GGUF with b'GGUF'" in build.stderr
    assert not archive.exists()


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"MODEL_GGUF_FILE": "missing.gguf"}, "the revision has no such file"),
        ({"MODEL_GGUF_REVISION": "5" * 40}, "no such revision"),
        ({"MODEL_GGUF_REPOSITORY": "owner/missing"}, "no such repository"),
    ],
)
def test_what_the_hub_does_not_have_is_named_in_full(hub, run_build, changed, why):
    pins = {**PINS, **changed}

    build = run_build(**pins)

    assert build.returncode == 1
    named = (pins["MODEL_GGUF_REPOSITORY"], pins["MODEL_GGUF_REVISION"], pins["MODEL_GGUF_FILE"], hub.endpoint, why)
    assert all(word in build.stderr for word in named), build.stderr
    assert "Traceback" not in build.stderr


def test_a_repository_without_tokenizer_files_is_refused_with_what_it_has(hub, run_build):
    pins = {"MODEL_TOKENIZER_REPOSITORY": REPOSITORY, "MODEL_TOKENIZER_REVISION": COMMIT}
    hub.add(REPOSITORY, COMMIT, {"README.md": b"#"})

    build = run_build(**PINS, **pins)

    assert build.returncode == 1
    assert f"{REPOSITORY} @ {COMMIT} has no tokenizer file" in build.stderr
    assert "README.md" in build.stderr
    assert hub.headers_of("/storage/") == []


def test_an_unreachable_hub_is_named_and_the_build_may_be_repeated(hub, run_build, unused_endpoint):
    build = run_build(**PINS, HF_ENDPOINT=unused_endpoint, before=NO_WAITING)

    assert build.returncode == 1
    assert all(word in build.stderr for word in (REPOSITORY, unused_endpoint, "Running the build again may succeed."))
    assert "Traceback" not in build.stderr


def test_mistakes_in_the_options_are_all_listed_and_nothing_is_asked(hub, run_build):
    build = run_build(**{**PINS, "MODEL_GGUF_REVISION": "main", "MODEL_GGUF_SHA256": "?"})

    assert build.returncode == 2
    assert "MODEL_GGUF_REVISION: 'main' is not allowed" in build.stderr
    assert "MODEL_GGUF_SHA256: '?' is not allowed" in build.stderr
    assert hub.requests == []
