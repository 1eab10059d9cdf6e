"""Everything here runs beside the real Apache Paimon; without it (``python -m tests.oracle.install``) it is skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from itertools import count

import pytest

from tests.oracle.install import S3, S3_VERSION, VERSIONS, jar_name
from tests.oracle.peer import DIRECTORY, PaimonPeer
from tests.oracle.pypaimon_peer import READY, PyPaimonPeer
from tests.support.s3_server import S3Server, running_s3

_NUMBERS = count()


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
def s3() -> Iterator[S3Server]:
    """A server that both use."""
    with running_s3() as server:
        yield server


@pytest.fixture(scope="session")
def s3_jar() -> None:
    """What the real Paimon needs for S3."""
    if not (DIRECTORY / "jars" / jar_name(S3)).exists():
        pytest.skip("!!!!! paimon-s3 is not set up, nothing is checked with it: python -m tests.oracle.install !!!!!")


@pytest.fixture(scope="session")
def paimon_in_s3(s3: S3Server, s3_jar: None) -> Iterator[PaimonPeer]:
    """The real Paimon, with the options of catalogs in S3; both understand this name of the region."""
    with PaimonPeer(S3_VERSION, {**s3.options, "s3.endpoint.region": "us-east-1"}) as running:
        yield running


@pytest.fixture
def place_in_s3(s3: S3Server) -> str:
    """The URI of a warehouse that does not exist yet, in a bucket of its own."""
    return f"{s3.make_bucket(f'lake-{next(_NUMBERS)}')}/w"


@pytest.fixture(scope="session")
def pypaimon() -> Iterator[PyPaimonPeer]:
    """Paimon's own Python client."""
    if not READY.exists():
        pytest.skip("!!!!! pypaimon is not set up, nothing is checked with it: python -m tests.oracle.install !!!!!")
    with PyPaimonPeer() as running:
        yield running
