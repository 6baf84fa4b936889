"""Only the key opens, and no header breaks the lock."""

import pytest

from decision_adapter.authorization import check
from decision_adapter.errors import AuthenticationError

KEY = "k-123"


@pytest.mark.parametrize("header", ["Bearer k-123", "bearer k-123", "  Bearer   k-123  "])
def test_the_key_opens(header: str) -> None:
    check(header, KEY)


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "k-123", "Basic k-123", "Token k-123"])
def test_without_a_bearer_token_the_key_is_asked_for(header: str | None) -> None:
    with pytest.raises(AuthenticationError, match="needs the key of this endpoint, as in 'Bearer <key>'"):
        check(header, KEY)


@pytest.mark.parametrize("token", ["K-123", "k-12", "k-1234", "k-123 k-123", "k\xff123", "ключ", "\x00", "k-123\x00"])
def test_any_other_token_is_refused_and_not_repeated(token: str) -> None:
    with pytest.raises(AuthenticationError) as raised:
        check(f"Bearer {token}", KEY)
    assert str(raised.value) == "Authorization: the key is not the one of this endpoint"
