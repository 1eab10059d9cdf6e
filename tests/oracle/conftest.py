"""Everything here runs beside the real Apache Paimon; without it (``python -m tests.oracle.install``) it is skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from tests.oracle.install import VERSIONS
from tests.oracle.peer import DIRECTORY, PaimonPeer
from tests.oracle.pypaimon_peer import READY, PyPaimonPeer


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.oracle)
    if not (DIRECTORY / "classes" / VERSIONS[-1] / "PaimonPeer.class").exists():
        item.add_marker(pytest.mark.skip(reason="the real Paimon is not set up: python -m tests.oracle.install"))


@pytest.fixture(scope="session")
def peers() -> Iterator[Callable[[str], PaimonPeer]]:
    """A process of each version, from the first test that needs one to the last."""
    with ExitStack() as running:
        yield cache(lambda version: running.enter_context(PaimonPeer(version)))


@pytest.fixture(scope="session", params=VERSIONS)
def paimon(request: pytest.FixtureRequest, peers: Callable[[str], PaimonPeer]) -> PaimonPeer:
    """The real Paimon, in each version."""
    return peers(request.param)


@pytest.fixture(scope="session")
def pypaimon() -> Iterator[PyPaimonPeer]:
    """Paimon's own Python client."""
    if not READY.exists():
        pytest.skip("!!!!! pypaimon is not set up, nothing is checked with it: python -m tests.oracle.install !!!!!")
    with PyPaimonPeer() as running:
        yield running
