"""A model loaded and its context created by a process that does nothing else: the least that a start can take.

Run as a program: GGUF, tokens, threads, layers on the GPU, folder of the libraries or nothing. Prints the seconds that
loading and creating took, without starting Python and importing the binding.
"""

import sys
import time
from pathlib import Path

from decision_adapter.llama import library


def main() -> None:
    """Load, create, print."""
    gguf, tokens, threads, layers, folder = sys.argv[1:]
    library.load(Path(folder) if folder else None)
    import llama_cpp  # noqa: PLC0415  # has to find the libraries that were just loaded

    started = time.perf_counter()
    model_parameters = llama_cpp.llama_model_default_params()
    model_parameters.n_gpu_layers = int(layers)
    model = llama_cpp.llama_model_load_from_file(gguf.encode(), model_parameters)
    parameters = llama_cpp.llama_context_default_params()
    parameters.n_ctx = int(tokens)
    parameters.n_threads = parameters.n_threads_batch = int(threads)
    if not llama_cpp.llama_init_from_model(model, parameters):
        sys.exit("llama.cpp cannot create the context")
    print(time.perf_counter() - started, flush=True)


if __name__ == "__main__":
    main()
