"""A loaded model as an ``Engine``."""

import time
from collections.abc import Sequence
from pathlib import Path

import llama_cpp

from decision_adapter.chat_template import ChatTemplate, scaffold
from decision_adapter.engine import Evaluation, Segments, Stop, TokenIds
from decision_adapter.errors import ModelError, TemplateError
from decision_adapter.llama.context import BRANCH, KEPT, Context
from decision_adapter.llama.vocabulary import Vocabulary


class LlamaEngine:
    """One model, one context. ``evaluate`` belongs to the engine thread, ``encode`` to any.

    A state is decoded once into the kept sequence, and each question about it into a branch of its own, one branch a
    decode. The last question needs no branch: nothing comes after it, so it continues the kept sequence itself. Both
    ways give the same bits, as does decoding a prompt alone, because the cuts and the memory's layout are the same.
    """

    def __init__(
        self, gguf: Path, template: ChatTemplate | None, max_tokens: int, threads: int, n_gpu_layers: int
    ) -> None:
        """Load ``gguf``; its own chat template is used where ``template`` is None.

        Raises:
            ModelError: llama.cpp cannot load it or create its context, or it cannot answer in letters.
            TemplateError: there is no chat template, or one that cannot carry the prompt.
        """
        parameters = llama_cpp.llama_model_default_params()
        parameters.n_gpu_layers = n_gpu_layers
        self._model = llama_cpp.llama_model_load_from_file(str(gguf).encode(), parameters)
        if not self._model:
            raise ModelError(f"llama.cpp cannot load {gguf}; its own message is in the log lines above")
        self.vocabulary = Vocabulary(llama_cpp.llama_model_get_vocab(self._model))
        self.scaffold = scaffold(template or self._own_template())
        self.answer_ids = self.vocabulary.answer_ids(self.scaffold)
        self.layers: int = llama_cpp.llama_model_n_layer(self._model)
        self.max_tokens = min(max_tokens, llama_cpp.llama_model_n_ctx_train(self._model))
        self._context = Context(self._model, self.max_tokens, threads, n_gpu_layers != 0, self.vocabulary.size)

    def encode(self, user: str, after: str) -> TokenIds:
        """Token ids of the scaffold's beginning, ``user`` as plain text, and ``after``. Any thread."""
        return self.vocabulary.encode(self.scaffold.before, user, after)

    def evaluate(self, prompts: Sequence[Segments], stop: Stop | None = None) -> list[Evaluation]:
        """Next-token logits of each prompt; prompts in a row with the same prefix share its decode."""
        self._context.obey(stop or Stop())
        evaluations: list[Evaluation] = []
        kept: bytes | None = None
        prefixes = [prompt.prefix.tobytes() for prompt in prompts]
        for prompt, prefix, following in zip(prompts, prefixes, [*prefixes[1:], None], strict=True):
            started = time.perf_counter()
            if prefix != kept:
                self._context.clear()
                self._context.decode(prompt.prefix, 0, KEPT, output=False)
            prefilled = time.perf_counter()
            sequence = KEPT if following != prefix else BRANCH
            if sequence == BRANCH:
                self._context.branch()
            self._context.decode(prompt.suffix, len(prompt.prefix), sequence, output=True)
            logits = self._context.logits()
            kept_seconds = 0.0 if prefix == kept else prefilled - started
            evaluations.append(Evaluation(logits, kept_seconds, time.perf_counter() - prefilled))
            kept = prefix if sequence == BRANCH else None
        return evaluations

    def close(self) -> None:
        """Free context and model."""
        self._context.close()
        llama_cpp.llama_model_free(self._model)

    def _own_template(self) -> ChatTemplate:
        source = llama_cpp.llama_model_chat_template(self._model, None)
        if not source:
            raise TemplateError("no chat template: neither the tokenizer files nor the GGUF hold one")
        return ChatTemplate(source.decode("utf-8"), self.vocabulary.special_tokens(), "the GGUF")
