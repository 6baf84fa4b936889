"""What NOTICE says about the packages in the decision image."""

import re
from pathlib import Path

# What packages say that do not name their licence by its SPDX identifier: their licence files have these.
SPDX = {
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: MIT License": "MIT",
}


def licences(root: Path) -> dict[str, str]:
    """The licence of each package that NOTICE names."""
    return dict(re.findall(r"^  ([\w.-]+): (.+)$", (root / "NOTICE").read_text(), re.MULTILINE))
