"""Where the probabilities of an answer come from, told in the same words in the answers of several contracts."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field


class AnswerReadout(BaseModel):
    """Where the probabilities of an answer come from."""

    option_mass: float = Field(description="Share of the model's next-token distribution that fell on the options.")
    option_logits: list[float] = Field(description="Of no and yes, or of the options in the order sent.")
    temperature: float = Field(description="What the logits were divided by; 1 without a calibration.")
    prompt_profile: str = Field(description="How the question was written for the model.")
    prompt_sha256: str = Field(description="SHA-256 of the prompt.")


def readout_of(result: Mapping[str, Any]) -> AnswerReadout:
    """Of one of the results of ``Scores``."""
    return AnswerReadout(
        option_mass=result["allowed_token_mass"],
        option_logits=result["option_logits"],
        temperature=result["temperature"],
        prompt_profile=result["prompt_version"],
        prompt_sha256=result["prompt_sha256"],
    )
