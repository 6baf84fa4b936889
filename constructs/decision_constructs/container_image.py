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

_PLAYGROUND = [f"decision_adapter/playground/*.{kind}" for kind in ("css", "html", "js", "svg")]


class ContainerImage(Construct):
    """Builds the child image, unless its tag exists: the content hash of the Dockerfile, the adapter and the pins.

    `uri` is `repository@sha256:…`, known once the build has run: SageMaker is given the digest, never the tag.
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
        project = BuildProject(
            self,
            "Build",
            description=f"Builds the decision image for {accelerator.upper()} on the published llama.cpp container",
            folder="adapter",
            files=["Dockerfile", "serve", "*.py", "requirements.txt", "decision_adapter/**/*.py", *_PLAYGROUND],
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
        project.allow(_PUSH, repository.repository_arn)
        project.allow(["ecr:GetAuthorizationToken"], "*", wildcard="The action knows no resource.")
        describe = ["ecr:DescribeImages", "ecr:DescribeRepositories"]
        self.uri = trigger.run(
            "Image",
            project=project,
            output={"RepositoryName": repository.repository_name, "ImageTag": project.content_hash},
            grants=[iam.PolicyStatement(actions=describe, resources=[repository.repository_arn])],
        ).get_att_string("ImageUri")
