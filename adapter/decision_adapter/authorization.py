"""The optional key: who does not show it as a bearer token is not served."""

import hmac

from decision_adapter.errors import AuthenticationError


def check(header: str | None, key: str) -> None:
    """Compare the token of an ``Authorization`` header, None when there is none, with ``key``.

    The comparison takes as long for a nearly right token as for a wrong one.

    Raises:
        AuthenticationError: it is missing, of another scheme, or wrong; what was sent is not repeated.
    """
    scheme, _, token = (header or "").strip().partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise AuthenticationError("Authorization: needs the key of this endpoint, as in 'Bearer <key>'")
    # As bytes, since a header may hold what is not ASCII, which the comparison of strings refuses.
    if not hmac.compare_digest(token.strip().encode(), key.encode()):
        raise AuthenticationError("Authorization: the key is not the one of this endpoint")
