"""Fetches a pinned GGUF and tokenizer, verifies them and packs the model archive SageMaker extracts.

`python -m model_build` is the command line; the same steps from Python are `parse_specification` and `build_model`.
"""

from model_build.build import BuildResult, build_model
from model_build.errors import ModelBuildError
from model_build.specification import ModelSpecification, parse_specification

__all__ = ["BuildResult", "ModelBuildError", "ModelSpecification", "build_model", "parse_specification"]
