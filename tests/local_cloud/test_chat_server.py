"""The chat container: the variables of the published container, and a real completion."""

import json

import pytest

from local_cloud.chat_server import find_model, llama_server_command, python_server_command, server_options

CHAT_IMAGE = "public.ecr.aws/deep-learning-containers/llama-cpp@sha256:" + "1" * 64


def test_variables_become_options_as_in_the_published_container():
    environment = {
        "SM_LLAMA_CPP_CTX_SIZE": "2048",
        "SM_LLAMA_CPP_JINJA": "true",
        "SM_LLAMA_CPP_NO_MMAP": "false",
        "SM_LLAMA_CPP_MODEL_DIR": "/opt/ml/model",
        "SM_LLAMA_CPP_PORT": "8080",
        "PATH": "/bin",
    }

    assert server_options(environment) == {"ctx-size": "2048", "jinja": None}


def test_llama_server_takes_options_as_they_are(tmp_path):
    command = llama_server_command("llama-server", tmp_path / "m.gguf", 81, {"ctx-size": "2048", "jinja": None})

    assert command[-3:] == ["--ctx-size", "2048", "--jinja"]


def test_python_server_takes_its_own_names_and_leaves_out_what_it_does_not_know(tmp_path):
    options = {"ctx-size": "2048", "n-gpu-layers": "99", "no-mmap": None, "flash-attn": "on", "jinja": None}

    command, unknown = python_server_command(tmp_path / "m.gguf", 81, options)

    pairs = dict(zip(command[3::2], command[4::2], strict=True))
    assert pairs["--n_ctx"] == "2048"
    assert pairs["--n_gpu_layers"] == "99"
    assert pairs["--use_mmap"] == "false"
    assert pairs["--flash_attn"] == "true"
    assert unknown == ["jinja"]


def test_model_is_the_first_gguf_at_the_root_or_one_folder_down(tmp_path):
    directory = {"SM_LLAMA_CPP_MODEL_DIR": str(tmp_path)}
    (tmp_path / "tokenizer.json").touch()
    with pytest.raises(FileNotFoundError, match=r"no \*.gguf .*; it holds tokenizer.json"):
        find_model(directory)

    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.gguf").touch()
    assert find_model(directory).name == "b.gguf"
    (tmp_path / "a.gguf").touch()
    assert find_model(directory).name == "a.gguf"
    assert find_model({**directory, "SM_LLAMA_CPP_MODEL": "/other.gguf"}).name == "other.gguf"


def test_chat_endpoint_completes_and_streams(workshop, smollm2_gguf):
    url = workshop.archive(**{smollm2_gguf.name: smollm2_gguf.read_bytes()})
    variables = {"SM_LLAMA_CPP_CTX_SIZE": "512", "SM_LLAMA_CPP_THREADS": "1", "SM_LLAMA_CPP_JINJA": "true"}
    endpoint = workshop.endpoint(workshop.config(workshop.model(CHAT_IMAGE, url, **variables)))
    assert workshop.client("sagemaker").describe_endpoint(EndpointName=endpoint)["EndpointStatus"] == "InService"
    request = {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 8, "temperature": 0}

    answer = workshop.invoke(endpoint, **request)
    streamed = workshop.client("sagemaker-runtime").invoke_endpoint_with_response_stream(
        EndpointName=endpoint, ContentType="application/json", Body=json.dumps({**request, "stream": True})
    )

    assert answer["object"] == "chat.completion"
    text = answer["choices"][0]["message"]["content"]
    assert text.strip()
    body = b"".join(event["PayloadPart"]["Bytes"] for event in streamed["Body"]).decode()
    events = [line.removeprefix("data: ") for line in body.splitlines() if line.startswith("data: ")]
    assert events[-1] == "[DONE]"
    deltas = [json.loads(event)["choices"][0]["delta"] for event in events[:-1]]
    assert "".join(delta.get("content") or "" for delta in deltas) == text
    [log] = workshop.client("logs").describe_log_streams(logGroupName=f"/aws/sagemaker/Endpoints/{endpoint}")[
        "logStreams"
    ]
    assert log["logStreamName"].startswith("primary/i-")


def test_chat_endpoint_without_a_model_says_which_files_there_are(workshop):
    url = workshop.archive(**{"notes.txt": b"x"})

    endpoint = workshop.endpoint(workshop.config(workshop.model(CHAT_IMAGE, url)))

    reason = workshop.client("sagemaker").describe_endpoint(EndpointName=endpoint)["FailureReason"]
    assert "no *.gguf or */*.gguf in" in reason
    assert "it holds notes.txt" in reason
