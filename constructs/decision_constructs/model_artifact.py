"""The model archive: one GGUF and its tokenizer files, packed by CodeBuild and served by both contracts."""

from urllib.parse import urlsplit

from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from decision_constructs.build_project import BuildProject
from decision_constructs.build_trigger import BuildTrigger
from decision_constructs.settings import Model

MODEL_PREFIX = "models/"


class ModelArtifact(Construct):
    """Packs the pinned model into `models/<content hash>/model.tar.gz` of the bucket, unless it is there.

    `model_data_url` is the archive's `s3://` URI, known once the build has run.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, model: Model, bucket: s3.Bucket, trigger: BuildTrigger
    ) -> None:
        super().__init__(scope, construct_id)

        def key(content_hash: str) -> str:
            return f"{MODEL_PREFIX}{content_hash}/model.tar.gz"

        project = BuildProject(
            self,
            "Build",
            description="Fetches a pinned GGUF, verifies it, packs it with its tokenizer and uploads the archive",
            folder="model_build",
            files=["*.py", "requirements.txt"],
            inputs=_inputs(model),
            output=lambda content_hash: {"MODEL_UPLOAD_URI": bucket.s3_url_for_object(key(content_hash))},
            compute_type=codebuild.ComputeType.MEDIUM,
        )
        bucket.grant_put(project, f"{MODEL_PREFIX}*")
        if model.uri:
            source = urlsplit(model.uri)
            s3.Bucket.from_bucket_name(self, "Source", source.netloc).grant_read(project, source.path.lstrip("/"))
        self.model_data_url = trigger.run(
            "Archive",
            project=project,
            output={"Bucket": bucket.bucket_name, "Key": key(project.content_hash)},
            grants=[
                iam.PolicyStatement(actions=["s3:GetObject"], resources=[bucket.arn_for_objects(f"{MODEL_PREFIX}*")]),
                # without it S3 answers 403, not 404, for an archive that is not there yet
                iam.PolicyStatement(
                    actions=["s3:ListBucket"],
                    resources=[bucket.bucket_arn],
                    conditions={"StringLike": {"s3:prefix": f"{MODEL_PREFIX}*"}},
                ),
            ],
        ).get_att_string("ModelDataUrl")


def _inputs(model: Model) -> dict[str, str]:
    values = {
        "MODEL_GGUF_REPOSITORY": model.repository,
        "MODEL_GGUF_REVISION": model.revision,
        "MODEL_GGUF_FILE": model.file,
        "MODEL_GGUF_URI": model.uri,
        "MODEL_GGUF_SHA256": model.sha256,
        "MODEL_TOKENIZER_REPOSITORY": model.tokenizer and model.tokenizer.repository,
        "MODEL_TOKENIZER_REVISION": model.tokenizer and model.tokenizer.revision,
    }
    return {name: value for name, value in values.items() if value}
