"""Everything here runs beside the real Apache Paimon; without it (``python -m tests.oracle.install``) it is skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from typing import Final

import pytest

from tests.oracle.install import VERSIONS
from tests.oracle.peer import DIRECTORY, PaimonPeer

SPREAD: Final = frozenset({"test_hand_over_histories.py"})
"""Files whose tests are long and need nothing of each other: with ``--dist loadgroup`` all workers share them, and the
tests of every other file stay together."""


@pytest.hookimpl(tryfirst=True)  # before the groups are read
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if "tests/oracle/" in str(item.path)]
    missing = not (DIRECTORY / "classes" / VERSIONS[-1] / "PaimonPeer.class").exists()
    for item in here:
        item.add_marker(pytest.mark.oracle)
        if item.path.name not in SPREAD:
            item.add_marker(pytest.mark.xdist_group(item.path.name))
        if missing:
            item.add_marker(pytest.mark.skip(reason="the real Paimon is not set up: python -m tests.oracle.install"))


@pytest.fixture(scope="session")
def peers() -> Iterator[Callable[[str], PaimonPeer]]:
    """A process of each version, from the first test that wants one to the last."""
    with ExitStack() as running:
        yield cache(lambda version: running.enter_context(PaimonPeer(version)))


@pytest.fixture(scope="session", params=VERSIONS)
def paimon(request: pytest.FixtureRequest, peers: Callable[[str], PaimonPeer]) -> PaimonPeer:
    """The real Paimon, in each version."""
    return peers(request.param)
