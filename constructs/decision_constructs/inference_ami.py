"""The machine images that SageMaker offers for GPU instances, by the CUDA that their driver runs.

https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_ProductionVariant.html, InferenceAmiVersion. Without one,
SageMaker takes its oldest, whose driver is too old for the published image: the endpoint would never get healthy.
"""

CUDA_MAJORS = {
    "al2-ami-sagemaker-inference-gpu-2": 12,
    "al2-ami-sagemaker-inference-gpu-2-1": 12,
    "al2-ami-sagemaker-inference-gpu-3-1": 12,
    "al2023-ami-sagemaker-inference-gpu-4-1": 13,
}
"""The newest CUDA major version each runs; a driver also runs every older one."""


def default(cuda_major: int) -> str | None:
    """The first AMI that runs it, or None."""
    return next((name for name, newest in CUDA_MAJORS.items() if newest >= cuda_major), None)


def problem(ami: str | None, cuda_major: int) -> str | None:
    """Why containers of that CUDA cannot run on the AMI (None: the default one), or None when they can."""
    fitting = [name for name, newest in CUDA_MAJORS.items() if newest >= cuda_major]
    if ami in CUDA_MAJORS and ami not in fitting:
        return (
            f"{ami!r}: its driver runs CUDA {CUDA_MAJORS[ami]}, the image is built for CUDA {cuda_major}; "
            f"use {' or '.join(fitting) or 'an image of an older CUDA'}"
        )
    if ami is None and not fitting:
        return f"no AMI known here runs CUDA {cuda_major} (images.cuda_major); use an image of an older CUDA"
    return None
