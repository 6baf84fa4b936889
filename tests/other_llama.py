"""Libraries made for a test: a llama.cpp that the binding was not made for, and whatever else C can say."""

import subprocess
from pathlib import Path

# A later llama_model_params: a field in the middle, as one release of llama.cpp inserted it.
WITH_ONE_FIELD_MORE = """
#include <stdint.h>
#include <stdbool.h>
struct model_params {
    void *devices, *overrides; int32_t n_gpu_layers; int split_mode; int load_mode; int lazy_mode; int32_t main_gpu;
    const float *tensor_split; void *progress, *progress_data; const void *kv_overrides;
    bool vocab_only, check_tensors, use_extra_bufts, no_host, no_alloc, load_mtp;
};
struct model_params llama_model_default_params(void) {
    struct model_params defaults = { .n_gpu_layers = -1, .split_mode = 1, .load_mode = -1, .lazy_mode = 1,
                                     .use_extra_bufts = true };
    return defaults;
}
"""


def compile_library(path: Path, source: str, *options: str) -> Path:
    """Compile ``source`` to the shared library ``path``; returns it."""
    written = path.with_suffix(".c")
    written.write_text(source)
    subprocess.run(["gcc", "-shared", "-fPIC", str(written), "-o", str(path), *options], check=True)
    return path
