"""The stores of files by the scheme of a URI, such as ``file`` of ``file:///warehouse``.

To add a store, write a module next to this one and a line in ``STORES``; a program calls ``register_store``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from table_format.io.azure import azure_path, open_azure, with_account_of
from table_format.io.file_io import FileIO, RemoteStore
from table_format.io.gcs import open_gcs
from table_format.io.hdfs import location_of, open_hdfs
from table_format.io.local import LocalFileIO
from table_format.io.oss import open_oss
from table_format.io.paths import without_scheme
from table_format.io.s3 import open_s3
from table_format.options.azure import AzureOptions
from table_format.options.gcs import GcsOptions
from table_format.options.hdfs import HdfsOptions
from table_format.options.oss import OssOptions
from table_format.options.s3 import S3Options
from table_format.registry import Registry
from table_format.secrets import redact
from table_format.shown_paths import remember_local_root, remember_root

LOCAL_SCHEME: Final = "file"
"""The scheme of a path without one."""


def path_in_store(uri: str) -> str:
    """Return the part after the scheme as an absolute path. For ``s3://bucket/w``, the bucket is its first part.

    >>> path_in_store("s3://bucket/w/")
    '/bucket/w'
    """
    return "/" + uri.partition("://")[2].strip("/")


def uri_in_store(io: FileIO, path: str) -> str:
    """Return the name of a path outside its catalog: a URI in a remote store, the path itself on this machine."""
    return io.uri(path) if isinstance(io, RemoteStore) else path


def _same(options: object, _: str) -> object:
    return options


@dataclass(frozen=True, slots=True)
class Store:
    """One scheme: how its store is opened, and which path a URI names.

    ``options`` is a frozen dataclass whose members are options (``Option.field``) of the catalog that the store takes,
    such as its access keys; options with the parser ``secret`` are given as ``Secret`` and never shown. ``open``
    receives an instance of it with the values of the catalog; ``None`` if the store has no options. ``completed``
    receives it before that, with the URI of the warehouse, and adds what the URI says, such as an account.
    """

    scheme: str
    open: Callable[[Any], FileIO]
    path_of: Callable[[str], str] = path_in_store
    options: type[object] | None = None
    completed: Callable[[Any, str], object] = _same

    def place_of(self, uri: str) -> str:
        """Return the path that a URI names. From now on, errors show it by this URI."""
        path = self.path_of(uri)
        if self.scheme == LOCAL_SCHEME:
            remember_local_root(path)
        else:
            remember_root(path, redact(uri))
        return path


def scheme_of(uri: str) -> str:
    """Return the scheme of a URI in lower case; that of local files for a plain path.

    >>> scheme_of("S3://bucket/w"), scheme_of("file:/w"), scheme_of("warehouse")
    ('s3', 'file', 'file')
    """
    scheme, separator, _ = uri.partition("://")
    return scheme.lower() if separator else LOCAL_SCHEME


def _local_path(uri: str) -> str:
    """Return a local path as an absolute path without ``..``, which may follow a link, and without a leading ``~``."""
    path = Path(without_scheme(uri) if uri.startswith("file:") else uri)
    if path.parts[:1] == ("~",):
        path = Path.home().joinpath(*path.parts[1:])
    path = path.absolute()
    if ".." not in path.parts:
        return str(path)
    end = len(path.parts) - path.parts[::-1].index("..")
    return str(Path(*path.parts[:end]).resolve().joinpath(*path.parts[end:]))


STORES: Final = Registry(
    "store",
    (
        Store(LOCAL_SCHEME, lambda _: LocalFileIO(), _local_path),
        *(Store(scheme, open_s3, options=S3Options) for scheme in ("s3", "s3a", "s3n")),
        *(Store(scheme, open_azure, azure_path, AzureOptions, with_account_of) for scheme in ("abfs", "abfss", "az")),
        Store("gs", open_gcs, options=GcsOptions),
        Store("oss", open_oss, options=OssOptions),
        *(Store(scheme, open_hdfs, options=HdfsOptions, completed=location_of) for scheme in ("hdfs", "webhdfs")),
    ),
    name_of=lambda store: store.scheme,
)


def register_store(store: Store) -> None:
    """Let catalogs open warehouses of this scheme, in this process.

    Raises:
        AlreadyExistsError: the scheme already has a store.
    """
    STORES.register(store)
