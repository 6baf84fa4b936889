"""Runs an image that buildah has built, as a container would run: its own root, process 1, a user without rights.

    python -m local_cloud.built_container [--variable NAME]... STORAGE IMAGE MODEL -- COMMAND...

MODEL is mounted read-only where SageMaker extracts the archive; paths below it are translated in the command. That gets
the image's variables and the named ones of this process, shares its network, and gets the signals of its process group.
Its exit status is ours.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from local_cloud.buildah import Buildah

MODEL_DIRECTORY = "opt/ml/model"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("storage", type=Path)
    parser.add_argument("image")
    parser.add_argument("model", type=Path)
    parser.add_argument("--variable", action="append", default=[])
    parser.add_argument("command", nargs="*")
    options = parser.parse_args(arguments)
    # What ends the container goes to all of the group. This process ends after it, to clean up.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    buildah = Buildah.open(options.storage)
    buildah.remove_left_containers()
    config = image_config(buildah, options.image)
    given = {name: os.environ[name] for name in options.variable if name in os.environ}
    inside = [
        re.sub(rf"^{re.escape(str(options.model))}(?=/|$)", f"/{MODEL_DIRECTORY}", word) for word in options.command
    ]
    command = [*(config.get("Entrypoint") or ()), *(inside or config.get("Cmd") or ())]
    with buildah.container(options.image) as (_, root):
        return enter(root, options.model, command, config.get("User") or "0:0", {**image_variables(config), **given})


def image_config(buildah: Buildah, image: str) -> Mapping[str, Any]:
    """The image's configuration: Entrypoint, Cmd, Env, User."""
    found = buildah.inspect(image)
    if found is None:
        sys.exit(f"there is no image {image}")
    config: Mapping[str, Any] = found["Docker"]["config"]
    return config


def image_variables(config: Mapping[str, Any]) -> dict[str, str]:
    """The variables that an image sets."""
    return dict(text.split("=", 1) for text in config.get("Env") or ())


def enter(root: Path, model: Path, command: Sequence[str], user: str, environment: Mapping[str, str]) -> int:
    """Run ``command`` in ``root``; its exit status.

    A mount namespace of its own, so that the mounts end with it; a process namespace, so that nothing outlives it.
    """
    user_id, _, group_id = user.partition(":")
    script = [
        f'mkdir -p "$1/{MODEL_DIRECTORY}"',
        f'mount --bind -o ro "$2" "$1/{MODEL_DIRECTORY}"',
        *(f'mount --rbind {name} "$1{name}"' for name in ("/dev", "/sys")),
        'mount -t tmpfs -o mode=1777 shm "$1/dev/shm"',
        'mount -t proc proc "$1/proc"',
        'shift 2; exec "$@"',
    ]
    inside = ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), *command]
    entered = ["chroot", f"--userspec={user_id}:{group_id or user_id}", "--groups=", str(root), *inside]
    # Restored: a signal that is ignored here would be ignored by what is started.
    restored = ["env", "--default-signal=TERM,INT"]
    return subprocess.run(
        [
            *("unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--", *restored),
            *("sh", "-euc", " && ".join(script), "sh", str(root), str(model), *entered),
        ],
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
