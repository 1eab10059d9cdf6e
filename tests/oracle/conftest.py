"""Everything here runs beside the real Apache Paimon; without it (``python -m tests.oracle.install``) it is skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from itertools import count

import pytest

from table_format import Catalog, load_catalog
from tests.oracle.install import GATEWAY_PROGRAM, S3, S3_VERSION, VERSIONS, jar_name
from tests.oracle.peer import DIRECTORY, PaimonPeer
from tests.oracle.pypaimon_peer import READY, PyPaimonPeer
from tests.support.other_servers import running_gateway, skip_without
from tests.support.s3_server import S3Server, running_s3

pytest.register_assert_rewrite("tests.oracle.shared_catalogs", "tests.oracle.shared_format_tables")

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
def moto() -> Iterator[S3Server]:
    """A server that lets a test act just before a request."""
    with running_s3() as server:
        yield server


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A server written by others, which checks signatures."""
    skip_without(GATEWAY_PROGRAM)
    with running_gateway(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture(scope="session")
def in_s3() -> Iterator[Callable[[S3Server], PaimonPeer]]:
    """The real Paimon, with the options of catalogs on a server. Both understand this name of the region."""
    if not (DIRECTORY / "jars" / jar_name(S3)).exists():
        pytest.skip("!!!!! paimon-s3 is not set up, nothing is checked with it: python -m tests.oracle.install !!!!!")
    running: dict[str, PaimonPeer] = {}
    with ExitStack() as stack:

        def start(server: S3Server) -> PaimonPeer:
            options = {**server.options, "s3.endpoint.region": "us-east-1"}
            if server.endpoint not in running:
                running[server.endpoint] = stack.enter_context(PaimonPeer(S3_VERSION, options))
            return running[server.endpoint]

        yield start


@dataclass(frozen=True)
class SharedLake:
    """A warehouse in a bucket of its own, opened by both."""

    uri: str
    ours: Catalog
    theirs: PaimonPeer


def _lake(server: S3Server, theirs: PaimonPeer) -> SharedLake:
    uri = f"{server.make_bucket(f'lake-{next(_NUMBERS)}')}/w"
    return SharedLake(uri, load_catalog({"warehouse": uri, **theirs.catalog_options}), theirs)


@pytest.fixture
def lake_on_moto(moto: S3Server, in_s3: Callable[[S3Server], PaimonPeer]) -> SharedLake:
    """A warehouse that does not exist yet."""
    return _lake(moto, in_s3(moto))


@pytest.fixture
def lake(gateway: S3Server, in_s3: Callable[[S3Server], PaimonPeer]) -> SharedLake:
    """A warehouse that does not exist yet, on the server written by others."""
    return _lake(gateway, in_s3(gateway))


@pytest.fixture(scope="session")
def pypaimon() -> Iterator[PyPaimonPeer]:
    """Paimon's own Python client."""
    if not READY.exists():
        pytest.skip("!!!!! pypaimon is not set up, nothing is checked with it: python -m tests.oracle.install !!!!!")
    with PyPaimonPeer() as running:
        yield running
