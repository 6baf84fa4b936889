"""`python -m image_copy`: make the copy that the environment describes, and print what is in the repository then."""

import json
import os
import sys

from botocore.exceptions import BotoCoreError, ClientError

from image_copy.copy import Copy, ImageCopyError, copy


def main() -> int:
    """The exit status; the last line of standard output is one JSON object."""
    try:
        print(json.dumps(copy(Copy.from_environment(os.environ))), flush=True)
    except (ImageCopyError, ClientError, BotoCoreError) as error:
        print(f"image copy: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
