"""What a prompt layout is: the one thing that differs between prompt profiles."""

from dataclasses import dataclass
from typing import Protocol

from decision_adapter.decision import Decision
from decision_adapter.engine import TokenIds
from decision_adapter.labels import Labels


@dataclass(frozen=True)
class Rendered:
    """A whole prompt: its token ids, and the SHA-256, in hex, of its text in UTF-8."""

    ids: TokenIds
    sha256: str


class Layout(Protocol):
    """Writes decisions for a model. Any thread."""

    @property
    def name(self) -> str:
        """The prompt profile in the answer, ``prompt_version``."""

    @property
    def labels(self) -> Labels:
        """The labels, in the order in which options get them; as many as a decision may have options."""

    def encode_state(self, decision: Decision) -> TokenIds:
        """Token ids of the prompt up to the end of the state: the same for every question about it."""

    def render(self, decision: Decision) -> Rendered:
        """The whole prompt; its ids begin with the state's, but for a last token that can merge with the question."""
