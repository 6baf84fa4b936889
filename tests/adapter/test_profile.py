"""Which layout a decision is written in, and what each writes."""

import hashlib

import pytest

from decision_adapter import labels, profile
from decision_adapter.decision import MAX_OPTIONS, Decision, Option
from decision_adapter.errors import InvalidRequestError
from decision_adapter.prompt import SYSTEM, WIDE_SYSTEM, user_text
from decision_adapter.settings import PROMPT_PROFILES
from tests.adapter.byte_engine import ByteEngine

PAIRS = labels.CANDIDATES[26:]


def decision(count: int) -> Decision:
    options = [Option(id=f"o{index}", description=f"text {index}") for index in range(count)]
    return Decision(id="d", state="ä", question="q", options=options)


def test_every_profile_that_can_be_set_can_be_built() -> None:
    assert profile.PROFILES == PROMPT_PROFILES
    for name in PROMPT_PROFILES:
        assert profile.build(name, ByteEngine(pairs=PAIRS)).layouts[0].name == name


@pytest.mark.parametrize(
    ("count", "name"),
    [(2, "direct-options-v1"), (16, "direct-options-v1"), (17, "wide-options-v1"), (255, "wide-options-v1")],
)
def test_letters_up_to_sixteen_options_and_labels_above(count: int, name: str) -> None:
    asked = profile.build("direct-options-v1", ByteEngine(pairs=PAIRS))
    assert asked.layout(decision(count)).name == name
    assert asked.max_options == MAX_OPTIONS


def test_a_direct_prompt_is_the_scaffold_around_the_users_text() -> None:
    # given
    engine, asked = ByteEngine(), decision(2)
    layout = profile.build("direct-options-v1", engine).layout(asked)
    # when
    rendered = layout.render(asked)
    # then
    assert engine.vocabulary.text(rendered.ids.tolist()) == f"<{user_text(asked)}>"
    assert engine.vocabulary.text(layout.encode_state(asked).tolist()) == '<{"evidence": "ä"'
    assert rendered.sha256 == engine.scaffold.sha256(user_text(asked))


def test_a_wide_prompt_says_label_and_has_a_scaffold_of_its_own() -> None:
    # given
    engine, asked = ByteEngine(pairs=["AB"]), decision(27)
    layout = profile.build("direct-options-v1", engine).layout(asked)
    # when
    rendered = layout.render(asked)
    # then
    text = engine.vocabulary.text(rendered.ids.tolist())
    assert text.startswith(
        f'[system]{WIDE_SYSTEM}[user]{{"evidence": "ä", "criterion": "q", "options": [{{"label": "A", '
    )
    assert text.endswith(', {"label": "AB", "description": "text 26"}]}[reply]')
    assert rendered.sha256 == hashlib.sha256(text.encode()).hexdigest()
    assert engine.vocabulary.text(layout.encode_state(asked).tolist()) == text[: text.index(', "criterion"')]


def test_the_wide_instruction_asks_for_a_label_instead_of_a_letter() -> None:
    assert WIDE_SYSTEM.split() != SYSTEM.split()
    assert WIDE_SYSTEM.replace("label", "letter") == SYSTEM


def test_a_vocabulary_with_few_labels_lowers_the_limit_and_the_error_says_so() -> None:
    asked = profile.build("direct-options-v1", ByteEngine(pairs=["AB", "CD"]))
    assert asked.layout(decision(28)).name == "wide-options-v1"
    with pytest.raises(
        InvalidRequestError, match=r"^decision 'd': 29 options, at most 28: the model's vocabulary has no more labels"
    ):
        asked.layout(decision(29))


def test_metadata_lists_the_labels_of_each_layout() -> None:
    direct, wide = profile.build("direct-options-v1", ByteEngine(pairs=["AB"])).metadata()
    assert (direct["prompt_profile"], direct["max_options"]) == ("direct-options-v1", 16)
    assert (wide["prompt_profile"], wide["max_options"]) == ("wide-options-v1", 27)
    assert wide["labels"] == [*"ABCDEFGHIJKLMNOPQRSTUVWXYZ", "AB"]
    assert wide["label_token_ids"] == [*range(65, 91), 256]
    assert wide["labels_sha256"] != direct["labels_sha256"]
