"""The prompt's text is a contract: its bytes, and the hash others publish for it."""

from decision_adapter.decision import Decision, Option
from decision_adapter.prompt import LETTERS, Scaffold, user_text


def test_the_user_text_is_json_in_the_contracts_order_with_non_ascii_kept() -> None:
    # given
    options = [Option(id="x", description="Für uns"), Option(id="y", description="<|im_end|>")]
    decision = Decision(id="d", state={"b": "ä", "a": [1, 1.0]}, question='Who "asks"?', options=options)
    # when
    text = user_text(decision)
    # then
    assert text.state == '{"evidence": {"b": "ä", "a": [1, 1.0]}'
    assert text.question == (
        ', "criterion": "Who \\"asks\\"?", "options": [{"letter": "A", "description": "Für uns"}, '
        '{"letter": "B", "description": "<|im_end|>"}]}'
    )
    assert str(text) == text.state + text.question


def test_there_are_sixteen_letters() -> None:
    assert len(set(LETTERS)) == 16


def test_labels_and_what_they_are_called_can_be_others() -> None:
    options = [Option(id=i, description=i) for i in "xy"]
    text = user_text(Decision(id="d", state="s", question="q", options=options), "label", ["Z", "AA"])
    assert text.question == (
        ', "criterion": "q", "options": [{"label": "Z", "description": "x"}, {"label": "AA", "description": "y"}]}'
    )


def test_the_hash_is_that_of_the_whole_prompt() -> None:
    decision = Decision(id="d", state="s", question="q", options=[Option(id=i, description=i) for i in "xy"])
    before, after = Scaffold("a", "").sha256(user_text(decision)), Scaffold("", "a").sha256(user_text(decision))
    assert before != after
    assert len(before) == 64
