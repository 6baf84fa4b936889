"""What is asked: decisions about texts of a chosen length, none of which is asked twice."""

import itertools
import random
from collections.abc import Iterator

from decision_client import Decision, Option

_SENTENCES = (
    "The customer wrote that a parcel is still missing after nine days.",
    "She asks for money back because nobody answered.",
    "An agent found two entries with different dates.",
    "The invoice was changed on request, then changed back.",
)
_WORDS = " ".join(_SENTENCES).split()
_OPTIONS = (
    Option("account", "Account access and authentication support."),
    Option("billing", "Billing, payments and refunds."),
)


def decisions(state_words: int, seed: int, *, same_state: bool) -> Iterator[Decision]:
    """Decisions without end; each about a new text, or with ``same_state`` each a new question about one.

    Two runs with the same ``seed`` ask the same.
    """
    draw = random.Random(f"{seed}:{state_words}")
    text = _text(draw, state_words)
    for number in itertools.count(1):
        # the number stands first, so that no text begins as another does
        state = text if same_state else f"Case {seed}.{number}: {_text(draw, state_words)}"
        question = f"Which team should handle case {seed}.{number}?" if same_state else "Which team should handle this?"
        yield Decision(id=str(number), state=state, question=question, options=_OPTIONS)


def _text(draw: random.Random, words: int) -> str:
    return " ".join(draw.choices(_WORDS, k=words))
