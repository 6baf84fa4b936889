"""Decisions to ask, answers as an endpoint writes them, and a transport that gives them."""

import json
import threading
from collections.abc import Callable
from typing import Any

from decision_client import Decision, Option
from decision_client.errors import DecisionClientError

OPTIONS = (Option("account", "Account access."), Option("billing", "Payments."))


def decision(decision_id: str = "d", state: Any = "The reset email never arrived.", **fields: Any) -> Decision:
    return Decision(id=decision_id, state=state, **{"question": "Which queue?", "options": OPTIONS, **fields})


def result(asked: dict[str, Any], probabilities: tuple[float, ...] = (0.75, 0.25)) -> dict[str, Any]:
    """A result of the decision ``asked``, with the fields of the adapter's."""
    return {
        "id": asked["id"],
        "option_ids": [option["id"] for option in asked["options"]],
        "probabilities": list(probabilities),
        "option_logits": [2.0, 1.0],
        "answer_token_ids": [49, 50],
        "input_tokens": 100,
        "allowed_token_mass": 0.5,
        "full_vocab_argmax_id": 49,
        "full_vocab_argmax_is_option": True,
        "prompt_sha256": "5a" * 32,
        "prompt_version": "direct-options-v1",
        "temperature": 1.0,
        "readout": "next-token-logits",
        "forward_seconds": 0.01,
        "total_seconds": 0.02,
        "model": {
            "gguf": {"file": "m.gguf", "sha256": "b1" * 32, "bytes": 7},
            "tokenizer": {"repo": None, "revision": None},
            "llama_cpp": {"build": "b10433", "binding_version": "0.3.35"},
            "backends": ["CPU"],
            "gpu_layers": 0,
            "threads": 2,
            "prompt_profile": "direct-options-v1",
            "labels_sha256": "1a" * 32,
            "calibration": None,
        },
        "probability_status": "uncalibrated: softmax over the declared options only",
    }


TIMING = {
    "batch_size": 2,
    "prefix_tokens": 46,
    "encode_seconds": 0.1,
    "prefill_seconds": 0.2,
    "suffix_forward_seconds": 0.3,
    "total_seconds": 0.6,
}


def answer(body: bytes) -> bytes:
    """What an endpoint answers to ``body``."""
    asked = json.loads(body)
    if "decision" in asked:
        return json.dumps({"result": result(asked["decision"])}).encode()
    return json.dumps({"results": [result(one) for one in asked["decisions"]], "timing": TIMING}).encode()


class FakeTransport:
    """Answers each request with what ``respond`` returns or raises, and remembers the ids that were sent."""

    def __init__(self, respond: Callable[[bytes], bytes] = answer) -> None:
        self._respond = respond
        self._lock = threading.Lock()
        self.sent: list[list[str]] = []
        self.closed = False

    def send(self, body: bytes) -> bytes:
        with self._lock:
            self.sent.append(ids(body))
        return self._respond(body)

    def close(self) -> None:
        self.closed = True


def ids(body: bytes) -> list[str]:
    """The ids of the decisions in ``body``."""
    asked = json.loads(body)
    return [one["id"] for one in asked.get("decisions", [asked.get("decision")])]


def one_after_the_other(*responses: bytes | DecisionClientError) -> Callable[[bytes], bytes]:
    """Answers with ``responses`` in turn."""
    waiting = iter(responses)

    def respond(_: bytes) -> bytes:
        response = next(waiting)
        if isinstance(response, DecisionClientError):
            raise response
        return response

    return respond
