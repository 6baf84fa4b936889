"""The last step of an image's build: the binding and the base's libraries are made for each other and compute rightly.

    python -m proof.prove LIBRARIES ACCELERATOR REPORT

Decodes a tiny model with every CPU backend that this machine can run, each in a process of its own, and compares the
logits with those of plain arithmetic. Prints what was found, writes it to REPORT as JSON, and fails with the reason.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decision_adapter.llama.backends import AMX_VARIANTS, score
from proof import reference
from proof import tiny_gguf as tiny
from proof.decode import LENGTHS

ADAPTER = Path("/opt/adapter")
ADDED_BYTES = 120_000_000
"""What an image may add to its base."""

TOLERANCE = 0.4
"""How far a logit may be from float64's, where logits spread by 2.5 and a wrong kernel is off by as much.

llama.cpp rounds what it multiplies with quantized weights to 8 bits, each kernel in its own way: 0.14 to 0.2 were seen
with 12 backends of x86.
"""

NEVER_USED = "never used unless SEMIF_ALLOW_AMX=1"

DRIVER_LIBRARIES = ("libcuda.so.1", "libnvidia-ml.so.1")
"""What a GPU's machine brings and no image has."""

LOADERS = {"x86_64": "/lib64/ld-linux-x86-64.so.2", "aarch64": "/lib/ld-linux-aarch64.so.1"}


class ProofError(Exception):
    """The image must not be used; the message says why."""


def prove(libraries: Path, accelerator: str) -> dict[str, Any]:
    """What was found out about the image.

    Raises:
        ProofError: something that was found must not be.
    """
    report: dict[str, Any] = {"python": platform.python_version(), "machine": platform.machine()}
    report["added_bytes"] = added_bytes()
    report["backends"] = decode_with_each(libraries)
    if accelerator == "cuda":
        report["cuda_waits_for"] = check_cuda(libraries)
    return report


def added_bytes(adapter: Path = ADAPTER) -> dict[str, int]:
    """The size of each part that the image adds to its base.

    Raises:
        ProofError: together they are too big.
    """
    parts = {
        part.name: sum(file.lstat().st_size for file in (part, *part.rglob("*")) if not file.is_dir())
        for part in sorted(adapter.iterdir())
    }
    for name, size in parts.items():
        say(f"{name}: {size / 1e6:.1f} MB")
    total = sum(parts.values())
    say(f"added to the base: {total / 1e6:.1f} MB of {ADDED_BYTES / 1e6:.0f} MB allowed")
    if total > ADDED_BYTES:
        raise ProofError(f"the image adds {total} bytes to its base, {ADDED_BYTES} are allowed: {parts}")
    return parts


def decode_with_each(libraries: Path) -> dict[str, str]:
    """How each CPU backend of ``libraries`` fared.

    Raises:
        ProofError: one that is used computes wrongly, or none can be.
    """
    variants = sorted(libraries.glob("libggml-cpu*.so"))
    expected = reference.logits(tiny.PROMPT)[[length - 1 for length in LENGTHS]]
    told: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        gguf = tiny.write(Path(folder) / "tiny.gguf")
        for variant in variants:
            told[variant.name] = "not for this machine"
            if score(variant) > 0:
                done = decode_with(variant, Path(folder) / variant.stem, gguf)
                told[variant.name] = verdict(variant.name, done, expected)
            say(f"{variant.name}: {told[variant.name]}")
    if not any(outcome.startswith("right") for outcome in told.values()):
        raise ProofError(f"{libraries} has no CPU backend that this machine can run: {told or 'no libggml-cpu*.so'}")
    return told


def verdict(variant: str, done: subprocess.CompletedProcess[str], expected: NDArray[np.float64]) -> str:
    """How the backend in the file ``variant`` fared in a process that is ``done``: right, or of no matter.

    Raises:
        ProofError: it is used, and computes wrongly or not at all.
    """
    spared = variant.removeprefix("libggml-cpu-").removesuffix(".so") in AMX_VARIANTS
    if done.returncode != 0:
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        if spared and done.returncode < 0:
            return f"broken ({how}); {NEVER_USED}"
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        raise ProofError(f"{variant}: {said[-1]} ({how})")
    result = json.loads(done.stdout)
    off = float(np.abs(np.array(result["logits"]) - expected).max())
    if not off <= TOLERANCE:  # not a number is wrong, too
        if spared:
            return f"wrong, off by {off:.3g}; {NEVER_USED}"
        raise ProofError(f"{variant} computes wrongly: a logit is off by {off:.3g}, {TOLERANCE} is allowed")
    return f"right, off by {off:.3f} at most; {result['build']}, llama-cpp-python {result['binding']}"


def decode_with(variant: Path, folder: Path, gguf: Path) -> subprocess.CompletedProcess[str]:
    """Decode in a process that finds no CPU backend but ``variant``, nor any other."""
    folder.mkdir()
    needed = [file for name in ("libllama", "libggml", "libggml-base") for file in variant.parent.glob(f"{name}.so*")]
    for file in (variant, *needed):
        (folder / file.name).symlink_to(file)
    return subprocess.run(
        [sys.executable, "-m", "proof.decode", str(folder), str(gguf)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def check_cuda(libraries: Path) -> list[str]:
    """The libraries that the CUDA backend waits for: the driver's, which come with a GPU.

    Raises:
        ProofError: there is no such backend, or it lacks a library that should be in the image.
    """
    backend = libraries / "libggml-cuda.so"
    if not backend.is_file():
        raise ProofError(f"{libraries} has no libggml-cuda.so; bases.toml calls the base one for CUDA")
    missing = missing_libraries(backend)
    say(f"{backend.name}: waits for {', '.join(missing) or 'nothing'}; it is tried where there is a GPU")
    if others := sorted(set(missing) - set(DRIVER_LIBRARIES)):
        raise ProofError(f"{backend} needs {', '.join(others)}, which neither the image nor a GPU's driver has")
    return missing


def missing_libraries(file: Path) -> list[str]:
    """Names of the libraries that ``file`` needs and the loader does not find."""
    # As ldd does it; with an option of its own the loader stops at the first that is missing.
    environment = {**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}
    command = [LOADERS[platform.machine()], str(file)]
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return [line.split()[0] for line in shown.stdout.splitlines() if "not found" in line]


def say(text: str) -> None:
    """Tell the build's log."""
    print(f"proof: {text}", flush=True)


def main(arguments: Sequence[str]) -> int:
    """Prove; the exit code."""
    libraries, accelerator, report = arguments
    try:
        found = prove(Path(libraries), accelerator)
    except ProofError as error:
        print(f"proof failed: {error}", file=sys.stderr)
        return 1
    Path(report).write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
