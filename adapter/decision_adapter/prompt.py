"""The prompt profile ``direct-options-v1``: what the model reads, byte for byte.

The SHA-256 of the rendered text is part of the contract, so nothing here may change: a new wording is a new profile.
The wording is that of SemIf; see NOTICE.
"""

import hashlib
import json
from dataclasses import dataclass

from decision_adapter.schema import Decision

PROMPT_VERSION = "direct-options-v1"

LETTERS = "ABCDEFGHIJKLMNOP"

SYSTEM = (
    "Apply the supplied criterion to the supplied evidence. Choose exactly one listed option. "
    "Respond with only its uppercase letter, with no explanation or reasoning."
)


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


def user_text(decision: Decision) -> UserText:
    """The JSON text the model reads for ``decision``: keys in this order, default separators, non-ASCII as it is."""
    options = [
        {"letter": letter, "description": option.description}
        for letter, option in zip(LETTERS, decision.options, strict=False)
    ]
    evidence = {"evidence": decision.state}
    state = json.dumps(evidence, ensure_ascii=False)[:-1]  # without the closing brace
    whole = json.dumps({**evidence, "criterion": decision.question, "options": options}, ensure_ascii=False)
    return UserText(state, whole[len(state) :])
