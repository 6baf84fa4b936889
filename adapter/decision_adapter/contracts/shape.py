"""Which contract a body is written in: told from its top-level fields, since InvokeEndpoint has one path for all."""

from collections.abc import Sequence

from decision_adapter.contracts.contract import Contract
from decision_adapter.errors import InvalidRequestError, Problem


def contract_of(body: dict[str, object], contracts: Sequence[Contract]) -> Contract:
    """The one of ``contracts`` that ``body`` is written in.

    Raises:
        InvalidRequestError: it has the fields of none, or of several; the message names them.
    """
    found = {contract: [name for name in contract.own_fields if name in body] for contract in contracts}
    fitting = [contract for contract, names in found.items() if names]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        known = "; ".join(f"{' or '.join(map(repr, c.own_fields))} ({c.name})" for c in contracts)
        raise InvalidRequestError(Problem((), f"has none of the fields by which a contract is known: {known}"))
    clash = " and ".join(f"{', '.join(map(repr, found[c]))} ({c.name})" for c in fitting)
    raise InvalidRequestError(Problem((), f"{clash} belong to different contracts; send the fields of one"))
