"""How an object of lines becomes the bodies of requests."""

import pytest

from local_cloud.transform_requests import Payload, payloads


@pytest.mark.parametrize(
    ("content", "max_bytes", "records", "bodies"),
    [
        (b"a\nb\nc\n", 100, 1, [(1, b"a"), (2, b"b"), (3, b"c")]),
        (b"a\nb\nc", 100, None, [(1, b"a\nb\nc")]),
        # "a", a newline and "b" are three bytes
        (b"a\nb\nc\nd\n", 3, None, [(1, b"a\nb"), (3, b"c\nd")]),
        (b"\n\na\n\nb\n\n", 100, 1, [(3, b"a"), (5, b"b")]),
        # too long for any body: refused when it is sent, by its line
        (b"a\nlong\nb", 3, None, [(1, b"a"), (2, b"long"), (3, b"b")]),
        (b"\n", 100, 1, []),
        (b"", 100, None, []),
    ],
)
def test_lines_become_bodies_with_the_number_of_their_first_line(content, max_bytes, records, bodies):
    assert list(payloads(content, max_bytes, records)) == [Payload(*one) for one in bodies]
