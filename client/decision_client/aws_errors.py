"""What boto3 raises, told in this package's errors: one sentence, and what to do next."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore import exceptions as boto
from botocore.eventstream import ParserError
from botocore.exceptions import BotoCoreError, ClientError

from decision_client import errors
from decision_client.errors import (
    AuthenticationError,
    BusyError,
    ConfigurationError,
    DecisionClientError,
    EndpointError,
    NotFoundError,
    TooLargeError,
    UnexpectedAnswerError,
    UnreachableError,
)

_LOG_IN = "check the credentials, or log in again"
_KEY_OR_CLOCK = "check the secret key and this machine's clock"
_MAY = "the caller needs sagemaker:InvokeEndpoint, and ssm:GetParameter to look an environment up"
_NAME = "check the endpoint's name and the region, and that it is in service"
_OF_ENDPOINTS = ("InvokeEndpoint", "InvokeEndpointWithResponseStream", "DescribeEndpoint")
"""Calls to which a ValidationException says that there is no such endpoint."""

CODES: dict[str, tuple[type[EndpointError], str]] = {
    **dict.fromkeys(
        (
            "ThrottlingException",
            "Throttling",
            "TooManyRequestsException",
            "ModelNotReadyException",
            "ServiceUnavailable",
            "ServiceUnavailableException",
            "InternalFailure",
            "InternalDependencyException",
        ),
        (BusyError, "the request can be sent again"),
    ),
    **dict.fromkeys(
        ("ExpiredToken", "ExpiredTokenException", "UnrecognizedClientException", "InvalidClientTokenId"),
        (AuthenticationError, _LOG_IN),
    ),
    **dict.fromkeys(
        ("InvalidSignatureException", "SignatureDoesNotMatch", "RequestExpired"), (AuthenticationError, _KEY_OR_CLOCK)
    ),
    **dict.fromkeys(("AccessDenied", "AccessDeniedException"), (AuthenticationError, _MAY)),
    **dict.fromkeys(("ValidationError", "ValidationException"), (NotFoundError, _NAME)),
    "ResourceNotFound": (NotFoundError, "check the name and the region"),
    "ParameterNotFound": (NotFoundError, "check the environment's name and the region, or deploy it"),
}
"""The error for a code of AWS's, and the next step. Codes that are not here go by their HTTP status."""

CREDENTIALS = (
    boto.NoCredentialsError,
    boto.PartialCredentialsError,
    boto.CredentialRetrievalError,
    boto.NoAuthTokenError,
    boto.TokenRetrievalError,
    boto.SSOError,
)


@contextmanager
def told_as_ours(needs: str = _MAY) -> Iterator[None]:
    """Turn boto3's errors into this package's; one of access says what the caller ``needs``.

    Raises:
        EndpointError: AWS or the container refused, or could not be reached.
        ConfigurationError: boto3 does not know where to send the request.
    """
    try:
        yield
    except ClientError as error:
        raise of_service(error, needs) from error
    except BotoCoreError as error:
        raise of_botocore(error) from error
    except (KeyError, ParserError) as error:  # a field or a frame that AWS's answers have
        raise UnexpectedAnswerError(
            f"what answers is not AWS ({type(error).__name__}: {error}); check AWS_ENDPOINT_URL and the network",
            status=200,
        ) from error
    except ValueError as error:  # botocore's own for an address that is none
        if not str(error).startswith("Invalid endpoint"):
            raise
        raise ConfigurationError(f"{error}; check AWS_ENDPOINT_URL and the region") from error


def of_service(error: ClientError, needs: str = _MAY) -> EndpointError:
    """The error for an answer of AWS's; one of the container's is told as the container told it."""
    response: dict[str, Any] = {**error.response}
    code = str(response["Error"].get("Code"))
    if code == "ModelError":
        status, message = response.get("OriginalStatusCode", 500), response.get("OriginalMessage", str(error))
        return errors.of_answer(status, message)
    # an error in the middle of a stream has none
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
    sentence = f"{error.operation_name}: {response['Error'].get('Message') or code}"
    if status == 413:
        return TooLargeError(sentence, status=status)
    kind, next_step = CODES.get(code, (errors.kind_of(status), ""))
    if next_step is _MAY:
        next_step = needs
    if next_step is _NAME and error.operation_name not in _OF_ENDPOINTS:
        next_step = ""
    return kind(f"{sentence} ({code}){next_step and '; ' + next_step}", status=status)


def of_botocore(error: BotoCoreError) -> DecisionClientError:
    """The error for a request that AWS did not answer."""
    if isinstance(error, CREDENTIALS):
        return AuthenticationError(f"{error}; log in, or set AWS_PROFILE or the AWS_ACCESS_KEY_ID variables")
    if isinstance(error, boto.SSLError):
        return UnreachableError(f"{error}; check the certificates of this machine", retryable=False)
    if isinstance(error, boto.ConnectionError | boto.HTTPClientError | boto.IncompleteReadError):
        return UnreachableError(f"{error}; check the network and the region")
    if isinstance(error, boto.NoRegionError):
        return ConfigurationError(f"{error} Set AWS_DEFAULT_REGION, or give a session with a region.")
    return ConfigurationError(str(error))
