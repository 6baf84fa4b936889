"""Settings files: what is read, and what is refused before anything is deployed."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from aws_cdk.region_info import Fact, FactName

from decision_constructs import deep_learning_containers, settings
from decision_constructs.errors import SettingsError, UnknownEnvironmentError
from decision_constructs.instance_type import Accelerator, InstanceType
from decision_constructs.section import Section

SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MODEL = f"""
region = "us-east-1"
[model]
uri = "s3://models/tiny.gguf"
sha256 = "{SHA256}"
"""
CPU_DECISION = '[decision]\ninstance_type = "ml.c6i.large"\n'


def load(tmp_path: Path, text: str) -> settings.Settings:
    (tmp_path / "test.toml").write_text(text, encoding="utf-8")
    return settings.load("test", tmp_path)


def problems(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, text)
    shown = f"{tmp_path.name}/test.toml: "
    assert all(line.startswith(f"  {shown}") for line in str(caught.value).splitlines()[1:])
    return list(caught.value.problems)


def test_every_environment_of_the_project_is_valid(repository_root: Path) -> None:
    folder = repository_root / "environments"
    names = settings.environment_names(folder)
    assert names == ["dev", "local", "prod"]
    for name in names:
        settings.load(name, folder)


def test_one_run_names_every_mistake_with_file_and_key(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        f"""
        region = "mars"
        regoin = "us-east-1"
        [model]
        repository = "owner/name"
        revision = "main"
        file = "model.gguf"
        sha256 = "{SHA256.upper()}"
        [decision]
        instance_type = "ml.c6i.large"
        threads = 0
        """,
    )
    assert found == [
        "region: 'mars': expected an AWS region, e.g. us-east-1",
        "model.revision: 'main': expected a commit of 40 lower-case hex digits",
        f"model.sha256: '{SHA256.upper()}': expected 64 lower-case hex digits",
        "decision.threads: 0: expected 1 to 192 threads",
        "regoin: unknown key; did you mean 'region'?",
    ]


def test_a_rule_across_fields_is_told_beside_the_mistakes_in_fields(tmp_path: Path) -> None:
    found = problems(tmp_path, MODEL + '[decision]\nthreads = "two"\ngpu_layers = 1.5\n')
    assert found == [
        "decision.gpu_layers: 1.5: expected -1 (all layers on the GPU), 0 (none) or a number up to 1000",
        "decision.threads: 'two': expected 1 to 192 threads",
        "decision: give exactly one of instance_type and instance_pools",
    ]


@pytest.mark.parametrize("image", ["public.ecr.aws/x/llama-cpp:latest", "public.ecr.aws/x/llama-cpp@sha256:1f19"])
def test_an_image_by_tag_or_with_a_short_digest_is_refused(tmp_path: Path, image: str) -> None:
    found = problems(tmp_path, MODEL + f'{CPU_DECISION}[images]\ncpu = "{image}"\n')
    assert len(found) == 1
    assert found[0].startswith(f"images.cpu: '{image}': expected an image pinned by digest")


CPU_CHAT = '[chat]\ninstance_type = "ml.c6i.large"\n'
OWN_IMAGE = f'cpu = "111122223333.dkr.ecr.eu-west-1.amazonaws.com/mine@sha256:{SHA256}"\n'
VPC = '[network]\nsubnet_ids = ["subnet-1"]\nsecurity_group_ids = ["sg-1"]\n'


@pytest.mark.parametrize(
    ("region", "images", "more", "problem"),
    [
        ("us-east-1", 'source = "mirror"', "", "images.source: 'mirror': expected 'copy' (into our repository), "),
        (
            "us-gov-west-1",
            'source = "regional"',
            "",
            "images.source: 'regional': AWS names no registry of Deep Learning Containers in us-gov-west-1; set 'copy'",
        ),
        (
            "us-east-1",
            f'source = "regional"\n{OWN_IMAGE}',
            "",
            f"images.cpu: '111122223333.dkr.ecr.eu-west-1.amazonaws.com/mine@sha256:{SHA256}' is none of AWS's Deep ",
        ),
        (
            "us-east-1",
            'source = "direct"',
            VPC,
            "images.source: 'direct': an endpoint in a VPC cannot pull from public.ecr.aws; set 'copy'",
        ),
        (
            "cn-north-1",
            'source = "direct"',
            "",
            "images.source: 'direct': an endpoint in cn-north-1 cannot pull from public.ecr.aws; set 'copy'",
        ),
        (
            "us-east-1",
            f'source = "direct"\n{OWN_IMAGE}',
            "",
            "images.source: 'direct': an endpoint in us-east-1 pulls from ECR of us-east-1, not from 1111",
        ),
        (
            "us-east-1",
            f'source = "direct"\ncpu = "ghcr.io/x/llama@sha256:{SHA256}"',
            "",
            "images.source: 'direct': an endpoint pulls from ECR, not from ghcr.io; set 'copy'",
        ),
    ],
)
def test_a_source_that_no_endpoint_could_pull_from_is_refused(
    tmp_path: Path, region: str, images: str, more: str, problem: str
) -> None:
    text = MODEL.replace("us-east-1", region)
    [found] = problems(tmp_path, f"{text}[images]\n{images}\n{more}{CPU_CHAT}")
    assert found.startswith(problem)


def test_only_the_chat_endpoint_runs_a_published_image_itself(tmp_path: Path) -> None:
    direct = f'{MODEL}[images]\nsource = "direct"\n{VPC}'
    assert load(tmp_path, direct + CPU_DECISION).images.source == "direct"
    assert len(problems(tmp_path, direct + CPU_DECISION + CPU_CHAT)) == 1


def test_an_image_is_pulled_from_the_region_s_registry_of_the_region_s_partition(tmp_path: Path) -> None:
    def pulled(region: str) -> str:
        text = MODEL.replace("us-east-1", region)
        images = load(tmp_path, f'{text}[images]\nsource = "regional"\n{CPU_CHAT}').images
        return str(images.pulled(Accelerator.CPU, region)).partition("@")[0]

    assert pulled("us-east-1") == "763104351884.dkr.ecr.us-east-1.amazonaws.com/llama-cpp"
    assert pulled("eu-south-1") == "692866216735.dkr.ecr.eu-south-1.amazonaws.com/llama-cpp"
    assert pulled("cn-north-1") == "727897471807.dkr.ecr.cn-north-1.amazonaws.com.cn/llama-cpp"


def test_cdk_knows_no_other_account_of_a_region_s_registry() -> None:
    ours = deep_learning_containers.ACCOUNTS
    theirs = {region: Fact.find(region, FactName.DLC_REPOSITORY_ACCOUNT) for region in ours}
    assert {region: account for region, account in theirs.items() if account not in (None, ours[region])} == {}
    assert set(ours) <= set(Fact.regions)


def test_accelerators_with_one_image_share_its_copy(tmp_path: Path) -> None:
    image = f"public.ecr.aws/mine/everywhere@sha256:{SHA256}"
    text = f'{MODEL}{CPU_CHAT}[images]\ncpu = "{image}"\ncuda = "{image}"\narm64 = "{image}"\ncuda_major = 12\n'
    images = load(tmp_path, text).images
    firsts = [images.first_with_the_same(one) for one in (Accelerator.CPU, Accelerator.CUDA, Accelerator.ARM64)]
    assert firsts == [Accelerator.CPU, Accelerator.CPU, Accelerator.ARM64]


@pytest.mark.parametrize(
    ("instances", "problem"),
    [
        ("", "decision: give exactly one of instance_type and instance_pools"),
        (
            'instance_type = "ml.g6.xlarge"\ninstance_pools = ["ml.g5.xlarge"]',
            "decision: give exactly one of instance_type and instance_pools",
        ),
        ("instance_pools = []", "decision.instance_pools: 0 pools: expected 1 to 5"),
        (
            f"instance_pools = {[f'ml.g6.{size}xlarge' for size in ('', 2, 4, 8, 12, 16)]}",
            "decision.instance_pools: 6 pools: expected 1 to 5",
        ),
        (
            'instance_pools = ["ml.g6.xlarge", "ml.g5.xlarge", "ml.g6.xlarge"]',
            "decision.instance_pools: 'ml.g6.xlarge' is there twice: each pool is another instance type",
        ),
        (
            'instance_pools = ["ml.g6.xlarge", "ml.c6i.large"]',
            "decision.instance_pools: cpu and cuda types are mixed: one image serves all pools, so choose one kind",
        ),
        (
            'instance_pools = ["ml.c7g.large", "ml.c6i.large"]',
            "decision.instance_pools: arm64 and cpu types are mixed: one image serves all pools, so choose one kind",
        ),
        (
            'instance_pools = ["ml.g6.xlarge", "g5.xlarge"]',
            "decision.instance_pools[1]: 'g5.xlarge' is not a SageMaker instance type; "
            "did you mean 'ml.g5.xlarge' or 'ml.g5.8xlarge'?",
        ),
        (
            'instance_pools = ["ml.g6.xlarge", "ml.g6.3xlarge"]',
            "decision.instance_pools[1]: 'ml.g6.3xlarge' is not an instance type of SageMaker hosting; "
            "did you mean 'ml.g6.xlarge' or 'ml.g6e.xlarge'?",
        ),
        (
            'instance_type = "ml.c7g.large"',
            "images.arm64: missing; decision runs on arm64: expected an image pinned by digest, "
            "repository@sha256:<64 hex digits>; a tag can change under the endpoint",
        ),
        (
            'instance_type = "ml.p6e-gb200.36xlarge"',
            "decision.instance_type: 'ml.p6e-gb200.36xlarge' has GPUs beside arm64 cores; "
            "the image with CUDA is built for x86-64",
        ),
        (
            'instance_type = "ml.g6.xlarge"\ninference_ami = "al2-ami-sagemaker-inference-gpu-3-1"',
            "decision.inference_ami: 'al2-ami-sagemaker-inference-gpu-3-1': its driver runs CUDA 12, "
            "the image is built for CUDA 13; use al2023-ami-sagemaker-inference-gpu-4-1",
        ),
        (
            'instance_type = "ml.g6.xlarge"\ninference_ami = "gpu-4-1"',
            "decision.inference_ami: 'gpu-4-1': expected an inference AMI version: al2-ami-sagemaker-inference-gpu-2, "
            "al2-ami-sagemaker-inference-gpu-2-1, al2-ami-sagemaker-inference-gpu-3-1, "
            "al2023-ami-sagemaker-inference-gpu-4-1",
        ),
        (
            'instance_type = "ml.inf2.xlarge"',
            "decision.instance_type: 'ml.inf2.xlarge' runs no llama.cpp image; "
            "use a CPU family (ml.c6i…) or an NVIDIA one (ml.g6…)",
        ),
        (
            'instance_type = "ml.c6i.large"\ngpu_layers = 8',
            "decision.gpu_layers: 8: the instances have no GPU; remove it or set 0",
        ),
        (
            'instance_type = "ml.c6i.large"\nprovision_timeout_seconds = 600',
            "decision.provision_timeout_seconds: only instance_pools have one; remove it or list pools",
        ),
        (
            'instance_pools = ["ml.g6.xlarge"]\nprovision_timeout_seconds = 299',
            "decision.provision_timeout_seconds: 299: expected 300 to 3600 seconds to find capacity in any of the "
            "pools",
        ),
        (
            'instance_type = "ml.c6i.large"\nmax_request_tokens = 4095',
            "decision.max_request_tokens: 4095: smaller than max_tokens (4096), so none could be that long",
        ),
    ],
)
def test_instances_that_could_not_be_deployed_are_refused(tmp_path: Path, instances: str, problem: str) -> None:
    assert problems(tmp_path, f"{MODEL}[decision]\n{instances}\n") == [problem]


@pytest.mark.parametrize(
    ("tables", "problem"),
    [
        (
            "[decision.updates]\nstep_percent = 10",
            "decision.updates.step_percent: all-at-once has no steps; remove it or choose the strategy canary or "
            "linear",
        ),
        (
            '[decision.updates]\nstrategy = "slowly"',
            "decision.updates.strategy: 'slowly': expected 'all-at-once', 'canary' or 'linear': how the traffic moves "
            "to the new instances",
        ),
        (
            '[decision.updates]\nstrategy = "canary"',
            "decision.instance_count: 1: a canary update moves part of the instances at a time; expected 2 or more",
        ),
        (
            '[decision.updates]\nstrategy = "linear"\n[decision.scaling]\nmin_count = 1\nmax_count = 4\n'
            "target_concurrency = 0.7",
            "decision.scaling.min_count: 1: a linear update moves part of the instances at a time; expected 2 or more",
        ),
        (
            f"[decision.updates]\nrollback_alarms = {[f'alarm-{number}' for number in range(10)]}",
            "decision.updates.rollback_alarms: 10 alarms: expected up to 9",
        ),
        (
            "[decision.scaling]\nmax_count = 1\ntarget_concurrency = 0.7",
            "decision.scaling.max_count: 1: expected more than min_count (1)",
        ),
        (
            "[decision.scaling]\nmin_count = 2\nmax_count = 4\ntarget_concurrency = 0.7",
            "decision.instance_count: 1: the endpoint starts with it; expected 2 to 4, as [scaling] says",
        ),
        (
            "[decision.scaling]\nmax_count = 4\ntarget_concurrency = 1",
            "decision.scaling.target_concurrency: 1: never exceeded, since a container admits max_in_flight (1); "
            "expected less than that",
        ),
        (
            "[decision.scaling]\nmax_count = 4",
            "decision.scaling.target_concurrency: missing; expected 0.1 to 1000 requests under way at an instance",
        ),
        (
            '[batch]\ninstance_type = "ml.g6.xlarge"',
            "batch.instance_type: 'ml.g6.xlarge': the GPU drivers of batch transform are too old for the GPU image; "
            "use a CPU family",
        ),
        (
            '[batch]\ninstance_type = "ml.c7g.large"',
            "batch.instance_type: 'ml.c7g.large' is not an instance type of batch transform; "
            "did you mean 'ml.c7i.large' or 'ml.c7i.xlarge'?",
        ),
        (
            '[batch]\ninstance_type = "ml.c6i.large"\ninstance_count = 0',
            "batch.instance_count: 0: expected 1 to 100 instances",
        ),
    ],
)
def test_updates_scaling_and_batch_work_that_could_not_be_are_refused(
    tmp_path: Path, tables: str, problem: str
) -> None:
    assert problems(tmp_path, f"{MODEL}{CPU_DECISION}{tables}\n") == [problem]


def test_an_update_that_waits_longer_than_a_deployment_may_is_refused(tmp_path: Path) -> None:
    tables = 'instance_count = 10\n[decision.updates]\nstrategy = "linear"\nstep_percent = 10\nbake_seconds = 3600\n'
    assert problems(tmp_path, MODEL + CPU_DECISION + tables) == [
        "decision.updates.bake_seconds: the waits of an update add up to 36000 s; expected up to 25200 s"
    ]


@pytest.mark.parametrize("page", ["update-and-roll-back", "scale"])
def test_the_examples_of_the_docs_are_valid(tmp_path: Path, repository_root: Path, page: str) -> None:
    text = (repository_root / "docs" / f"{page}.md").read_text(encoding="utf-8")
    examples = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert examples
    for example in examples:
        load(tmp_path, MODEL + example)


def test_batch_work_needs_the_decision_contract(tmp_path: Path) -> None:
    chat = '[chat]\ninstance_type = "ml.c6i.large"\n[batch]\ninstance_type = "ml.c6i.large"\n'
    assert problems(tmp_path, MODEL + chat) == [
        "batch: runs the container of [decision] with its limits; give that too"
    ]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("", "model: give one source: repository, revision and file (Hub), uri (S3) or archive_uri (packed already)"),
        (
            'uri = "s3://models/a.gguf"\nrepository = "owner/name"',
            "model: give one source: repository, revision and file (Hub), uri (S3) or archive_uri (packed already)",
        ),
        (
            f'repository = "a/b"\nfile = "a.gguf"\ntokenizer = {{ repository = "o/n", revision = "{"0" * 40}" }}',
            "model.revision: missing; expected a commit of 40 lower-case hex digits",
        ),
        ('uri = "https://models/a.gguf"', "model.uri: 'https://models/a.gguf': expected s3://bucket/key.gguf"),
    ],
)
def test_a_model_has_one_whole_source(tmp_path: Path, source: str, problem: str) -> None:
    text = f'region = "us-east-1"\n{CPU_DECISION}[model]\nsha256 = "{SHA256}"\n{source}\n'
    assert problems(tmp_path, text) == [problem]


def test_a_packed_archive_takes_no_setting_of_packing(tmp_path: Path) -> None:
    text = f'region = "us-east-1"\n{CPU_DECISION}[model]\narchive_uri = "s3://models/a.tar.gz"\n'
    assert load(tmp_path, text).model.archive_uri == "s3://models/a.tar.gz"
    assert problems(tmp_path, text + f'sha256 = "{SHA256}"\n') == [
        "model.sha256: is for packing, and archive_uri is packed already; remove it"
    ]


def test_a_calibration_is_a_file_of_this_project_that_the_endpoint_can_read(tmp_path: Path) -> None:
    good = "tests/stacks/environments/calibration.json"
    assert load(tmp_path, f'{MODEL}calibration = "{good}"\n{CPU_DECISION}').model.calibration == good
    for path, problem in (
        ("/etc/calibration.json", "expected a file of this project that `decide calibrate` wrote, .json"),
        ("../calibration.json", "expected a file of this project that `decide calibrate` wrote, .json"),
        ("nothing.json", "cannot be read: No such file or directory; the path counts from the project's top folder"),
        ("cdk.json", "is not a calibration: id: Field required"),
    ):
        [found] = problems(tmp_path, f'{MODEL}calibration = "{path}"\n{CPU_DECISION}')
        assert found == f"model.calibration: '{path}': {problem}"


def test_a_model_that_is_packed_here_has_its_hash(tmp_path: Path) -> None:
    text = f'region = "us-east-1"\n{CPU_DECISION}[model]\nuri = "s3://models/a.gguf"\n'
    assert problems(tmp_path, text) == ["model.sha256: missing; expected 64 lower-case hex digits"]


def test_an_image_that_is_pushed_already_has_a_repository(tmp_path: Path) -> None:
    image = f'image_digest = "sha256:{SHA256}"\n'
    assert problems(tmp_path, MODEL + CPU_DECISION + image) == [
        "existing.repository: missing; decision.image_digest is of an image there"
    ]
    assert load(tmp_path, MODEL + CPU_DECISION + image + '[existing]\nrepository = "mine"\n').decision


def test_an_environment_without_endpoint_is_refused(tmp_path: Path) -> None:
    assert problems(tmp_path, MODEL) == ["no endpoint: give [chat], [decision] or both"]


def test_a_file_that_is_not_toml_is_told_with_its_line(tmp_path: Path) -> None:
    assert problems(tmp_path, 'region = "us-east-1\n')[0].startswith("not TOML in UTF-8: ")


@pytest.mark.parametrize("text", ["account = 1" + "0" * 5000, "account = " + "[" * 5000, "\ufeffregion = 'us-east-1'"])
def test_a_file_that_python_cannot_read_is_told_too(tmp_path: Path, text: str) -> None:
    assert problems(tmp_path, text)[0].startswith("not TOML in UTF-8: ")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("model", "'model' is not for here: the container or a setting of this table decides it"),
        ("ctx-size", "'ctx-size' is not for here: the container or a setting of this table decides it"),
        ("flash_attn", "'flash_attn' is no llama-server option; they read like flash-attn"),
        ("FLASH ATTN", "'FLASH ATTN' is no llama-server option; they read like flash-attn"),
        ("", "'' is no llama-server option; they read like flash-attn"),
    ],
)
def test_chat_arguments_are_options_that_nothing_else_decides(tmp_path: Path, name: str, problem: str) -> None:
    chat = f'[chat]\ninstance_type = "ml.c6i.large"\n[chat.arguments]\n"{name}" = "1"\n'
    assert problems(tmp_path, MODEL + chat) == [f"chat.arguments: {problem}"]


@pytest.mark.parametrize("file", ["../x.gguf", "a/../x.gguf", "/x.gguf", "a b$(touch x).gguf", "x.GGUF"])
def test_a_file_name_that_means_something_else_elsewhere_is_refused(tmp_path: Path, file: str) -> None:
    text = f'region = "us-east-1"\n{CPU_DECISION}[model]\nsha256 = "{SHA256}"\nuri = "s3://models/{file}"\n'
    assert problems(tmp_path, text) == [f"model.uri: 's3://models/{file}': expected s3://bucket/key.gguf"]


def test_a_part_of_a_split_model_is_refused(tmp_path: Path) -> None:
    text = MODEL.replace("tiny.gguf", "tiny-00001-of-00002.gguf") + CPU_DECISION
    assert "join the parts with llama-gguf-split --merge" in problems(tmp_path, text)[0]


@pytest.mark.parametrize("name", ["ml.g4ad.xlarge", "ml.p3.2xlarge", "ml.p2.xlarge"])
def test_a_gpu_that_the_image_cannot_use_is_refused(tmp_path: Path, name: str) -> None:
    (problem,) = problems(tmp_path, f'{MODEL}[decision]\ninstance_type = "{name}"\n')
    assert problem.startswith(f"decision.instance_type: '{name}' has no GPU that CUDA 13 runs on")


def test_a_table_is_asked_for_where_a_value_stands(tmp_path: Path) -> None:
    assert problems(tmp_path, 'chat = "yes"\ndecision = 3\n' + MODEL) == [
        "chat: expected a table",
        "decision: expected a table",
    ]


@pytest.mark.parametrize("name", ["prod", "", "../test", "Test"])
def test_an_unknown_environment_is_told_with_those_there_are(tmp_path: Path, name: str) -> None:
    (tmp_path / "test.toml").write_text("")
    with pytest.raises(UnknownEnvironmentError, match=r"Choose one with -c env=<name>, of: test\."):
        settings.load(name, tmp_path)


def test_gpu_layers_default_to_all_on_a_gpu_and_zero_is_a_value(tmp_path: Path) -> None:
    gpu = '[decision]\ninstance_pools = ["ml.g6.xlarge", "ml.g5.xlarge"]\n'
    unsaid, zero = load(tmp_path, MODEL + gpu), load(tmp_path, MODEL + gpu + "gpu_layers = 0\n")
    cpu = load(tmp_path, MODEL + CPU_DECISION)
    assert [one.decision and one.decision.gpu_layers_or_default for one in (unsaid, zero, cpu)] == [-1, 0, 0]


def test_a_gpu_endpoint_gets_the_inference_ami_that_the_image_needs(tmp_path: Path) -> None:
    gpu = load(tmp_path, MODEL + '[decision]\ninstance_type = "ml.g6.xlarge"\n')
    cpu = load(tmp_path, MODEL + CPU_DECISION)
    amis = [one.decision and one.decision.inference_ami_version(one.images) for one in (gpu, cpu)]
    assert amis == ["al2023-ami-sagemaker-inference-gpu-4-1", None]


def test_an_older_cuda_image_runs_on_the_older_ami_that_is_asked_for(tmp_path: Path) -> None:
    image = f'[images]\ncuda = "public.ecr.aws/x/llama-cpp@sha256:{SHA256}"\n'
    chat = '[chat]\ninstance_type = "ml.g6.xlarge"\ninference_ami = "al2-ami-sagemaker-inference-gpu-3-1"\n'
    assert problems(tmp_path, MODEL + image + chat) == [
        "images.cuda_major: missing; another image may have another CUDA: "
        "expected the major version of CUDA in images.cuda, e.g. 13"
    ]
    chosen = load(tmp_path, MODEL + image + "cuda_major = 12\n" + chat)
    assert chosen.chat
    assert chosen.chat.inference_ami_version(chosen.images) == "al2-ami-sagemaker-inference-gpu-3-1"


def test_a_cuda_that_no_ami_runs_is_refused(tmp_path: Path) -> None:
    images = f'[images]\ncuda = "public.ecr.aws/x/llama-cpp@sha256:{SHA256}"\ncuda_major = 14\n'
    assert problems(tmp_path, MODEL + images + '[chat]\ninstance_type = "ml.g6.xlarge"\n') == [
        "chat.inference_ami: no AMI known here runs CUDA 14 (images.cuda_major); use an image of an older CUDA"
    ]


UNKNOWN_BASE = f"public.ecr.aws/x/llama-cpp@sha256:{SHA256}"
CPU_BASE = settings.Images().cpu


@pytest.mark.parametrize(
    ("section", "told"),
    [
        (f'{CPU_DECISION}[images]\ncpu = "{UNKNOWN_BASE}"', "cpu: '{}': which llama-cpp-python fits it is not known"),
        (
            f'[decision]\ninstance_type = "ml.g6.xlarge"\n[images]\ncuda = "{CPU_BASE}"\ncuda_major = 13',
            "cuda: '{}': adapter/bases.toml has it for cpu, not for cuda",
        ),
        (
            f'[decision]\ninstance_type = "ml.g6.xlarge"\n[batch]\ninstance_type = "ml.c6i.large"\n'
            f'[images]\ncpu = "{UNKNOWN_BASE}"',
            "cpu: '{}': which llama-cpp-python fits it is not known",
        ),
    ],
)
def test_a_base_that_no_binding_is_known_for_is_refused(tmp_path: Path, section: str, told: str) -> None:
    (found,) = problems(tmp_path, MODEL + section)
    image = CPU_BASE if "for cpu" in told else UNKNOWN_BASE
    assert found.startswith(f"images.{told.format(image)}")


@pytest.mark.parametrize(
    "section",
    [
        '[chat]\ninstance_type = "ml.c6i.large"\n',
        f'{CPU_DECISION}image_digest = "sha256:{SHA256}"\n[existing]\nrepository = "ours"\n',
    ],
)
def test_a_base_that_nothing_is_built_on_needs_no_binding(tmp_path: Path, section: str) -> None:
    assert load(tmp_path, f'{MODEL}{section}[images]\ncpu = "{UNKNOWN_BASE}"\n').images.cpu == UNKNOWN_BASE


@pytest.mark.parametrize(
    ("section", "found"),
    [
        ('[network]\nsubnet_ids = ["subnet-1"]', "network.security_group_ids: missing; expected a list of 1 to 5"),
        ('[network]\nsubnet_ids = []\nsecurity_group_ids = ["sg-1"]', "network.subnet_ids: []: expected a list of 1"),
        ('[encryption]\nkms_key = "alias/mine"', "encryption.kms_key: 'alias/mine': expected \"new\" (a key is made)"),
        ('[existing]\nbucket = "s3://x"', "existing.bucket: 's3://x': expected a bucket's name, not its ARN or URI"),
        ('[existing]\nbucket = "abc"\naccess_log_bucket = "def"', "existing.access_log_bucket: is for the bucket that"),
        ("[monitoring]\nlog_retention_days = 31", "monitoring.log_retention_days: 31: expected 1, 7, 14, 30, 90"),
        ('[monitoring]\ntopic_arn = "me@example.com"', "monitoring.topic_arn: 'me@example.com': expected an SNS topic"),
        ('[existing]\nbuild_role = "build"', "existing.build_role: 'build': expected a role's ARN"),
        ("[decision.data_capture]", "decision.data_capture.percentage: missing; expected 1 to 100 percent"),
        ("[decision.alarms]\nserver_errors = 0", "decision.alarms.server_errors: 0: expected 1 to 1000000 in five min"),
        ("[decision.alarms]\nquiet_minutes = 2000", "decision.alarms.quiet_minutes: 2000: expected 1 to 1440 minutes"),
        ("[chat.alarms]\nbusy_rejections = 1", "chat.alarms.busy_rejections: unknown key; allowed: server_errors"),
    ],
)
def test_a_wrong_setting_of_security_or_monitoring_is_told_with_its_limit(
    tmp_path: Path, section: str, found: str
) -> None:
    chat = '[chat]\ninstance_type = "ml.c6i.large"\n' if "chat" in section else ""
    (told,) = problems(tmp_path, f"{MODEL}{CPU_DECISION}{chat}{section}\n")
    assert told.startswith(found)


@pytest.mark.parametrize(
    ("name", "accelerator"),
    [
        ("ml.c6i.2xlarge", Accelerator.CPU),
        ("ml.c8g.large", Accelerator.ARM64),
        ("ml.r6gd.2xlarge", Accelerator.ARM64),
        ("ml.g4dn.2xlarge", Accelerator.CUDA),
        ("ml.g6e.xlarge", Accelerator.CUDA),
        ("ml.p5.48xlarge", Accelerator.CUDA),
    ],
)
def test_an_instance_type_tells_its_accelerator(name: str, accelerator: Accelerator) -> None:
    assert InstanceType.parse(name).accelerator is accelerator


@pytest.mark.parametrize(
    ("name", "gibibytes"),
    [
        ("ml.g4dn.xlarge", 16),
        ("ml.g5.12xlarge", 96),
        ("ml.g6.48xlarge", 192),
        ("ml.p5.4xlarge", 80),
        ("ml.p5.48xlarge", 640),
    ],
)
def test_an_instance_type_tells_the_memory_of_all_its_gpus(name: str, gibibytes: int) -> None:
    assert InstanceType.parse(name).gpu_memory_bytes == gibibytes * 2**30


@pytest.mark.parametrize(
    ("name", "local"),
    [
        ("ml.c6i.xlarge", False),
        ("ml.c5d.xlarge", True),
        ("ml.r7gd.large", True),
        ("ml.c7g.large", False),
        ("ml.g6.xlarge", True),
    ],
)
def test_an_instance_type_tells_whether_its_disk_is_its_own(name: str, local: bool) -> None:
    assert InstanceType.parse(name).has_local_storage is local


def sections(section: type[Section]) -> Iterator[type[Section]]:
    """A section and those in it."""
    yield section
    for field in section.model_fields.values():
        for part in (field.annotation, *get_args(field.annotation)):
            if isinstance(part, type) and issubclass(part, Section):
                yield from sections(part)


def test_the_docs_page_names_every_setting(repository_root: Path) -> None:
    page = (repository_root / "docs" / "settings.md").read_text(encoding="utf-8")
    for section in set(sections(settings.Settings)):
        missing = [name for name in section.model_fields if f"`{name}`" not in page and f"{name}]" not in page]
        assert not missing, section
