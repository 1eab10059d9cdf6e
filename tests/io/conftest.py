"""The stores every law of ``FileIO`` is tried on, and a directory of its own for each test."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

import pytest

from table_format.io.azure import open_azure
from table_format.io.file_io import FileIO
from table_format.io.gcs import open_gcs
from table_format.io.hdfs import HdfsFileIO, location_of, open_hdfs
from table_format.io.local import LocalFileIO
from table_format.io.memory import MemoryFileIO
from table_format.io.oss import open_oss
from table_format.io.s3 import open_s3
from table_format.options.azure import AzureOptions
from table_format.options.declare import parse_group
from table_format.options.gcs import GcsOptions
from table_format.options.hdfs import HdfsOptions
from table_format.options.oss import OssOptions
from table_format.options.s3 import S3Options
from tests.oracle.install import AZURITE_PROGRAM, FAKE_GCS_PROGRAM, GATEWAY_PROGRAM
from tests.support.fake_gcs import running_fake_gcs
from tests.support.gcs_server import running_gcs
from tests.support.hdfs_cluster import HdfsCluster, running_hdfs
from tests.support.oss_server import running_oss
from tests.support.other_servers import running_azurite, running_gateway, skip_without
from tests.support.s3_server import running_s3

_NUMBERS = count()
LONG_ORACLE = (pytest.mark.oracle, pytest.mark.long)
"""Marks of the stores that ``make setup`` does not set up and that take long."""


@dataclass(frozen=True)
class Place:
    """A store and a directory in it that holds nothing yet."""

    io: FileIO
    root: str

    def path(self, name: str) -> str:
        return f"{self.root}/{name}"

    def names(self, directory: str = "") -> list[str]:
        where = f"{self.root}/{directory}" if directory else self.root
        return [status.name for status in self.io.list(where)]


def _place(opened, kind, server) -> Place:
    """A place in the bucket of a server, whose store is opened with options of a kind."""
    return Place(opened(parse_group(kind, server.options)), f"/laws/{next(_NUMBERS)}")


@contextmanager
def _with_bucket(running):
    """A running server, with the bucket of the places."""
    with running as server:
        server.make_bucket("laws")
        yield server


@pytest.fixture(scope="session")
def s3_server():
    with _with_bucket(running_s3()) as server:
        yield server


@pytest.fixture
def s3_place(s3_server) -> Place:
    return _place(open_s3, S3Options, s3_server)


@pytest.fixture(scope="session")
def gcs_server():
    with _with_bucket(running_gcs()) as server:
        yield server


@pytest.fixture
def gcs_place(gcs_server) -> Place:
    return _place(open_gcs, GcsOptions, gcs_server)


@pytest.fixture(scope="session")
def oss_server():
    with _with_bucket(running_oss()) as server:
        yield server


@pytest.fixture
def oss_place(oss_server) -> Place:
    return _place(open_oss, OssOptions, oss_server)


@pytest.fixture(scope="session")
def gateway(tmp_path_factory):
    skip_without(GATEWAY_PROGRAM)
    with _with_bucket(running_gateway(tmp_path_factory.mktemp("gateway"))) as server:
        yield server


@pytest.fixture
def gateway_place(gateway) -> Place:
    return _place(open_s3, S3Options, gateway)


@pytest.fixture(scope="session")
def azurite(tmp_path_factory):
    skip_without(AZURITE_PROGRAM)
    with running_azurite(tmp_path_factory.mktemp("azurite")) as server:
        server.make_container("laws")
        yield server


@pytest.fixture
def azure_place(azurite) -> Place:
    return _place(open_azure, AzureOptions, azurite)


@pytest.fixture(scope="session")
def fake_gcs_server():
    skip_without(FAKE_GCS_PROGRAM)
    with running_fake_gcs() as server:
        server.make_bucket("laws")
        yield server


@pytest.fixture
def fake_gcs_place(fake_gcs_server) -> Place:
    return _place(open_gcs, GcsOptions, fake_gcs_server)


@pytest.fixture(scope="session")
def hdfs_cluster(tmp_path_factory):
    with running_hdfs(tmp_path_factory.mktemp("hdfs")) as cluster:
        yield cluster


def hdfs_store(cluster: HdfsCluster) -> HdfsFileIO:
    options = parse_group(HdfsOptions, cluster.options)
    return open_hdfs(location_of(options, cluster.native_uri))


@pytest.fixture
def hdfs_place(hdfs_cluster) -> Place:
    return Place(hdfs_store(hdfs_cluster), f"/127.0.0.1:{hdfs_cluster.port}/laws/{next(_NUMBERS)}")


@pytest.fixture(
    params=[
        *("local", "memory", "s3"),
        *(pytest.param(name, marks=pytest.mark.long) for name in ("gcs", "oss")),
        pytest.param("gateway", marks=pytest.mark.oracle),
        *(pytest.param(name, marks=LONG_ORACLE) for name in ("azure", "fake_gcs", "hdfs")),
    ]
)
def place(request, tmp_path) -> Place:
    if request.param not in ("local", "memory"):
        return request.getfixturevalue(f"{request.param}_place")
    return _place_with_directories(request.param, tmp_path)


@pytest.fixture(params=["local", "memory", pytest.param("hdfs", marks=LONG_ORACLE)])
def directories(request, tmp_path) -> Place:
    """A store whose directories are more than prefixes of names."""
    if request.param == "hdfs":
        return request.getfixturevalue("hdfs_place")
    return _place_with_directories(request.param, tmp_path)


def _place_with_directories(kind, tmp_path) -> Place:
    return Place(LocalFileIO(), str(tmp_path)) if kind == "local" else Place(MemoryFileIO(), "/some/root")
