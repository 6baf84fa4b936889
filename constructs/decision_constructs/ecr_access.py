"""What pulling and pushing images takes."""

from aws_cdk import Aws

from decision_constructs.pinned_image import PinnedImage

PULL = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
PUSH = [
    *PULL,
    "ecr:CompleteLayerUpload",
    "ecr:DescribeImages",
    "ecr:InitiateLayerUpload",
    "ecr:PutImage",
    "ecr:UploadLayerPart",
]
LOG_IN = ["ecr:GetAuthorizationToken"]
LOG_IN_TO_PUBLIC = ["ecr-public:GetAuthorizationToken", "sts:GetServiceBearerToken"]
"""Anybody may pull from the public registry, and faster who has logged in."""
KNOWS_NO_RESOURCE = "The action knows no resource."


def repository_arn(image: PinnedImage) -> str | None:
    """The ARN of the private repository that the image lies in; None when anybody may pull it."""
    if image.ecr is None:
        return None
    return f"arn:{Aws.PARTITION}:ecr:{image.ecr.region}:{image.ecr.account}:repository/{image.repository}"
