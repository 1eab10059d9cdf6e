"""One build and one installation of the wheel for all tests of this directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.foreign_project import ForeignEnvironment, build_wheel, environment_with


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def foreign(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> ForeignEnvironment:
    """An environment with all extras, and with ``dg``."""
    root = tmp_path_factory.mktemp("environment")
    return environment_with(wheel, root, extras=["all"], also=["dagster-dg-cli"])
