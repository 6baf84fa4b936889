import pytest

from model_build.errors import InvalidSpecification
from model_build.specification import OPTIONS, HubFile, HubRevision, S3Object, parse_specification

COMMIT, SHA256 = "4" * 40, "a" * 64
HUB = {
    "gguf_repository": "bartowski/Qwen_Qwen3.5-4B-GGUF",
    "gguf_revision": COMMIT,
    "gguf_file": "Q4_K_M/Qwen_Qwen3.5-4B-Q4_K_M.gguf",
    "gguf_sha256": SHA256,
}
S3 = {"gguf_uri": "s3://models/pins/smol lm2.gguf", "gguf_sha256": SHA256}


def problems_of(values):
    with pytest.raises(InvalidSpecification) as raised:
        parse_specification(values)
    return raised.value.problems


def test_a_hub_file_with_tokenizer_and_upload_is_parsed():
    specification = parse_specification(
        {
            **HUB,
            "tokenizer_repository": "Qwen/Qwen3.5-4B",
            "tokenizer_revision": COMMIT,
            "upload_uri": "s3://artifacts/models/0123/model.tar.gz",
        }
    )

    assert specification.gguf == HubFile(HUB["gguf_repository"], COMMIT, HUB["gguf_file"])
    assert specification.gguf_sha256 == SHA256
    assert specification.tokenizer == HubRevision("Qwen/Qwen3.5-4B", COMMIT)
    assert specification.upload == S3Object("artifacts", "models/0123/model.tar.gz")


def test_an_s3_object_is_parsed_and_empty_values_are_not_given():
    specification = parse_specification({**dict.fromkeys(OPTIONS, ""), **S3})

    assert specification.gguf == S3Object("models", "pins/smol lm2.gguf")
    assert specification.gguf.file == "smol lm2.gguf"
    assert specification.tokenizer is None
    assert specification.upload is None


def test_all_mistakes_are_reported_at_once_with_option_value_and_what_is_allowed():
    problems = problems_of(
        {
            "gguf_repository": "https://huggingface.co/owner/name",
            "gguf_revision": "main",
            "gguf_file": "../model.gguf",
            "gguf_sha256": "A" * 64,
            "tokenizer_repository": "Qwen/Qwen3.5-4B",
            "upload_uri": "models/model.tar.gz",
        }
    )

    expected = [
        ("--gguf-repository/MODEL_GGUF_REPOSITORY", "'https://huggingface.co/owner/name'", "`owner/name`"),
        ("--gguf-revision/MODEL_GGUF_REVISION", "'main'", "40 lower-case hexadecimal digits"),
        ("--gguf-file/MODEL_GGUF_FILE", "'../model.gguf'", "a path in the repository"),
        ("--gguf-sha256/MODEL_GGUF_SHA256", repr("A" * 64), "64 lower-case hexadecimal digits"),
        ("--upload-uri/MODEL_UPLOAD_URI", "'models/model.tar.gz'", "s3://bucket/key"),
        ("--tokenizer-revision/MODEL_TOKENIZER_REVISION", "missing", "40 lower-case hexadecimal digits"),
    ]
    assert len(problems) == len(expected)
    for problem, words in zip(problems, expected, strict=True):
        assert all(word in problem for word in words), problem


def test_two_sources_are_one_too_many():
    (problem,) = problems_of({**HUB, **S3})

    assert "MODEL_GGUF_URI" in problem
    assert "MODEL_GGUF_REPOSITORY" in problem
    assert "exactly one source" in problem


def test_without_a_source_both_kinds_are_named():
    no_source, no_sha256 = problems_of({})

    assert all(OPTIONS[name].env in no_source for name in ("gguf_repository", "gguf_revision", "gguf_file", "gguf_uri"))
    assert no_sha256.startswith("--gguf-sha256/MODEL_GGUF_SHA256: missing")


@pytest.mark.parametrize("left_out", ["gguf_repository", "gguf_revision", "gguf_file", "gguf_sha256"])
def test_each_pin_of_a_hub_file_is_required(left_out):
    (problem,) = problems_of({name: value for name, value in HUB.items() if name != left_out})

    assert problem.startswith(f"{OPTIONS[left_out]}: missing")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gguf_repository", "a/b/c"),
        ("gguf_repository", "../name"),
        ("gguf_revision", "4" * 39),
        ("gguf_revision", COMMIT + "\n"),
        ("gguf_file", "/etc/model.gguf"),
        ("gguf_file", "folder/../../model.gguf"),
        ("gguf_file", "./model.gguf"),
        ("gguf_file", "model.safetensors"),
        ("gguf_file", "model-00001-of-00002.gguf"),
        ("gguf_sha256", "g" * 64),
        ("gguf_sha256", "sha256:" + SHA256),
        ("gguf_uri", "https://bucket/model.gguf"),
        ("gguf_uri", "s3://model.gguf"),
        ("gguf_uri", "s3://bucket/model.bin"),
        ("gguf_uri", "s3://bucket/model-00002-of-00002.gguf"),
        ("tokenizer_revision", "v1.0"),
        ("upload_uri", "s3://bucket/model.tar"),
        ("upload_uri", "s3://bucket/"),
    ],
)
def test_a_malformed_value_is_refused_with_the_value_and_what_is_allowed(name, value):
    valid = {**(S3 if name == "gguf_uri" else HUB), "tokenizer_repository": "owner/name", "tokenizer_revision": COMMIT}

    (problem,) = problems_of({**valid, name: value})

    assert problem == f"{OPTIONS[name]}: {value!r} is not allowed; allowed: {OPTIONS[name].allowed}"


@pytest.mark.parametrize(
    "text", ['{"id": "c", "temperature": 1.8}', ' {"id": "c",\n "temperature": 2, "by_type": {}}\n']
)
def test_a_calibration_is_kept_as_it_is(text):
    assert parse_specification({**S3, "calibration": text}).calibration == text


@pytest.mark.parametrize(
    "text",
    ["calibration.json", "[1]", "{}", '{"id": "c"', '{"id": " ", "temperature": 1}', '{"id": "c", "temperature": 0}'],
)
def test_what_is_no_calibration_is_refused(text):
    [problem] = problems_of({**S3, "calibration": text})
    assert problem.startswith(f"--calibration/MODEL_CALIBRATION: {text!r} is not allowed; allowed: the text of a")
