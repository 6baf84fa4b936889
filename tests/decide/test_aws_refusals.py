"""What AWS refuses, told by the real command: the sentence, the next step and the exit status."""

import json

import pytest

from tests.client.http_server import Reply, serve
from tests.decide.command import decide

ASKED = ("--state", "s", "--question", "q", "--option", "a", "--option", "b", "--wait", "0")
KEYS = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_DEFAULT_REGION": "us-east-1"}


def refusal(code: str, message: str = "it says why", status: int = 400) -> Reply:
    body = json.dumps({"__type": code, "message": message}).encode()
    return Reply(status, body, {"x-amzn-ErrorType": code, "Content-Type": "application/json"})


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("ExpiredTokenException", 5, "log in again"),
        ("UnrecognizedClientException", 5, "log in again"),
        ("InvalidSignatureException", 5, "clock"),
        ("AccessDeniedException", 5, "sagemaker:InvokeEndpoint"),
        ("ValidationError", 6, "check the endpoint's name and the region"),
        ("ThrottlingException", 7, "can be sent again"),
        ("InternalFailure", 7, "can be sent again"),
    ],
)
@pytest.mark.parametrize("command", [("invoke", *ASKED), ("chat", "hello", "--wait", "0"), ("models", "--wait", "0")])
def test_a_refusal_of_an_invocation(command: tuple[str, ...], code: str, status: int, said: str) -> None:
    with serve(refusal(code)) as aws:
        told = decide(*command, "--endpoint", "mine", AWS_ENDPOINT_URL=aws.url, **KEYS)
    assert (told.status, told.out) == (status, ""), told.err
    assert said in told.err
    assert told.err.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "needs"),
    [
        (("status", "--env", "dev"), "ssm:GetParametersByPath"),
        (("status", "--endpoint", "mine"), "sagemaker:DescribeEndpoint"),
        (("invoke", *ASKED, "--env", "dev"), "ssm:GetParameter"),
    ],
)
def test_a_permission_that_lacks_is_named(command: tuple[str, ...], needs: str) -> None:
    with serve(refusal("AccessDeniedException")) as aws:
        told = decide(*command, AWS_ENDPOINT_URL=aws.url, **KEYS)
    assert told.status == 5
    assert needs in told.err


def test_an_environment_that_is_not_there_is_told_with_the_region() -> None:
    with serve(refusal("ParameterNotFound")) as aws:
        told = decide("chat", "hello", "--env", "prod", "--region", "eu-west-1", AWS_ENDPOINT_URL=aws.url, **KEYS)
    assert told.status == 6
    assert "environment prod has no chat endpoint in eu-west-1" in told.err


def test_an_endpoint_that_is_gone_is_missing_and_the_exit_status_says_so() -> None:
    with serve(refusal("ValidationException", "Could not find endpoint")) as aws:
        told = decide("status", "--endpoint", "mine", "--json", AWS_ENDPOINT_URL=aws.url, **KEYS)
    assert told.status == 1
    assert told.json[0]["status"] == "Missing"


def test_a_region_that_does_not_answer_is_told() -> None:
    dead = {**KEYS, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
    told = decide("invoke", *ASKED, "--endpoint", "mine", **dead)
    assert told.status == 4
    assert "check the network and the region" in told.err


@pytest.mark.parametrize(
    "command",
    [
        ("invoke", *ASKED, "--env", "dev"),
        ("status", "--env", "dev"),
        ("status", "--endpoint", "mine"),
        ("chat", "hello", "--endpoint", "mine"),
    ],
)
def test_what_answers_in_place_of_aws_is_told(command: tuple[str, ...]) -> None:
    with serve(Reply(200, b"<html>Sign in to this network, please</html>", {"Content-Type": "text/html"})) as portal:
        told = decide(*command, AWS_ENDPOINT_URL=portal.url, **KEYS)
    assert (told.status, told.out) == (8, ""), told.err
    assert "is not AWS" in told.err


def test_an_address_that_is_none_is_told() -> None:
    told = decide("invoke", *ASKED, "--env", "dev", AWS_ENDPOINT_URL="nonsense", **KEYS)
    assert told.status == 2
    assert "AWS_ENDPOINT_URL" in told.err
