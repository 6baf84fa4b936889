"""The decision image: our adapter on the published llama.cpp container, one for each accelerator in use."""

from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from decision_constructs.artifact_settings import Images
from decision_constructs.build_project import BuildProject
from decision_constructs.build_trigger import BuildTrigger
from decision_constructs.instance_type import Accelerator

_PUSH = [
    "ecr:BatchCheckLayerAvailability",
    "ecr:BatchGetImage",
    "ecr:CompleteLayerUpload",
    "ecr:DescribeImages",
    "ecr:GetDownloadUrlForLayer",
    "ecr:InitiateLayerUpload",
    "ecr:PutImage",
    "ecr:UploadLayerPart",
]


class ContainerImage(Construct):
    """Declares the build of the child image; `build` makes a deployment run it.

    The tag is the content hash of the Dockerfile, the adapter and the pins; SageMaker is given the digest.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        accelerator: Accelerator,
        images: Images,
        repository: ecr.IRepository,
        trigger: BuildTrigger,
        encryption_key: kms.IKey | None,
        build_role: str | None,
    ) -> None:
        super().__init__(scope, construct_id)
        self._repository = repository
        self._trigger = trigger
        self._project = BuildProject(
            self,
            "Build",
            description=f"Builds the decision image for {accelerator.upper()} on the published llama.cpp container",
            folder="adapter",
            files=["Dockerfile", "serve", "*.py", "requirements.txt", "decision_adapter/**/*.py"],
            inputs={
                "IMAGE_BASE": images.bases[accelerator],
                "IMAGE_PLATFORM": "linux/arm64" if accelerator is Accelerator.ARM64 else "linux/amd64",
                "LLAMA_CPP_PYTHON_VERSION": images.llama_cpp_python,
            },
            output=lambda content_hash: {
                "IMAGE_REPOSITORY_URI": repository.repository_uri,
                "IMAGE_TAG": content_hash,
            },
            compute_type=codebuild.ComputeType.MEDIUM,
            encryption_key=encryption_key,
            existing_role=build_role,
            docker=True,
            arm64=accelerator is Accelerator.ARM64,
        )
        self._project.allow(_PUSH, repository.repository_arn)
        self._project.allow(["ecr:GetAuthorizationToken"], "*", wildcard="The action knows no resource.")

    def build(self) -> str:
        """Build it unless its tag exists; returns `repository@sha256:…`, known once the build has run."""
        describe = ["ecr:DescribeImages", "ecr:DescribeRepositories"]
        return self._trigger.run(
            "Image",
            project=self._project,
            output={"RepositoryName": self._repository.repository_name, "ImageTag": self._project.content_hash},
            grants=[iam.PolicyStatement(actions=describe, resources=[self._repository.repository_arn])],
        ).get_att_string("ImageUri")
