"""SemIf's prompt layout: what the model reads, byte for byte, in ``direct-options-v1`` and ``wide-options-v1``.

The SHA-256 of the rendered text is part of the contract, so nothing here may change: a new wording is a new profile.
The wording of ``direct-options-v1`` is that of SemIf; see NOTICE. ``wide-options-v1`` is the same for options that
outnumber the letters: it says "label" where the other says "letter", and labels can have two letters.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from decision_adapter.decision import Decision

PROMPT_VERSION = "direct-options-v1"
WIDE_VERSION = "wide-options-v1"

LETTERS = "ABCDEFGHIJKLMNOP"

SYSTEM = (
    "Apply the supplied criterion to the supplied evidence. Choose exactly one listed option. "
    "Respond with only its uppercase letter, with no explanation or reasoning."
)
WIDE_SYSTEM = SYSTEM.replace("uppercase letter", "uppercase label")


@dataclass(frozen=True)
class UserText:
    """The caller's part of a prompt, in the two pieces between which it is cut."""

    state: str
    """``{"evidence": <state>``: the same for every question about a state."""
    question: str
    """``, "criterion": …}``: the rest."""

    def __str__(self) -> str:
        return self.state + self.question


@dataclass(frozen=True)
class Scaffold:
    """What the chat template puts around the caller's text; the same for every decision of a model."""

    before: str
    after: str

    def sha256(self, user: UserText) -> str:
        """SHA-256, in hex, of the whole prompt in UTF-8."""
        return hashlib.sha256(f"{self.before}{user}{self.after}".encode()).hexdigest()


def user_text(decision: Decision, key: str = "letter", labels: Sequence[str] = LETTERS) -> UserText:
    """The JSON text the model reads for ``decision``: keys in this order, default separators, non-ASCII as it is.

    Each option is an object of its label, under ``key``, and its description.
    """
    options = [
        {key: label, "description": option.description} for label, option in zip(labels, decision.options, strict=False)
    ]
    evidence = {"evidence": decision.state}
    state = json.dumps(evidence, ensure_ascii=False)[:-1]  # without the closing brace
    whole = json.dumps({**evidence, "criterion": decision.question, "options": options}, ensure_ascii=False)
    return UserText(state, whole[len(state) :])
