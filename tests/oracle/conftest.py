"""Everything here runs beside the real Apache Paimon; without it (``python -m tests.oracle.install``) it is skipped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.oracle.install import VERSIONS
from tests.oracle.peer import DIRECTORY, PaimonPeer


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if "tests/oracle/" in str(item.path)]
    missing = not (DIRECTORY / "classes" / VERSIONS[-1] / "PaimonPeer.class").exists()
    for item in here:
        item.add_marker(pytest.mark.oracle)
        if missing:
            item.add_marker(pytest.mark.skip(reason="the real Paimon is not set up: python -m tests.oracle.install"))


@pytest.fixture(scope="session", params=VERSIONS)
def paimon(request: pytest.FixtureRequest) -> Iterator[PaimonPeer]:
    """The real Paimon, in each version."""
    with PaimonPeer(request.param) as peer:
        yield peer
