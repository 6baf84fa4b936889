"""AWS's registries of Deep Learning Containers: one in each region, of an account that differs.

https://aws.github.io/deep-learning-containers/reference/region_availability/
"""

from decision_constructs.pinned_image import PUBLIC_REGISTRY, PinnedImage

_PUBLIC_FOLDER = "deep-learning-containers/"
_MOST_REGIONS = "763104351884"
ACCOUNTS = {
    **dict.fromkeys(("us-east-1", "us-east-2", "us-west-1", "us-west-2", "ca-central-1", "sa-east-1"), _MOST_REGIONS),
    **dict.fromkeys(("eu-central-1", "eu-north-1", "eu-west-1", "eu-west-2", "eu-west-3"), _MOST_REGIONS),
    **dict.fromkeys(("ap-northeast-1", "ap-northeast-2", "ap-south-1"), _MOST_REGIONS),
    **dict.fromkeys(("ap-southeast-1", "ap-southeast-2"), _MOST_REGIONS),
    "af-south-1": "626614931356",
    "ap-east-1": "871362719292",
    "ap-east-2": "975050140332",
    "ap-northeast-3": "364406365360",
    "ap-south-2": "772153158452",
    "ap-southeast-3": "907027046896",
    "ap-southeast-4": "457447274322",
    "ap-southeast-5": "550225433462",
    "ap-southeast-6": "633930458069",
    "ap-southeast-7": "590183813437",
    "ca-west-1": "204538143572",
    "cn-north-1": "727897471807",
    "cn-northwest-1": "727897471807",
    "eu-central-2": "380420809688",
    "eu-south-1": "692866216735",
    "eu-south-2": "503227376785",
    "il-central-1": "780543022126",
    "me-central-1": "914824155844",
    "me-south-1": "217643126080",
    "mx-central-1": "637423239942",
}
"""The account by region; AWS's table has no other region."""


def is_one(image: PinnedImage) -> bool:
    """Whether AWS publishes the image as a Deep Learning Container."""
    return image.registry == PUBLIC_REGISTRY and image.repository.startswith(_PUBLIC_FOLDER)


def regional(image: PinnedImage, region: str) -> PinnedImage:
    """The published image in the registry of the region: the digest is the same.

    Raises:
        KeyError: the region has none.
    """
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return PinnedImage(
        f"{ACCOUNTS[region]}.dkr.ecr.{region}.{domain}", image.repository.removeprefix(_PUBLIC_FOLDER), image.digest
    )
