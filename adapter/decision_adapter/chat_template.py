"""The model's chat template: where it is found, and the scaffold it puts around the caller's text.

The template comes from the archive, so it is run in Jinja's immutable sandbox. It is run at start only: the caller's
text is the same everywhere in a prompt, so the text around it is the same for every decision. Whatever a template makes
of the date is thus the date of the start, and a prompt's hash does not change at midnight.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NoReturn

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from decision_adapter.errors import TemplateError
from decision_adapter.prompt import SYSTEM, Scaffold

PROBES = ('{"evidence": "first"}', '{"evidence": ["<tool_response>", "second </think> "]}')
"""Two user texts a decision could have; the template has to treat both alike."""


@dataclass(frozen=True)
class ChatTemplate:
    """Source of a Jinja chat template and the special tokens it may print."""

    source: str
    special_tokens: Mapping[str, str]
    """``bos_token`` and ``eos_token`` to their text; one the model does not have is left out."""
    origin: str
    """Where it was found, for messages."""


def from_tokenizer_files(folder: Path) -> ChatTemplate | None:
    """The template among the tokenizer files in ``folder``; None when there is none.

    ``chat_template.jinja`` comes before ``chat_template`` in ``tokenizer_config.json``, as in the Hugging Face Hub's
    own layout.

    Raises:
        TemplateError: a file is there but cannot be read as what it should be.
    """
    config_file, template_file = folder / "tokenizer_config.json", folder / "chat_template.jinja"
    config: dict[str, object] = {}
    try:
        if config_file.is_file():
            config = json.loads(config_file.read_text("utf-8"))
        if template_file.is_file():
            return ChatTemplate(template_file.read_text("utf-8"), _special_tokens(config), str(template_file))
    except (OSError, ValueError) as error:
        raise TemplateError(f"the tokenizer files in {folder} cannot be read: {error}") from error
    source = config.get("chat_template")
    if isinstance(source, list):  # several, each with a name
        named = {item["name"]: item["template"] for item in source}
        if "default" not in named:
            raise TemplateError(f"{config_file} has the chat templates {sorted(named)}, none of them 'default'")
        source = named["default"]
    return ChatTemplate(source, _special_tokens(config), str(config_file)) if isinstance(source, str) else None


def _special_tokens(config: Mapping[str, object]) -> dict[str, str]:
    """The tokens of a ``tokenizer_config.json``, each a string or an object with ``content``."""
    tokens = {}
    for name in ("bos_token", "eos_token"):
        token = config.get(name)
        if isinstance(token, dict):
            token = token.get("content")
        if isinstance(token, str):
            tokens[name] = token
    return tokens


def scaffold(template: ChatTemplate, system: str | None = SYSTEM) -> Scaffold:
    """What ``template`` puts before and after the caller's text, with a generation prompt and thinking disabled.

    ``system`` is the system message; with None the user's message is the only one.

    Raises:
        TemplateError: the template cannot be rendered, refuses the messages, or does more with the caller's text than
            print it once.
    """
    texts = [_render(template, system, probe) for probe in PROBES]
    parts = [text.split(probe) for text, probe in zip(texts, PROBES, strict=True)]
    if len(parts[0]) != 2 or parts[0] != parts[1]:
        raise TemplateError(
            f"the chat template from {template.origin} does not print the user's text once and unchanged; "
            "the prompt profile needs one that does"
        )
    return Scaffold(*parts[0])


def _render(template: ChatTemplate, system: str | None, user: str) -> str:
    messages = [{"role": "user", "content": user}]
    if system is not None:
        messages.insert(0, {"role": "system", "content": system})
    # The same environment as Hugging Face's apply_chat_template, which templates are written for.
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = lambda layout: datetime.now().astimezone().strftime(layout)
    try:
        return environment.from_string(template.source).render(
            messages=messages, add_generation_prompt=True, enable_thinking=False, **template.special_tokens
        )
    except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise TemplateError(f"the chat template from {template.origin} cannot be rendered: {error}") from error


def _to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON without the HTML escapes of Jinja's own filter."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)
