"""The versions of packages, for tests of what only newer ones do."""

from __future__ import annotations

from types import ModuleType


def is_at_least(package: ModuleType, major: int) -> bool:
    """Whether the major version of a package is this one or a newer one."""
    return int(package.__version__.split(".")[0]) >= major
