"""NOTICE names what the image holds, with the licences that the packages themselves name."""

from importlib.metadata import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import notice


def declared(package: str) -> str:
    """The licence in a package's metadata: its expression, else its classifier, else its text."""
    fields = metadata(package)
    classifiers = [one for one in fields.get_all("Classifier") or [] if one in notice.SPDX]
    if "License-Expression" in fields:
        return fields["License-Expression"]
    return notice.SPDX[classifiers[0]] if classifiers else fields["License"]


def test_notice_names_every_package_of_the_image_with_its_licence(repository_root: Path) -> None:
    # given what the image installs
    lines = (repository_root / "adapter" / "requirements.lock").read_text().splitlines()
    locked = {Requirement(line.removesuffix("\\")).name for line in lines if "==" in line}
    # then
    named = {canonicalize_name(package): licence for package, licence in notice.licences(repository_root).items()}
    assert named == {canonicalize_name(package): declared(package) for package in [*locked, "llama_cpp_python"]}
