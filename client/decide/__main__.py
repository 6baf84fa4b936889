"""The command `decide`. What it needs is imported here and not above, so that what lacks is told in a sentence."""

import sys

_INTERRUPTED = 130


def main() -> None:
    """Run the command line."""
    try:
        from decide.app import run  # noqa: PLC0415  # typer and rich come with an extra only
    except ModuleNotFoundError as error:
        sys.exit(f"error: the command line needs {error.name}: pip install './client[cli]'")
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    run()


if __name__ == "__main__":
    main()
