"""Labels are single tokens in their place, distinct, and the same each time."""

from decision_adapter import labels
from decision_adapter.decision import MAX_OPTIONS
from tests.adapter.byte_engine import ByteTokenizer


def test_letters_come_first_and_then_the_pairs_that_are_tokens() -> None:
    found = labels.after(ByteTokenizer(["ZZ", "AB"]), ">")
    assert found.texts == (*"ABCDEFGHIJKLMNOPQRSTUVWXYZ", "AB", "ZZ")
    assert found.ids[:2] == (65, 66)
    assert found.ids[-2:] == (257, 256)
    assert found == labels.after(ByteTokenizer(["ZZ", "AB"]), ">")


def test_there_are_never_more_than_a_decision_has_options() -> None:
    found = labels.after(ByteTokenizer(labels.CANDIDATES[26:]), "")
    assert len(found) == MAX_OPTIONS == len(set(found.ids))
    assert found.texts[-1] == "IU"  # 26 letters, 8 rows of 26 pairs, 21 of the ninth


def test_a_label_that_merges_with_what_stands_before_it_is_none() -> None:
    # given a vocabulary in which "(A" is one token
    tokenizer = ByteTokenizer(["(A", "AB"])
    # then after the bracket neither A nor AB is a label, by itself both are
    assert not {"A", "AB"} & set(labels.after(tokenizer, "(").texts)
    assert {"A", "AB"} <= set(labels.alone(tokenizer).texts)


def test_the_hash_names_texts_and_ids() -> None:
    letters = labels.Labels(("A", "B"), (65, 66))
    assert len(letters.sha256) == 64
    assert letters.sha256 != labels.Labels(("A", "B"), (65, 67)).sha256
    assert letters.sha256 != labels.Labels(("A", "C"), (65, 66)).sha256
