"""Prompt profiles: how a decision is written for a model, and which tokens answer it.

A *layout* writes one decision: it gives the token ids of the state and of the whole prompt, the hash of its text, and
the labels that stand for the options. A *profile* is the layouts that a model is asked with, one for each range of
numbers of options.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from decision_adapter import decider, labels
from decision_adapter.chat_template import ChatTemplate, scaffold
from decision_adapter.decision import Decision
from decision_adapter.engine import Engine, TokenIds, Tokenizer
from decision_adapter.errors import InvalidRequestError
from decision_adapter.labels import Labels
from decision_adapter.layout import Layout, Rendered
from decision_adapter.prompt import LETTERS, PROMPT_VERSION, WIDE_SYSTEM, WIDE_VERSION, Scaffold, UserText, user_text

PROFILES = (PROMPT_VERSION, decider.PLAIN, decider.CHAT)
"""What ``build`` knows; the first goes on to ``wide-options-v1`` when the letters run out."""


class TemplatedEngine(Engine, Protocol):
    """An engine whose vocabulary and chat template can be asked for."""

    @property
    def vocabulary(self) -> Tokenizer:
        """The model's vocabulary."""

    @property
    def template(self) -> ChatTemplate:
        """The model's chat template. Raises TemplateError when there is none."""


@dataclass(frozen=True)
class JsonOptions:
    """SemIf's layout: one JSON object inside a chat template, tokenised as one text."""

    name: str
    key: str
    """What an option's label is called: ``letter`` or ``label``."""
    labels: Labels
    scaffold: Scaffold
    encode: Callable[[str, str], TokenIds]
    """Token ids of the scaffold's beginning, a caller's text as plain text, and what follows."""

    def encode_state(self, decision: Decision) -> TokenIds:
        """Token ids of the prompt up to the end of the state."""
        return self.encode(self._text(decision).state, "")

    def render(self, decision: Decision) -> Rendered:
        """The whole prompt."""
        text = self._text(decision)
        return Rendered(self.encode(str(text), self.scaffold.after), self.scaffold.sha256(text))

    def _text(self, decision: Decision) -> UserText:
        return user_text(decision, self.key, self.labels.texts)


class Profile:
    """The layouts of a model, from the fewest options to the most."""

    def __init__(self, layouts: Sequence[Layout]) -> None:
        self.layouts = sorted(layouts, key=lambda layout: len(layout.labels))

    @property
    def max_options(self) -> int:
        """Options a decision may have."""
        return len(self.layouts[-1].labels)

    def layout(self, decision: Decision) -> Layout:
        """The layout for ``decision``: the first with a label for each option.

        Raises:
            InvalidRequestError: the vocabulary has too few labels.
        """
        count = len(decision.options)
        for layout in self.layouts:
            if count <= len(layout.labels):
                return layout
        raise InvalidRequestError(
            f"decision {decision.id[:40]!r}: {count} options, at most {self.max_options}: the model's vocabulary has "
            f"no more labels that are one token (GET /metadata lists them); send fewer options"
        )

    def metadata(self) -> list[dict[str, object]]:
        """Name and labels of each layout."""
        return [
            {
                "prompt_profile": layout.name,
                "max_options": len(layout.labels),
                "labels_sha256": layout.labels.sha256,
                "labels": list(layout.labels.texts),
                "label_token_ids": list(layout.labels.ids),
            }
            for layout in self.layouts
        ]


def direct_options(engine: Engine) -> JsonOptions:
    """``direct-options-v1``: the letters A to P."""
    letters = Labels(tuple(LETTERS[: len(engine.answer_ids)]), engine.answer_ids)
    return JsonOptions(PROMPT_VERSION, "letter", letters, engine.scaffold, engine.encode)


def wide_options(engine: TemplatedEngine) -> JsonOptions:
    """``wide-options-v1``: as many labels as the vocabulary has, 255 at most."""
    around = scaffold(engine.template, WIDE_SYSTEM)
    found = labels.after(engine.vocabulary, around.after)
    return JsonOptions(WIDE_VERSION, "label", found, around, partial(engine.vocabulary.encode, around.before))


def build(name: str, engine: TemplatedEngine) -> Profile:
    """The profile called ``name``, one of ``PROFILES``.

    Raises:
        TemplateError: it needs a chat template, and there is none that can carry it.
        ModelError: the vocabulary has too few labels for it.
    """
    if name == decider.PLAIN:
        return Profile([decider.plain(engine.vocabulary)])
    if name == decider.CHAT:
        return Profile([decider.chat(engine.vocabulary, engine.template)])
    direct, wide = direct_options(engine), wide_options(engine)
    return Profile([direct, wide] if len(wide.labels) > len(direct.labels) else [direct])
