"""The error tree is complete: what its docstring draws exists, and every API error has a code and a status."""

import inspect
import re

import pytest

from local_cloud import errors
from local_cloud.errors import ApiError, LocalCloudError
from local_cloud.json_api import error_response

ALL = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]
API_ERRORS = [kind for kind in ALL if issubclass(kind, ApiError) and kind is not ApiError]


def test_docstring_draws_every_error_and_no_other():
    drawn = set(re.findall(r"\b(\w+Error)\b(?= {2,})", errors.__doc__ or ""))

    assert drawn == {kind.__name__ for kind in ALL}
    assert all(issubclass(kind, LocalCloudError) for kind in ALL)


@pytest.mark.parametrize("kind", API_ERRORS)
def test_api_error_answers_with_its_code_status_and_message(kind):
    status, headers, body = error_response(kind("what is wrong", {"OriginalStatusCode": 400}))

    assert 400 <= status < 500
    assert headers["x-amzn-ErrorType"] == kind.code
    assert b"what is wrong" in body
    assert re.search(rf"{kind.__name__} +{status} {kind.code}", errors.__doc__ or "")
