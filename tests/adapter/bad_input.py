"""Ten thousand request bodies, most of them wrong somewhere; each is made from a seed and its number alone."""

import copy
import gzip
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backports import zstd

REQUESTS = Path(__file__).parents[1] / "requests"
LIMIT_BYTES = 262_144

OPTIONS = [{"id": "yes", "description": "Yes."}, {"id": "no", "description": "No."}]
ONE = {"id": "d", "state": {"a": ["b", 1]}, "question": "q", "options": OPTIONS}

CORPUS = [json.loads(path.read_text("utf-8"))["request"] for path in sorted((REQUESTS / "valid").glob("*.json"))]

VALID: dict[str, list[Any]] = {
    "semif": [
        *(body for body in CORPUS if "input" not in body),
        {"decision": ONE},
        {"decisions": [ONE, {**ONE, "id": "e", "type": "noul", "readout": {"order": "average"}}]},
    ],
    "system_one": [
        {
            "model": "jev-latest",
            "state": {"ticket": "The reset email never arrived.", "tags": ["a", 1, None]},
            "questions": {
                "n": {"type": "noul", "instructions": "Is it late?", "criteria": {"true": "Late.", "false": None}},
                "c": {
                    "type": "choice",
                    "instructions": ["Which queue?"],
                    "criteria": {"account": "A.", "billing": None},
                },
                "s": {"type": "score", "criteria": ["low", "middle", {"label": "high"}]},
            },
        },
        {"model": "jev-latest", "state": "s", "questions": {"q": {"type": "noul"}}},
    ],
    "openai": [
        *(body for body in CORPUS if "input" in body),
        {
            "model": "m",
            "input": [{"role": "user", "content": [{"type": "input_text", "text": "It never arrived."}]}],
            "questions": [
                {"type": "predicate", "name": "p", "instructions": "Is it late?"},
                {"type": "choice", "choices": [{"value": "a", "description": "A."}, {"value": True}]},
                {"type": "score", "levels": [{"label": "low"}, {"label": "high", "description": "H."}]},
            ],
        },
        {"model": "m", "input": "s", "questions": [{"type": "predicate", "instructions": "i"}]},
    ],
}
"""For each contract, bodies from which others are made."""

JSON_TYPE = "application/json"
CONTENT_TYPES = (
    JSON_TYPE,
    "application/jsonlines",
    "application/json; charset=utf-16",
    "text/plain",
    "application/x+json",
)
WIRES = ("plain", "chunked", "zstd", "gzip", "damaged encoding", "wrong length", "malformed chunks", "pipelined")
WIRE_WEIGHTS = (60, 10, 8, 8, 6, 4, 2, 2)


@dataclass(frozen=True)
class Case:
    """A body and how it is sent."""

    number: int
    contract: str
    how: str
    """What was done to it."""
    wire: str
    content_type: str
    encoding: str
    body: bytes

    def __str__(self) -> str:
        """Enough to see what went wrong; the number replays it."""
        return f"case {self.number}: {self.contract}, {self.how}, {self.wire}, {self.content_type}: {self.body[:300]!r}"


def case(seed: str, number: int) -> Case:
    """The case of this number."""
    chance = random.Random(f"{seed}:{number}")
    contract = chance.choices(list(VALID), (2, 1, 1))[0]
    how = chance.choices(list(KINDS), [weight for weight, _ in KINDS.values()])[0]
    body = KINDS[how][1](chance, copy.deepcopy(chance.choice(VALID[contract])))
    wire = chance.choices(WIRES, WIRE_WEIGHTS)[0]
    content_type = JSON_TYPE if chance.random() < 0.95 else chance.choice(CONTENT_TYPES)
    encoding = ""
    if how == "bomb":
        wire, encoding = "plain", "gzip" if body.startswith(b"\x1f\x8b") else "zstd"
    elif wire in ("zstd", "gzip", "damaged encoding"):
        encoding = wire if wire != "damaged encoding" else chance.choice(("zstd", "gzip", "br", "zstd, gzip"))
        body = gzip.compress(body, 1) if encoding == "gzip" else zstd.compress(body, 1)
        body = damaged(chance, body) if wire == "damaged encoding" else body
    return Case(number, contract, how, wire, content_type, encoding, body)


def scalar(chance: random.Random) -> Any:
    """A value that is no container, odd ones included."""
    return chance.choice(
        [
            *(None, True, False, 0, -1, 2**63, 10**400, 1.5, 1e308, float("nan"), float("inf"), "", " ", "a", "\x00"),
            *("\ud800", "é" * 50, "<|im_end|>", "x" * chance.choice((10, 1000)), "\udfff\ud800", "decision", "0"),
        ]
    )


def tree(chance: random.Random, depth: int = 3) -> Any:
    """Any JSON value, of fields that contracts have and of others."""
    if depth == 0 or chance.random() < 0.4:
        return scalar(chance)
    size = chance.choice((0, 1, 2, 3, 20))
    if chance.random() < 0.5:
        return [tree(chance, depth - 1) for _ in range(size)]
    names = (
        "id",
        "state",
        "question",
        "options",
        "description",
        "decision",
        "decisions",
        "questions",
        "model",
        "x",
        "",
        "\ud800",
    )
    return {chance.choice(names): tree(chance, depth - 1) for _ in range(size)}


