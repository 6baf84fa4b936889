"""The model archive: a GGUF, its tokenizer and calibration, packed by CodeBuild and served by both contracts."""

from urllib.parse import urlsplit

from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from decision_constructs import calibration_file
from decision_constructs.build_project import BuildProject
from decision_constructs.build_trigger import BuildTrigger
from decision_constructs.model_settings import Model

MODEL_PREFIX = "models/"
BY_CONTENT = "Archives are named by their content, and an update needs the old one beside the new one."
"""Why what reads and writes archives may do so below the whole prefix."""


class ModelArtifact(Construct):
    """Packs the pinned model into `models/<content hash>/model.tar.gz` of the bucket, unless it is there.

    `model_data_url` is the archive's `s3://` URI, known once the build has run.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        model: Model,
        bucket: s3.IBucket,
        trigger: BuildTrigger,
        encryption_key: kms.IKey | None,
        build_role: str | None,
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
            encryption_key=encryption_key,
            build_role=build_role,
        )
        archives = bucket.arn_for_objects(f"{MODEL_PREFIX}*")
        project.allow(["s3:PutObject", "s3:AbortMultipartUpload"], archives, wildcard=BY_CONTENT)
        if model.uri:
            source = urlsplit(model.uri)
            gguf = s3.Bucket.from_bucket_name(self, "Source", source.netloc)
            project.allow(["s3:GetObject"], gguf.arn_for_objects(source.path.lstrip("/")))
        self.model_data_url = trigger.run(
            "Archive",
            project=project,
            output={"Bucket": bucket.bucket_name, "Key": key(project.content_hash)},
            grants=[
                iam.PolicyStatement(actions=["s3:GetObject"], resources=[archives]),
                # without it S3 answers 403, not 404, for an archive that is not there yet
                iam.PolicyStatement(
                    actions=["s3:ListBucket"],
                    resources=[bucket.bucket_arn],
                    conditions={"StringLike": {"s3:prefix": f"{MODEL_PREFIX}*"}},
                ),
                *(
                    [iam.PolicyStatement(actions=["kms:Decrypt"], resources=[encryption_key.key_arn])]
                    if encryption_key
                    else []
                ),
            ],
            wildcards={archives: BY_CONTENT},
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
        "MODEL_CALIBRATION": model.calibration and calibration_file.text(model.calibration),
    }
    return {name: value for name, value in values.items() if value}
