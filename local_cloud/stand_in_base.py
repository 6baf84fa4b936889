"""A stand-in for the published llama.cpp container, made here: a small Debian and llama.cpp compiled with its flags.

What the published one has that this has not: Amazon Linux, nginx with its entry point, CUDA. What they have in common
is what the decision image builds on: Python with pip, and in /opt/llama.cpp/bin llama.cpp's libraries, one CPU backend
for each microarchitecture, loaded at run time, and `llama-server`.
"""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local_cloud.buildah import NEEDED, Buildah
from local_cloud.errors import ImageError

BASES = Path(__file__).parents[1] / "adapter" / "bases.toml"
REPOSITORY = "localhost/llama-cpp-stand-in"

SUITE = "trixie"
MIRROR = "http://deb.debian.org/debian"
PACKAGES = ("ca-certificates", "libgomp1", "libstdc++6", "python3", "python3-pip")

# Those of the published container, in shared libraries that are found by LD_LIBRARY_PATH alone, as there.
PUBLISHED_FLAGS = ("GGML_NATIVE=OFF", "GGML_BACKEND_DL=ON", "GGML_CPU_ALL_VARIANTS=ON", "GGML_OPENMP=ON")
FLAGS = (
    *("CMAKE_BUILD_TYPE=Release", "BUILD_SHARED_LIBS=ON", "CMAKE_SKIP_RPATH=ON", *PUBLISHED_FLAGS),
    # What nobody here asks for: downloads, the page for browsers, the rest of the tools.
    *("LLAMA_OPENSSL=OFF", "LLAMA_BUILD_UI=OFF", "LLAMA_BUILD_APP=OFF", "LLAMA_BUILD_TESTS=OFF"),
    *("LLAMA_BUILD_EXAMPLES=OFF", "GGML_CCACHE=OFF"),
)
DOCKERFILE = """\
FROM scratch
ADD root.tar /
COPY bin/ /opt/llama.cpp/bin/
ENV PATH=/opt/llama.cpp/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \\
    LD_LIBRARY_PATH=/opt/llama.cpp/bin
"""


@dataclass(frozen=True)
class StandInBase:
    """Makes the stand-in, each part once: a part is kept under the hash of all that it depends on."""

    buildah: Buildah
    cache: Path

    def knows(self, base: str) -> bool:
        """Whether bases.toml has the base, by its digest."""
        return base.rpartition("@")[2] in tomllib.loads(BASES.read_text(encoding="utf-8"))["bases"]

    def image(self, base: str) -> str:
        """The name of the image that takes the place of a published base, `repository@sha256:…`, made when missing.

        Raises:
            ImageError: bases.toml does not know the base, or something that makes the stand-in failed.
        """
        table = tomllib.loads(BASES.read_text(encoding="utf-8"))
        if not self.knows(base):
            raise ImageError(f"{BASES} has no base {base}; add its digest with the llama-cpp-python that fits it")
        entry = table["bases"][base.rpartition("@")[2]]
        if entry["accelerator"] != "cpu":
            raise ImageError(f"{base} is for {entry['accelerator']}; the stand-in made here is for CPUs")
        version = entry["llama_cpp_python"]
        libraries = self.libraries(version, table["bindings"][version]["sdist_sha256"])
        root = self._debian()
        key = _key([DOCKERFILE, libraries.name, root.name])
        name = f"{REPOSITORY}:{key}"
        if self.buildah.inspect(name) is None:
            self._assemble(name, root, libraries)
        return name

    def libraries(self, version: str, sdist_sha256: str) -> Path:
        """The folder of llama.cpp as compiled from the sources that the binding's release carries."""
        compiler = _output(["c++", "--version"]).splitlines()[0]
        name = f"llama.cpp-{version}-{_key([sdist_sha256, FLAGS, compiler, platform.machine()])}"
        kept = self.cache / name
        if kept.is_dir():
            return kept
        with self._work(name) as work:
            sdist = _download(version, sdist_sha256, work)
            _say(f"compiling llama.cpp of llama-cpp-python {version} with {compiler}; takes 15 to 30 minutes, once")
            subprocess.run(["tar", "-xzf", sdist, "-C", work, "--strip-components=1"], check=True)
            (work / "made").mkdir()
            _compile(work / "vendor" / "llama.cpp", work / "made")
            (work / "made").rename(kept)
        return kept

    def _debian(self) -> Path:
        """A tar of the root of a small Debian with Python."""
        kept = self.cache / f"{SUITE}-{_key([SUITE, PACKAGES, platform.machine()])}.tar"
        if kept.is_file():
            return kept
        with self._work(kept.stem) as work:
            _say(f"installing Debian {SUITE}; takes a minute, once")
            options = ("--variant=minbase", f"--include={','.join(PACKAGES)}")
            _run(["debootstrap", *options, SUITE, str(work / "root"), MIRROR])
            for left in ("var/cache/apt/archives", "var/lib/apt/lists"):
                shutil.rmtree(work / "root" / left)
            _run(["tar", "-C", str(work / "root"), "-cf", str(work / "root.tar"), "."])
            (work / "root.tar").rename(kept)
        return kept

    def _assemble(self, name: str, root: Path, libraries: Path) -> None:
        with self._work("context") as work:
            context = work / "stand-in"
            context.mkdir()
            os.link(root, context / "root.tar")
            shutil.copytree(libraries, context / "bin", symlinks=True)
            (context / "Dockerfile").write_text(DOCKERFILE)
            self.buildah.build(context, ["--quiet", "--tag", name], {})

    @contextmanager
    def _work(self, name: str) -> Any:
        """A folder that is gone afterwards."""
        self.cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=self.cache) as folder:
            yield Path(folder)


def _download(version: str, sdist_sha256: str, folder: Path) -> Path:
    """The source distribution of a release of the binding, checked by its hash."""
    wanted = folder / "sdist.txt"
    wanted.write_text(f"llama-cpp-python=={version} --hash=sha256:{sdist_sha256}\n")
    options = ("--quiet", "--no-deps", "--require-hashes", "--no-binary=llama-cpp-python", "--dest", str(folder))
    _run([sys.executable, "-m", "pip", "download", *options, "-r", str(wanted)])
    return next(folder.glob("*.tar.gz"))


def _compile(sources: Path, made: Path) -> None:
    """Put llama-server and the shared libraries, with as many CPU backends as the compiler can make, into ``made``."""
    build = sources / "build"
    # A checkout that the cache happens to lie in must not name the version.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(sources.parent), "GIT_DIR": os.devnull}
    _run(["cmake", "-S", str(sources), "-B", str(build), *(f"-D{flag}" for flag in FLAGS)], environment)
    jobs = str(len(os.sched_getaffinity(0)))
    _run(["cmake", "--build", str(build), "--parallel", jobs, "--target", "llama-server"], environment)
    for file in sorted((build / "bin").iterdir()):
        if ".so" in file.name or file.name == "llama-server":
            if not file.is_symlink():
                _run(["strip", "--strip-unneeded", str(file)])
            shutil.copy2(file, made / file.name, follow_symlinks=False)


def _run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
    """Run a step; its output is shown when it fails."""
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise ImageError(f"{command[0]} is not on PATH: {NEEDED}") from error
    if done.returncode != 0:
        raise ImageError(
            f"{command[0]} failed with exit code {done.returncode}: {(done.stderr or done.stdout)[-2000:]}"
        )


def _output(command: Sequence[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError as error:
        raise ImageError(f"{command[0]} is not on PATH: apt-get install g++") from error


def _key(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _say(text: str) -> None:
    print(f"stand-in base: {text}", file=sys.stderr, flush=True)
