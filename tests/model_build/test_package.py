import inspect
from types import ModuleType

import pytest

import model_build
from model_build import errors

EXIT_CODES = {
    errors.InvalidSpecification: (2, False),
    errors.SourceNotFound: (1, False),
    errors.SourceRefused: (1, False),
    errors.SourceUnavailable: (1, True),
    errors.ChecksumMismatch: (1, False),
    errors.NotGguf: (1, False),
    errors.InvalidArchive: (1, True),
    errors.UploadFailed: (1, True),
}


def test_the_public_names_are_the_exported_ones():
    public = {
        name
        for name, value in vars(model_build).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }

    assert public == set(model_build.__all__)


def test_every_error_has_an_exit_code_and_stands_in_the_tree():
    defined = {
        value
        for _, value in inspect.getmembers(errors, inspect.isclass)
        if issubclass(value, errors.ModelBuildError) and value is not errors.ModelBuildError
    }

    assert defined == set(EXIT_CODES)


@pytest.mark.parametrize("error", EXIT_CODES)
def test_the_tree_tells_the_exit_code_and_whether_to_retry(error):
    exit_code, retryable = EXIT_CODES[error]
    (line,) = (line for line in errors.__doc__.splitlines() if f" {error.__name__} " in line)

    assert (error.exit_code, error.retryable) == (exit_code, retryable)
    assert line.split()[2:4] == [str(exit_code), "yes" if retryable else "no"]
