"""A loaded model as an ``Engine``."""

import logging
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import llama_cpp
import numpy as np

from decision_adapter.chat_template import ChatTemplate, scaffold
from decision_adapter.engine import Evaluation, Segments, Stop, TokenIds, common_prefix
from decision_adapter.errors import ModelError, TemplateError
from decision_adapter.llama.context import Context
from decision_adapter.llama.prefixes import Prefixes
from decision_adapter.llama.vocabulary import Vocabulary
from decision_adapter.prompt import Scaffold

log = logging.getLogger(__name__)


class LlamaEngine:
    """One model, one context. ``evaluate`` belongs to the engine thread, ``encode`` to any.

    A prompt is decoded from wherever a kept prefix ends, which is at one of its cuts. The cuts follow from the prompt
    alone, and what lies between two of them has the same bits however it is decoded, so a prompt's logits are the same
    bits whatever was kept.
    """

    def __init__(
        self,
        gguf: Path,
        template: ChatTemplate | None,
        max_tokens: int,
        threads: int,
        n_gpu_layers: int,
        *,
        cache_tokens: int = 16_384,
    ) -> None:
        """Load ``gguf``; its own chat template is used where ``template`` is None.

        Raises:
            ModelError: llama.cpp cannot load it or create its context.
        """
        parameters = llama_cpp.llama_model_default_params()
        parameters.n_gpu_layers = n_gpu_layers
        self._model = llama_cpp.llama_model_load_from_file(str(gguf).encode(), parameters)
        if not self._model:
            raise ModelError(f"llama.cpp cannot load {gguf}; its own message is in the log lines above")
        self.vocabulary = Vocabulary(llama_cpp.llama_model_get_vocab(self._model))
        self._template = template
        self.layers: int = llama_cpp.llama_model_n_layer(self._model)
        self.max_tokens = min(max_tokens, llama_cpp.llama_model_n_ctx_train(self._model))
        self._context = Context(self._model, self.max_tokens, threads, n_gpu_layers != 0, self.vocabulary.size)
        self._prefixes = Prefixes(self._context, self._scaffold_ids(), cache_tokens)
        kind = self._context.kind
        log.info("memory: %s; kept prefixes are %s", kind.title, kind.describe_reuse())

    @cached_property
    def template(self) -> ChatTemplate:
        """The chat template, asked for at start by the prompt profiles that need one.

        Raises:
            TemplateError: there is none.
        """
        return self._template or self._own_template()

    @cached_property
    def scaffold(self) -> Scaffold:
        """What the chat template puts around the caller's text of ``direct-options-v1``.

        Raises:
            TemplateError: there is no chat template, or one that cannot carry the prompt.
        """
        return scaffold(self.template)

    @cached_property
    def answer_ids(self) -> tuple[int, ...]:
        """Token id of each answer letter, A first.

        Raises:
            ModelError: the model cannot answer in letters.
        """
        return self.vocabulary.answer_ids(self.scaffold)

    def encode(self, user: str, after: str) -> TokenIds:
        """Token ids of the scaffold's beginning, ``user`` as plain text, and ``after``. Any thread."""
        return self.vocabulary.encode(self.scaffold.before, user, after)

    def evaluate(self, prompts: Sequence[Segments], stop: Stop | None = None) -> list[Evaluation]:
        """Next-token logits of each prompt, in order. The engine thread only."""
        self._context.obey(stop or Stop())
        return [self._evaluate(prompt) for prompt in prompts]

    def examine(self, stop: Stop | None = None) -> None:
        """Find out whether long states can be read faster, with the same bits. The engine thread only."""
        if not self._context.reads_in_blocks:
            return
        self._prefixes.forget_held()
        self._context.obey(stop or Stop())
        self._context.examine()
        if self._context.reads_in_blocks:
            log.warning("these kernels give other bits to longer decodes; states are read block by block, more slowly")

    def close(self) -> None:
        """Free context and model."""
        self._context.close()
        llama_cpp.llama_model_free(self._model)

    def _evaluate(self, prompt: Segments) -> Evaluation:
        started = time.perf_counter()
        position, reused_tokens = self._prefixes.reach(prompt.prefix, len(prompt))
        reached = time.perf_counter()
        logits = self._context.decode_last(np.concatenate([prompt.prefix[position:], prompt.suffix]), position)
        self._prefixes.hold(prompt.prefix)
        return Evaluation(logits, reached - started, time.perf_counter() - reached, reused_tokens)

    def _scaffold_ids(self) -> TokenIds:
        """What the prompts of all states begin with; empty for a model without a chat template."""
        texts = ('{"evidence": "a', '{"evidence": [1', '{"evidence": {"b')
        try:
            first, *others = (self.encode(text, "") for text in texts)
        except TemplateError:  # for the prompt profile to tell, if it needs one
            return np.array([], dtype=np.int32)
        return first[: min(common_prefix(first, other) for other in others)]

    def _own_template(self) -> ChatTemplate:
        source = llama_cpp.llama_model_chat_template(self._model, None)
        if not source:
            raise TemplateError("no chat template: neither the tokenizer files nor the GGUF hold one")
        return ChatTemplate(source.decode("utf-8"), self.vocabulary.special_tokens(), "the GGUF")
