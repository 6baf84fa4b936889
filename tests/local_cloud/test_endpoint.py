"""Models, endpoint configurations and endpoints through boto3."""

import pytest
from botocore.exceptions import ClientError

CHAT_IMAGE = "public.ecr.aws/deep-learning-containers/llama-cpp@sha256:" + "1" * 64
POOLS = [{"InstanceType": "ml.g6.xlarge", "Priority": 1}, {"InstanceType": "ml.g5.xlarge", "Priority": 2}]


@pytest.fixture(scope="module")
def model(workshop, stub_image, stub_archive) -> str:
    return workshop.model(stub_image, stub_archive)


def test_endpoint_comes_into_service_and_goes(workshop, model):
    sagemaker = workshop.client("sagemaker")
    config = workshop.config(model)

    endpoint = workshop.endpoint(config)

    described = sagemaker.describe_endpoint(EndpointName=endpoint)
    assert described["EndpointStatus"] == "InService"
    assert described["EndpointConfigName"] == config
    assert described["ProductionVariants"][0]["CurrentInstanceCount"] == 1
    assert endpoint in [e["EndpointName"] for e in sagemaker.list_endpoints(StatusEquals="InService")["Endpoints"]]

    sagemaker.delete_endpoint(EndpointName=endpoint)
    with pytest.raises(ClientError, match=f'Could not find endpoint "arn:aws:sagemaker:.*endpoint/{endpoint}"'):
        sagemaker.describe_endpoint(EndpointName=endpoint)


def test_container_log_reaches_cloudwatch(workshop, cloud, model):
    endpoint = workshop.endpoint(workshop.config(model))

    workshop.client("sagemaker").delete_endpoint(EndpointName=endpoint)

    events = workshop.client("logs").filter_log_events(logGroupName=f"/aws/sagemaker/Endpoints/{endpoint}")["events"]
    assert [event["message"] for event in events] == ["listening"]
    file = next((cloud.state_dir / "logs" / "endpoints" / endpoint).iterdir())
    assert file.read_text() == "listening\n"


def test_container_that_ends_at_once_fails_the_endpoint_with_its_last_sentence(workshop, stub_image, stub_archive):
    model = workshop.model(stub_image, stub_archive, STUB_EXIT="two GGUF files: a.gguf, b.gguf")

    endpoint = workshop.endpoint(workshop.config(model))

    described = workshop.client("sagemaker").describe_endpoint(EndpointName=endpoint)
    assert described["EndpointStatus"] == "Failed"
    assert "ended with status 1: two GGUF files: a.gguf, b.gguf" in described["FailureReason"]
    with pytest.raises(ClientError, match="is Failed, not InService"):
        workshop.invoke(endpoint)


def test_update_serves_the_new_model_and_failed_update_keeps_the_old(workshop, stub_image, stub_archive):
    sagemaker = workshop.client("sagemaker")
    first, second, broken = (
        workshop.config(workshop.model(stub_image, stub_archive, **environment))
        for environment in ({"STUB_NAME": "first"}, {"STUB_NAME": "second"}, {"STUB_EXIT": "no model"})
    )
    endpoint = workshop.endpoint(first)

    sagemaker.update_endpoint(EndpointName=endpoint, EndpointConfigName=second)
    updated = workshop.settled(endpoint)
    assert (updated["EndpointStatus"], updated["EndpointConfigName"]) == ("InService", second)
    assert workshop.invoke(endpoint)["environment"]["STUB_NAME"] == "second"

    sagemaker.update_endpoint(EndpointName=endpoint, EndpointConfigName=broken)
    failed = workshop.settled(endpoint)
    assert (failed["EndpointStatus"], failed["EndpointConfigName"]) == ("InService", second)
    assert failed["FailureReason"].endswith(".log)")
    assert "no model" in failed["FailureReason"]
    assert workshop.invoke(endpoint)["environment"]["STUB_NAME"] == "second"


def test_model_archive_with_a_member_outside_is_refused(workshop, stub_image):
    url = workshop.archive(**{"../escape.gguf": b"x"})

    endpoint = workshop.endpoint(workshop.config(workshop.model(stub_image, url)))

    reason = workshop.client("sagemaker").describe_endpoint(EndpointName=endpoint)["FailureReason"]
    assert "Failed to extract model data archive s3://" in reason
    assert "escape.gguf" in reason


