"""The child of ``trial.Trial``: loads the model as the container will, and scores one decision.

python -m decision_adapter.trial_child
"""

import logging.config
import os
import sys

from decision_adapter import profile
from decision_adapter.artifact import locate
from decision_adapter.errors import AdapterError
from decision_adapter.loading import how_to_read, load_engine, load_library
from decision_adapter.logs import CONFIGURATION
from decision_adapter.scorer import WARM_UP, EngineScorer
from decision_adapter.settings import Settings
from decision_adapter.trial import REFUSED


def main() -> int:
    """0 when a decision was scored, else ``REFUSED`` and the reason as the last line on stderr.

    The warm-up decision has some seventy tokens: enough for the kernels of many tokens and of one (the last layer is
    computed for the last token alone), and few enough to cost nothing.
    """
    logging.config.dictConfig(CONFIGURATION)
    logging.getLogger().setLevel(logging.ERROR)  # what is only worth knowing is logged again by the parent
    settings = Settings.from_environment(os.environ)
    try:
        load_library(settings)
        engine = load_engine(settings, locate(settings.model_dir, settings.gguf_path))
        layouts = profile.build(how_to_read(settings)[0], engine)
        EngineScorer(engine, {}, settings.max_request_tokens, 1, profile=layouts).score([WARM_UP])
    except AdapterError as error:
        sys.stderr.write(f"\n{error}\n")
        return REFUSED
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # nothing of llama.cpp's needs to be freed, and a crash in freeing is not a crash in scoring
