"""Where a chat template is found, and the scaffold it gives."""

import json
from pathlib import Path
from typing import Any

import pytest

from decision_adapter.chat_template import ChatTemplate, from_tokenizer_files, scaffold
from decision_adapter.decision import Decision, Option
from decision_adapter.errors import TemplateError
from decision_adapter.prompt import SYSTEM, user_text

CHATML = (
    "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}"
    "{%- endif %}{%- endif %}"
)
USER = "{% for message in messages %}{{ message.content }}{% endfor %}"


def template(source: str, **special_tokens: str) -> ChatTemplate:
    return ChatTemplate(source, special_tokens, "a test")


def test_the_golden_hash() -> None:
    # given the decision for which others publish a hash
    descriptions = (
        "Account access and authentication support.",
        "Billing and payment support.",
        "Sales and product evaluation.",
    )
    decision = Decision(
        id="golden",
        state="Customer asks to reset a forgotten password and says the reset email never arrived.",
        question="Which queue should handle this request?",
        options=[Option(id=text, description=text) for text in descriptions],
    )
    # when it is rendered through a ChatML template with thinking disabled
    digest = scaffold(template(CHATML)).sha256(user_text(decision))
    # then
    assert digest == "016267542103ab91422c425d2234ec7e1b9aef77f9d3e481b96db2de7cca470a"


def test_the_scaffold_is_what_stands_around_the_users_text() -> None:
    found = scaffold(template(CHATML))
    assert found.before == f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n"
    assert found.after == "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"


def test_special_tokens_are_given_to_the_template() -> None:
    found = scaffold(template("{{ bos_token }}" + USER + "{{ eos_token }}", bos_token="<s>", eos_token="</s>"))
    assert found.before == f"<s>{SYSTEM}"
    assert found.after == "</s>"


def test_a_special_token_that_the_model_does_not_have_prints_nothing() -> None:
    assert scaffold(template("{{ bos_token }}" + USER)).before == SYSTEM


def test_tojson_escapes_no_html() -> None:
    found = scaffold(template(USER + "{{ {'b': '<ä>', 'a': 1} | tojson }}"))
    assert found.after == '{"b": "<ä>", "a": 1}'


def test_blocks_are_trimmed_and_loops_can_be_left() -> None:
    source = USER + "\n  {% for x in [1, 2] %}\n{{ x }}\n  {% break %}\n  {% endfor %}"
    assert scaffold(template(source)).after == "1\n"


def test_the_date_can_be_printed() -> None:
    assert len(scaffold(template(USER + "{{ strftime_now('%Y') }}")).after) == 4


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{{ raise_exception('System role not supported') }}", "System role not supported"),
        ("{% for %}", "Expected an expression"),
        ("{{ messages.missing.field }}", "has no attribute 'missing'"),
        ("{{ messages.__class__.__mro__ }}", "unsafe"),
        ("{{ messages.append(1) }}", "'append' of 'list' object is unsafe"),
        ("no place for the user", "does not print the user's text once and unchanged"),
        (USER * 2, "does not print the user's text once and unchanged"),
        ("{{ messages[1].content | upper }}", "does not print the user's text once and unchanged"),
        (USER + "{% if 'second' in messages[1].content %}!{% endif %}", "once and unchanged"),
    ],
)
def test_a_template_that_cannot_carry_the_prompt_is_refused(source: str, reason: str) -> None:
    with pytest.raises(TemplateError, match=reason):
        scaffold(template(source))


def write_config(folder: Path, **config: Any) -> None:
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def test_the_jinja_file_comes_first(tmp_path: Path) -> None:
    write_config(tmp_path, chat_template="config", bos_token="<s>", eos_token={"content": "</s>"})
    (tmp_path / "chat_template.jinja").write_text("file")
    found = from_tokenizer_files(tmp_path)
    assert found is not None
    assert found.source == "file"
    assert found.special_tokens == {"bos_token": "<s>", "eos_token": "</s>"}


def test_the_configurations_template_is_next(tmp_path: Path) -> None:
    write_config(tmp_path, chat_template="config", bos_token=None)
    found = from_tokenizer_files(tmp_path)
    assert found is not None
    assert (found.source, found.special_tokens) == ("config", {})


def test_of_several_named_templates_the_default_is_taken(tmp_path: Path) -> None:
    templates = [{"name": "tool_use", "template": "tools"}, {"name": "default", "template": "default text"}]
    write_config(tmp_path, chat_template=templates)
    found = from_tokenizer_files(tmp_path)
    assert found is not None
    assert found.source == "default text"


def test_named_templates_without_a_default_are_refused(tmp_path: Path) -> None:
    write_config(tmp_path, chat_template=[{"name": "rag", "template": "x"}])
    with pytest.raises(TemplateError, match=r"has the chat templates \['rag'\], none of them 'default'"):
        from_tokenizer_files(tmp_path)


def test_a_broken_configuration_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text("{")
    with pytest.raises(TemplateError, match="cannot be read"):
        from_tokenizer_files(tmp_path)


def test_without_tokenizer_files_there_is_none(tmp_path: Path) -> None:
    assert from_tokenizer_files(tmp_path / "missing") is None
    write_config(tmp_path, bos_token="<s>")
    assert from_tokenizer_files(tmp_path) is None