def test_archive_is_extracted_once_and_cannot_be_written(workshop, cloud, stub_endpoint, model):
    second = workshop.endpoint(workshop.config(model))

    directories = {workshop.invoke(e)["environment"]["SEMIF_MODEL_DIR"] for e in (stub_endpoint, second)}

    assert len(directories) == 1
    weights = cloud.state_dir / "models" / directories.pop() / "model.gguf"
    assert weights.stat().st_mode & 0o222 == 0


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        ("000000000000.dkr.ecr.us-east-1.amazonaws.com/stub:latest", "is not pinned: give repository@sha256:"),
        (
            "000000000000.dkr.ecr.us-east-1.amazonaws.com/stub@sha256:" + "0" * 64,
            "not found: it was not built and pushed",
        ),
    ],
)
def test_image_that_is_not_pinned_or_not_known_is_refused(workshop, stub_archive, image, reason):
    with pytest.raises(ClientError, match=reason) as caught:
        workshop.model(image, stub_archive)

    assert caught.value.response["Error"]["Code"] == "ValidationException"


def test_missing_model_data_is_refused(workshop):
    with pytest.raises(ClientError, match=r"Could not find model data at s3://nowhere/model.tar.gz"):
        workshop.model(CHAT_IMAGE, "s3://nowhere/model.tar.gz")


def test_config_of_an_unknown_model_is_refused(workshop):
    with pytest.raises(ClientError, match='Could not find model "arn:aws:sagemaker:us-east-1:000000000000:model/none"'):
        workshop.config("none")


def test_an_endpoint_whose_model_is_gone_is_refused_and_leaves_nothing(workshop, stub_image, stub_archive):
    sagemaker, gone = workshop.client("sagemaker"), workshop.model(stub_image, stub_archive)
    config = workshop.config(gone)
    sagemaker.delete_model(ModelName=gone)

    with pytest.raises(ClientError, match="Could not find model"):
        sagemaker.create_endpoint(EndpointName="late", EndpointConfigName=config)
    with pytest.raises(ClientError, match="Could not find endpoint"):
        sagemaker.describe_endpoint(EndpointName="late")


def test_name_that_is_taken_is_refused(workshop, model):
    with pytest.raises(ClientError, match="Cannot create already existing model"):
        workshop.client("sagemaker").create_model(
            ModelName=model, PrimaryContainer={"Image": CHAT_IMAGE}, ExecutionRoleArn="arn:aws:iam::000000000000:role/r"
        )


def test_pools_are_kept_and_described(workshop, model):
    config = workshop.config(model, InstancePools=POOLS, VariantInstanceProvisionTimeoutInSeconds=1200)

    described = workshop.client("sagemaker").describe_endpoint_config(EndpointConfigName=config)

    assert described["ProductionVariants"][0]["InstancePools"] == POOLS


def _pools(*types_and_priorities):
    return {"InstancePools": [{"InstanceType": t, "Priority": p} for t, p in types_and_priorities]}


@pytest.mark.parametrize(
    ("variant", "reason"),
    [
        (
            {"InstancePools": POOLS, "InstanceType": "ml.c6i.large"},
            "exactly one of .* found InstanceType and InstancePools",
        ),
        ({"InstanceType": ""}, "at 'ProductionVariants.1.InstanceType'"),
        (_pools(("ml.g6.xlarge", 1), ("ml.g6.xlarge", 2)), "duplicate instance type in InstancePools: ml.g6.xlarge"),
        (_pools(("ml.g6.xlarge", 1), ("ml.g5.xlarge", 1)), "duplicate priority in InstancePools: 1"),
        (_pools(("ml.g6.xlarge", 6)), "(?i)priority"),
        (_pools(*((f"ml.g6.{n}xlarge", i) for i, n in enumerate(("", 2, 4, 8, 12, 16), 1))), "less than or equal to 5"),
        (_pools(("ml.g6.huge", 1)), "Value 'ml.g6.huge' .* closest of .*ml.g6"),
        ({"InstanceType": "ml.c6i.gigantic"}, "Value 'ml.c6i.gigantic' .* closest of .*ml.c6i"),
        ({"InstancePools": POOLS, "VariantInstanceProvisionTimeoutInSeconds": 3601}, "less than or equal to 3600"),
        ({"VariantInstanceProvisionTimeoutInSeconds": 600}, "is only valid with InstancePools"),
        ({"ContainerStartupHealthCheckTimeoutInSeconds": 4000}, "less than or equal to 3600"),
    ],
)
def test_variant_that_aws_would_refuse_is_refused(workshop, model, variant, reason):
    with pytest.raises(ClientError, match=reason) as caught:
        workshop.config(model, **variant)

    assert caught.value.response["Error"]["Code"] == "ValidationException"


def test_tags_are_listed(workshop, model):
    sagemaker = workshop.client("sagemaker")
    arn = sagemaker.describe_model(ModelName=model)["ModelArn"]

    sagemaker.add_tags(ResourceArn=arn, Tags=[{"Key": "team", "Value": "search"}])

    assert sagemaker.list_tags(ResourceArn=arn)["Tags"] == [{"Key": "team", "Value": "search"}]


def test_unknown_operation_names_those_there_are(workshop):
    with pytest.raises(ClientError, match=r"has no ListNotebookInstances; it has AddTags, CreateEndpoint"):
        workshop.client("sagemaker").list_notebook_instances()
