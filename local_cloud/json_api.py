"""AWS's JSON protocol: an operation named by the X-Amz-Target header, parameters and answer as JSON."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from local_cloud.errors import ApiError, UnknownOperationError, ValidationError
from local_cloud.request_validation import validated

Parameters = dict[str, Any]
Operation = Callable[[Parameters], Parameters]
Response = tuple[int, dict[str, str], bytes]


class JsonApi:
    """The operations of one service, called by clients over HTTP and by CloudFormation directly."""

    def __init__(self, service: str, operations: Mapping[str, Operation]) -> None:
        self._service = service
        self._operations = operations

    def call(self, operation: str, parameters: Mapping[str, Any]) -> Parameters:
        """The answer of an operation.

        Raises:
            ApiError: what the service would refuse with.
        """
        if operation not in self._operations:
            known = ", ".join(sorted(self._operations))
            raise UnknownOperationError(f"the local cloud's {self._service} has no {operation}; it has {known}")
        return self._operations[operation](validated(self._service, operation, parameters))

    def handle(self, headers: Mapping[str, str], body: bytes) -> Response:
        """The HTTP answer to a request; header names are lower case."""
        try:
            parameters = json.loads(body or b"{}")
        except json.JSONDecodeError as error:
            return error_response(ValidationError(f"the body is not JSON: {error}"))
        try:
            answer = self.call(operation_of(headers), parameters)
        except ApiError as error:
            return error_response(error)
        return 200, {"Content-Type": "application/x-amz-json-1.1"}, json.dumps(answer).encode()


def operation_of(headers: Mapping[str, str]) -> str:
    """The operation that a request names."""
    return headers.get("x-amz-target", "").rpartition(".")[2]


def error_response(error: ApiError) -> Response:
    """An error as both of AWS's JSON protocols carry it."""
    body = {"__type": error.code, "message": error.message, "Message": error.message, **error.fields}
    headers = {"Content-Type": "application/x-amz-json-1.1", "x-amzn-ErrorType": error.code}
    return error.http_status, headers, json.dumps(body).encode()
