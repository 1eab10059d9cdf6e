"""What the wheel and the source distribution hold."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import table_format
from tests.support.foreign_project import ROOT, build_sdist

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PACKAGES = {"table_format", "dagster_paimon"}


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def information(wheel: Path) -> dict[str, str]:
    """The files of the wheel that are about it."""
    with zipfile.ZipFile(wheel) as archive:
        found = [name for name in archive.namelist() if ".dist-info/" in name]
        return {name.partition("/")[2]: archive.read(name).decode() for name in found}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution as a directory."""
    target = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build_sdist(target)) as archive:
        archive.extractall(target, filter="data")
    return target / f"paimon_lakehouse-{PROJECT['version']}"


def test_the_wheel_holds_each_module_of_the_two_packages_and_their_types(wheel: Path) -> None:
    modules = {path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    assert modules <= names(wheel)
    assert {f"{package}/py.typed" for package in PACKAGES} <= names(wheel)
    assert {name.partition("/")[0] for name in names(wheel)} == PACKAGES


def test_the_wheel_has_the_license_the_notice_and_the_command(wheel: Path) -> None:
    files = information(wheel)
    assert files["licenses/LICENSE"] == (ROOT / "LICENSE").read_text()
    assert files["licenses/NOTICE"] == (ROOT / "NOTICE").read_text()
    assert "lakehouse = table_format.cli:main" in files["entry_points.txt"]


def test_the_description_of_the_wheel_has_no_link_or_picture_that_leads_into_the_repository(wheel: Path) -> None:
    metadata = email.message_from_string(information(wheel)["METADATA"])
    assert metadata["Description-Content-Type"] == "text/markdown"
    description = str(metadata.get_payload())
    assert "# A lakehouse that a Python team can run by itself" in description
    targets = re.findall(r"\]\(([^)]*)\)", description) + re.findall(r'src="([^"]*)"', description)
    assert targets
    assert all(target.startswith(("https://", "#")) for target in targets), targets


def test_the_version_of_the_package_is_that_of_the_wheel(wheel: Path) -> None:
    assert email.message_from_string(information(wheel)["METADATA"])["Version"] == table_format.__version__


def test_make_lock_finds_its_dependency_groups() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    named = re.findall(r"--group (?:pyproject\.toml:)?(\w+)", (ROOT / "Makefile").read_text())
    assert set(named) == set(groups) == {"dev", "site"}


def test_pip_refuses_a_python_that_is_too_old(wheel: Path) -> None:
    metadata = email.message_from_string(information(wheel)["METADATA"])
    assert metadata["Requires-Python"] == PROJECT["requires-python"] == ">=3.11"


def test_the_same_wheel_is_built_from_the_source_distribution(wheel: Path, unpacked: Path, tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=unpacked, check=True, capture_output=True)
    (rebuilt,) = tmp_path.glob("*.whl")
    assert names(rebuilt) == names(wheel)
    assert information(rebuilt)["METADATA"] == information(wheel)["METADATA"]


def test_the_source_distribution_has_the_documents_and_neither_the_shop_nor_the_tests(unpacked: Path) -> None:
    found = {path.name for path in unpacked.iterdir()}
    assert {"README.md", "CHANGELOG.md", "LICENSE", "NOTICE", "SECURITY.md", "docs", *PACKAGES} <= found
    assert not found & {"assets", "jobs", "sensors", "resources", "tests", "benchmarks"}
