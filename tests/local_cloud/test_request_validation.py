"""Parameters against botocore's models, without a cloud."""

import pytest

from local_cloud.errors import ValidationError
from local_cloud.request_validation import validated


def config(**variant: object) -> dict[str, object]:
    return {"EndpointConfigName": "c", "ProductionVariants": [{"VariantName": "v", "ModelName": "m", **variant}]}


def test_text_becomes_the_type_of_the_model():
    parameters = config(InitialInstanceCount="2", InitialVariantWeight="0.5", EnableSSMAccess="true")

    [variant] = validated("sagemaker", "CreateEndpointConfig", parameters)["ProductionVariants"]

    assert (variant["InitialInstanceCount"], variant["InitialVariantWeight"]) == (2, 0.5)
    assert variant["EnableSSMAccess"] is True


def test_numbers_become_text_where_the_model_has_text():
    container = {"Image": "i", "Environment": {"SEMIF_THREADS": 2, "FLAG": True}}

    model = validated("sagemaker", "CreateModel", {"ModelName": "m", "PrimaryContainer": container})

    assert model["PrimaryContainer"]["Environment"] == {"SEMIF_THREADS": "2", "FLAG": "true"}


def test_every_violation_is_named_with_its_path():
    with pytest.raises(ValidationError) as caught:
        validated("sagemaker", "CreateEndpointConfig", config(InstanceType="ml.big", VolumeSizeInGB=1000))

    assert caught.value.message.startswith("2 validation errors detected: ")
    assert "'ml.big' at 'ProductionVariants.1.InstanceType'" in caught.value.message
    assert "'1000' at 'ProductionVariants.1.VolumeSizeInGB'" in caught.value.message


@pytest.mark.parametrize(
    ("variant", "reason"),
    [
        ({"Instances": 1}, 'Unknown parameter in ProductionVariants\\[0\\]: "Instances"'),
        ({"InitialInstanceCount": "many"}, "Invalid type for parameter ProductionVariants\\[0\\].InitialInstanceCount"),
        ({"InitialInstanceCount": 0}, "InitialInstanceCount"),
        ({"VariantName": "under_score"}, "regular expression pattern"),
    ],
)
def test_what_the_model_forbids_is_refused(variant, reason):
    with pytest.raises(ValidationError, match=reason):
        validated("sagemaker", "CreateEndpointConfig", config(**variant))