def places(value: Any) -> list[tuple[Any, Any]]:
    """Each container in ``value`` with each of its keys or indexes."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    own = [(value, key) for key, _ in items]
    return own + [place for _, inner in list(items) for place in places(inner)] if own else []


def _texted(value: Any) -> bytes:
    return json.dumps(value).encode()


def _replaced(chance: random.Random, value: Any) -> bytes:
    for _ in range(chance.choice((1, 1, 1, 3))):
        container, key = chance.choice(places(value) or [({}, "x")])
        container[key] = tree(chance)
    return _texted(value)


def _missing(chance: random.Random, value: Any) -> bytes:
    container, key = chance.choice(places(value))
    del container[key]
    return _texted(value)


def _more(chance: random.Random, value: Any) -> bytes:
    containers = [container for container, _ in places(value)]
    container = chance.choice(containers)
    if isinstance(container, list):
        container.extend(copy.deepcopy(container) * chance.choice((1, 10, 300)))
    else:
        names = ("x", "decision", "decisions", "questions", "input", "type", "choice", "score", "message", "text", "é")
        container[chance.choice(names)] = tree(chance)
    return _texted(value)


def _nested(chance: random.Random, value: Any) -> bytes:
    container, key = chance.choice(places(value))
    container[key] = "@"
    depth = chance.choice((10, 60, 64, 70, 900, 5000, 80_000))
    opening, closing = chance.choice((("[", "]"), ('{"a":', "}")))
    deep = (opening * depth + "1" + (closing * depth if chance.random() < 0.7 else ""))[: LIMIT_BYTES + 9]
    return _texted(value).replace(b'"@"', deep.encode())


def _number(chance: random.Random, value: Any) -> bytes:
    container, key = chance.choice(places(value))
    container[key] = "@"
    texts = ("1e999", "-1e999", "1e-999", "9" * 5000, "-0", "0.1e1", "NaN", "-Infinity", "01", "1.", "+1", "0x1", "1_0")
    return _texted(value).replace(b'"@"', chance.choice(texts).encode())


def _repeated_key(chance: random.Random, value: Any) -> bytes:
    pieces = _texted(value).split(b"{")
    index = chance.randrange(1, len(pieces))
    pieces[index] = b'"id":1,"id":2,' + pieces[index]
    return b"{".join(pieces)


def _cut(chance: random.Random, value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return text[: chance.randrange(len(text))]


def _other_bytes(chance: random.Random, value: Any) -> bytes:
    return damaged(chance, json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def damaged(chance: random.Random, body: bytes) -> bytes:
    """``body`` with a few bytes changed, lost, or added."""
    found = bytearray(body)
    for _ in range(chance.choice((1, 1, 3, 20))):
        place = chance.randrange(len(found) + 1)
        found[place : place + chance.choice((0, 1, 4))] = chance.randbytes(chance.choice((0, 1, 1, 5)))
    return bytes(found)


def _other_text(chance: random.Random, value: Any) -> bytes:
    text = json.dumps(value)
    return chance.choice(
        (
            text.encode("utf-16"),
            b"\xef\xbb\xbf" + text.encode(),
            text.encode() + b"\n" + text.encode(),
            text.encode() + b" " * chance.choice((1, 20_000)),
            b"\n".join([text.encode()] * 3 + [b"{", b"", text.encode()]),
            text.replace('"', "'").encode(),
            b"",
            chance.randbytes(chance.choice((1, 10, 3000))),
            text.encode() + b"\xc3",
        )
    )


def _swollen(chance: random.Random, value: Any) -> bytes:
    """As large as allowed, of the values that take most memory for their bytes."""
    container, key = chance.choice(places(value))
    container[key] = "@"
    frame = _texted(value)
    piece = chance.choice((b"[]", b"{}", b"9", b'{"a":1}', b'"x"', b"1.5", b'"\\ud800"'))
    room = LIMIT_BYTES - len(frame) - 10
    return frame.replace(b'"@"', b"[" + b",".join([piece] * (room // (len(piece) + 1))) + b"]", 1)


def _many_fields(chance: random.Random, value: Any) -> bytes:
    """As large as allowed, of fields that no contract has."""
    container, key = chance.choice(places(value))
    container[key] = {f"{number:x}": 0 for number in range(20_000)}
    return _texted(value)[:LIMIT_BYTES]


def _too_large(chance: random.Random, value: Any) -> bytes:
    return _texted(value) + b" " * (LIMIT_BYTES + chance.choice((0, 1000, 200_000)))


def _bomb(chance: random.Random, _: Any) -> bytes:
    return chance.choice(BOMBS)


BOMBS = (zstd.compress(b" " * 50_000_000), gzip.compress(b"[" * 50_000_000))

KINDS: dict[str, tuple[int, Callable[[random.Random, Any], bytes]]] = {
    "valid": (4, lambda _, value: _texted(value)),
    "replaced": (30, _replaced),
    "missing": (8, _missing),
    "more": (8, _more),
    "nested": (6, _nested),
    "number": (8, _number),
    "repeated key": (6, _repeated_key),
    "cut": (8, _cut),
    "other bytes": (10, _other_bytes),
    "other text": (8, _other_text),
    "any value": (8, lambda chance, _: _texted(tree(chance, 5))),
    "swollen": (1, _swollen),
    "many fields": (0.3, _many_fields),
    "too large": (0.5, _too_large),
    "bomb": (0.5, _bomb),
}
"""What is done to a valid body, and how often in a hundred."""
