"""The decider layouts, piece by piece."""

import hashlib
from typing import Any

import pytest

from decision_adapter import decider, labels
from decision_adapter.chat_template import ChatTemplate
from decision_adapter.decision import Decision, Option
from decision_adapter.errors import ModelError
from tests.adapter.byte_engine import ByteTokenizer

QUEUES = [Option(id="billing", description="Payments."), Option(id="other", description="other")]


def decision(state: Any = "It never arrived.", options: list[Option] = QUEUES) -> Decision:
    return Decision(id="d", state=state, question="Which queue?", options=options)


def template(ending: str = "<reply>") -> ChatTemplate:
    source = "<bos>{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}" + ending
    return ChatTemplate(source, {}, "a test")


class CountingTokenizer(ByteTokenizer):
    """Remembers what it was asked to tokenise, and how."""

    def __init__(self, pairs: tuple[str, ...] = ()) -> None:
        super().__init__(pairs)
        self.asked: list[tuple[str, bool]] = []

    def tokenize(self, text: str, parse_special: bool) -> Any:
        self.asked.append((text, parse_special))
        return super().tokenize(text, parse_special)


def test_the_plain_layout_is_context_and_question_tokenised_apart() -> None:
    # given
    tokenizer = CountingTokenizer()
    layout = decider.plain(tokenizer)
    tokenizer.asked.clear()
    # when
    rendered = layout.render(decision())
    # then
    context = "Context:\nIt never arrived."
    question = (
        "\n\nQuestion: Which queue?\nOptions:\n(A) billing: Payments.\n(B) other\nAnswer: ("  # other: other reads other
    )
    assert tokenizer.asked == [(context, False), (question, False)]
    assert tokenizer.text(rendered.ids.tolist()) == context + question
    assert rendered.sha256 == hashlib.sha256((context + question).encode()).hexdigest()
    assert tokenizer.text(layout.encode_state(decision()).tolist()) == context


def test_a_state_that_is_no_text_is_json() -> None:
    tokenizer = ByteTokenizer()
    state = decider.plain(tokenizer).encode_state(decision(state={"b": "ä", "a": [1]}))
    assert tokenizer.text(state.tolist()) == 'Context:\n{"b": "ä", "a": [1]}'


def test_more_than_ten_options_are_put_in_label_by_label() -> None:
    # given a vocabulary that would take "A)" for one token, and AB is the label of option 27
    tokenizer = CountingTokenizer(("A)", "AB"))
    layout = decider.plain(tokenizer)
    options = [Option(id=f"o{index}", description=f"o{index}") for index in range(27)]
    tokenizer.asked.clear()
    # when
    ids = layout.render(decision(options=options)).ids.tolist()
    # then no label has merged with what follows it, and the text is that of few options
    labelled = [f"\n({label}) o{index}" for index, label in enumerate(layout.labels.texts)]
    assert tokenizer.text(ids).endswith(f"\n\nQuestion: Which queue?\nOptions:{''.join(labelled)}\nAnswer: (")
    assert tokenizer.asked[-2:] == [(") o26", False), ("\nAnswer: (", False)]
    assert [token for token in ids if token >= 256] == [257]
    assert len(layout.labels) == 27


def test_ten_options_are_still_one_text() -> None:
    tokenizer = CountingTokenizer()
    options = [Option(id=f"o{index}", description="x") for index in range(10)]
    layout = decider.plain(tokenizer)
    tokenizer.asked.clear()
    layout.render(decision(options=options))
    assert len(tokenizer.asked) == 2


def test_the_chat_layout_puts_the_template_around_the_question_and_the_answer_after_it() -> None:
    # given
    tokenizer = CountingTokenizer()
    layout = decider.chat(tokenizer, template())
    tokenizer.asked.clear()
    # when
    rendered = layout.render(decision())
    # then there is no system message, every part stands alone, and only the template's may hold control tokens
    assert tokenizer.asked == [
        ("<bos><user>", True),
        ("Context:\nIt never arrived.", False),
        ("\n\nQuestion: Which queue?\nOptions:", False),
        ("\n(A) billing: Payments.\n(B) other", False),
        ("<reply>", True),
        ("Answer: (", False),
    ]
    text = "".join(part for part, _ in tokenizer.asked)
    assert tokenizer.text(rendered.ids.tolist()) == text
    assert rendered.sha256 == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("ending", "closed"),
    [
        ("<think>\n", "<think>\n</think>\n\n"),
        ("<|channel>thought\n", "<|channel>thought\n<channel|>"),
        ("<think>\n\n</think>\n\n", "<think>\n\n</think>\n\n"),
    ],
)
def test_a_thought_that_the_template_leaves_open_is_closed(ending: str, closed: str) -> None:
    layout = decider.chat(ByteTokenizer(), template("{{ " + repr(ending) + " }}"))
    assert layout.scaffold is not None
    assert layout.scaffold.after == closed


def test_a_vocabulary_without_letters_is_refused() -> None:
    class Wordy(ByteTokenizer):
        def piece(self, token: int) -> str:
            return " " + super().piece(token)

    with pytest.raises(ModelError, match="the letters A to J are not single tokens of this model's vocabulary"):
        decider.plain(Wordy())


def test_labels_are_single_tokens_by_themselves() -> None:
    assert decider.plain(ByteTokenizer()).labels == labels.alone(ByteTokenizer())
