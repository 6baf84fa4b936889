"""The prompt layouts of Mapika's decider models: ``decider-plain`` and ``decider-chat``.

    Context:                        Every part is tokenised by itself: context, question, options when they are many.
    <state>                         In the plain layout question, options and "Answer: (" are one part, there is no chat
                                    template and no BOS. In the chat layout the chat template is put around context,
    Question: <question>            question and options, as its only message, and "Answer: (" is the beginning of the
    Options:                        model's turn.
    (A) <id>: <description>
    (B) <id>: <description>         Up to 10 options are text like the rest. For more, each label is put in as a token
    Answer: (                       of its own: A to Z, then pairs of letters.

The model answers with the token of a label alone.
"""

import hashlib
import json
from dataclasses import dataclass

import numpy as np

from decision_adapter import labels
from decision_adapter.chat_template import ChatTemplate, scaffold
from decision_adapter.decision import Decision, Option
from decision_adapter.engine import TokenIds, Tokenizer
from decision_adapter.errors import ModelError
from decision_adapter.labels import Labels
from decision_adapter.layout import Rendered
from decision_adapter.prompt import Scaffold

PLAIN = "decider-plain"
CHAT = "decider-chat"

NARROW = 10
"""Options up to which they are tokenised as one text."""

OPEN_THOUGHTS = {"<think>\n": "</think>\n\n", "<think>": "</think>\n\n", "<|channel>thought\n": "<channel|>"}
"""How a generation prompt can leave a thought open, and what closes it: the models were trained with it closed."""


@dataclass(frozen=True)
class DeciderOptions:
    """One of the two layouts; ``scaffold`` is the chat template's, None in the plain layout."""

    name: str
    labels: Labels
    tokenizer: Tokenizer
    scaffold: Scaffold | None = None

    def encode_state(self, decision: Decision) -> TokenIds:
        """Token ids of the prompt up to the end of the state."""
        head = [self._template(self.scaffold.before)] if self.scaffold else []
        return np.concatenate([*head, self._plain(_context(decision))])

    def render(self, decision: Decision) -> Rendered:
        """The whole prompt."""
        question, answer = f"\n\nQuestion: {decision.question}\nOptions:", "Answer: ("
        options = [f"({label}) {_text(option)}" for label, option in self._labelled(decision)]
        listed = "".join(f"\n{option}" for option in options)
        wide = len(options) > NARROW
        parts = [self.encode_state(decision)]
        if self.scaffold is None:
            before, after = "", f"\n{answer}"
            one_text = question + listed + after
            parts += (
                [self._plain(question), *self._wide(decision), self._plain(after)] if wide else [self._plain(one_text)]
            )
        else:
            before, after = self.scaffold.before, self.scaffold.after + answer
            parts += [self._plain(question), *(self._wide(decision) if wide else [self._plain(listed)])]
            parts += [self._template(self.scaffold.after), self._plain(answer)]
        text = before + _context(decision) + question + listed + after
        return Rendered(np.concatenate(parts), hashlib.sha256(text.encode()).hexdigest())

    def _wide(self, decision: Decision) -> list[TokenIds]:
        """Ids of the options, each label the one token it is answered with."""
        opening, parts = self._plain("\n("), list[TokenIds]()
        for token, option in zip(self.labels.ids, decision.options, strict=False):
            parts += [opening, np.array([token], dtype=np.int32), self._plain(f") {_text(option)}")]
        return parts

    def _labelled(self, decision: Decision) -> list[tuple[str, Option]]:
        return list(zip(self.labels.texts, decision.options, strict=False))

    def _plain(self, text: str) -> TokenIds:
        return self.tokenizer.tokenize(text, parse_special=False)

    def _template(self, text: str) -> TokenIds:
        return self.tokenizer.tokenize(text, parse_special=True)


def plain(tokenizer: Tokenizer) -> DeciderOptions:
    """``decider-plain``.

    Raises:
        ModelError: the vocabulary has too few labels.
    """
    return DeciderOptions(PLAIN, _labels(tokenizer), tokenizer)


def chat(tokenizer: Tokenizer, template: ChatTemplate) -> DeciderOptions:
    """``decider-chat``.

    Raises:
        TemplateError: the template cannot carry the prompt.
        ModelError: the vocabulary has too few labels.
    """
    around = scaffold(template, system=None)
    closing = next((closed for opened, closed in OPEN_THOUGHTS.items() if around.after.endswith(opened)), "")
    return DeciderOptions(CHAT, _labels(tokenizer), tokenizer, Scaffold(around.before, around.after + closing))


def _labels(tokenizer: Tokenizer) -> Labels:
    found = labels.alone(tokenizer)
    if found.texts[:NARROW] != labels.CANDIDATES[:NARROW]:
        raise ModelError(
            f"the letters A to J are not single tokens of this model's vocabulary; of all labels it has {len(found)}: "
            "it cannot be asked with a decider profile, set SEMIF_PROMPT_PROFILE to another"
        )
    return found


def _context(decision: Decision) -> str:
    state = decision.state if isinstance(decision.state, str) else json.dumps(decision.state, ensure_ascii=False)
    return f"Context:\n{state}"


def _text(option: Option) -> str:
    return option.id if option.id == option.description else f"{option.id}: {option.description}"
