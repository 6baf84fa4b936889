"""The request that a command sends: a file's, of any contract, or a decision put together from options."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from decide.errors import InputError, UsageError
from decide.files import read_json
from decision_client import Decision, Option, Readout
from decision_client.decision import as_json


def request_of_file(path: Path) -> dict[str, object]:
    """The request in a file or, for ``-``, in stdin; what it may hold is the endpoint's to say.

    Raises:
        InputError: it cannot be read, or is not a JSON object that can be sent.
    """
    value = read_json(path)
    if not isinstance(value, dict):
        kind = {list: "an array", str: "a string", type(None): "null"}.get(type(value), "a number or boolean")
        raise InputError(f'{path}: is {kind}; a request is an object, as in {{"decision": {{…}}}}')
    try:
        as_json(value).encode()
    except ValueError as error:  # NaN, or half a surrogate pair
        raise InputError(f"{path}: cannot be sent: {error}") from error
    return value


def decision_of_options(
    state: str | None, question: str | None, options: Sequence[str], kind: str, readout: Readout
) -> Decision:
    """The decision that the options of a command line describe.

    Raises:
        UsageError: one is missing, or an option has no id.
    """
    lacks = {"--state": state, "--question": question, "--option": options}
    missing = [name for name, value in lacks.items() if not value]
    if missing:
        raise UsageError(
            f"{', '.join(missing)}: missing. Give a FILE with a request (- is stdin), or all of --state, --question "
            "and two or more --option"
        )
    fields = {"id": "decision", "state": state, "question": question, "type": kind, "readout": readout}
    try:
        return Decision.model_validate({**fields, "options": [option_of(option) for option in options]})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UsageError(f"--{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def option_of(text: str) -> Option:
    """``id=description`` as an option; an id alone describes itself.

    Raises:
        UsageError: there is no id, or it is no text.
    """
    option_id, _, description = text.partition("=")
    if not option_id.strip():
        raise UsageError(f"--option {text!r}: must be as in --option 'billing=Payments and invoices.'")
    try:
        return Option(option_id.strip(), description.strip() or option_id.strip())
    except ValidationError as error:
        raise UsageError(f"--option {text!r}: {error.errors(include_url=False)[0]['msg']}") from error
