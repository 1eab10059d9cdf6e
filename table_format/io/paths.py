"""Makes and parses all names of files and directories of tables and warehouses (format chapter 01).

Every path that this module returns is below the given root: names are checked, and a name in a metadata file is
refused if it is more than a plain file name. Java ``FileStorePathFactory``,
``DataFilePathFactory``, ``BranchManager``, ``TagManager``.
"""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass, replace
from typing import Final

from table_format.errors import BadEncoding, InvalidData, InvalidIdentifier, UnsupportedFeature
from table_format.io.partition_path import DEFAULT_PARTITION_NAME, escape, partition_text
from table_format.limits import MAX_FILE_NAME_BYTES, MAX_PATH_BYTES
from table_format.model.data_file import DataFileMeta
from table_format.model.identifier import MAIN_BRANCH, check_name

__all__ = [
    "DEFAULT_PARTITION_NAME",
    "POSTPONE_BUCKET",
    "TablePaths",
    "base_name",
    "branch_name_of",
    "changelog_id_of",
    "checked_path",
    "consumer_name_of",
    "data_file_name",
    "database_directory",
    "database_name_of",
    "dropped_directory",
    "escape",
    "expiry_end_of",
    "extension_of",
    "external_directory",
    "external_path",
    "external_uri",
    "file_index_name",
    "index_manifest_name",
    "index_name",
    "is_dropped",
    "is_hidden",
    "is_plain_path",
    "is_rewriting_notice",
    "is_temporary",
    "manifest_list_name",
    "manifest_name",
    "parent",
    "partition_text",
    "postponed_prefix",
    "schema_id_of",
    "sibling",
    "snapshot_id_of",
    "statistics_name",
    "table_root",
    "tag_being_deleted",
    "tag_name_of",
    "temporary_name",
    "without_scheme",
]

POSTPONE_BUCKET: Final = -2
_DATABASE_SUFFIX: Final = ".db"
_SNAPSHOT: Final = "snapshot-"
_CHANGELOG: Final = "changelog-"
_SCHEMA: Final = "schema-"
_TAG: Final = "tag-"
_BRANCH: Final = "branch-"
_CONSUMER: Final = "consumer-"
_EXPIRING: Final = "expiring-"
_REWRITING: Final = "rewriting"
_APART: Final = "-apart"
_TAG_DELETION: Final = "del-"
_TEMPORARY_SUFFIX: Final = ".tmp"
_DROPPED: Final = "dropped-"
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ENTROPY: Final = re.compile(r"/([01]{4}/){3}[01]{8}")
"""Directories that ``data-file.external-paths.strategy`` = entropy-inject puts below a bucket."""


@dataclass(frozen=True, slots=True)
class TablePaths:
    """The paths of one table.

    A branch has its own snapshots, schemas, tags, consumers and changelogs; all other files are in the table's root and
    are shared. ``data_directory`` is the option ``data-file.path-directory``. Without ``has_external_files``, all files
    are below the root, because the store does not find others by the URIs in the metadata.
    """

    root: str
    branch: str = MAIN_BRANCH
    data_directory: str = ""
    has_external_files: bool = True

    def __post_init__(self) -> None:
        if not is_plain_path(self.root):
            message = f"table root {self.root!r} must be an absolute path without '.', '..' or empty parts"
            raise InvalidIdentifier(message)
        if self.branch != MAIN_BRANCH:
            _check_branch(self.branch)
        if self.data_directory and not is_plain_path(f"/{self.data_directory}"):
            message = f"'data-file.path-directory' = {self.data_directory!r} must be a relative path below the table"
            raise InvalidIdentifier(message)

    def for_branch(self, branch: str) -> TablePaths:
        """The paths of another branch of the table."""
        return replace(self, branch=branch)

    def branch_root(self, branch: str) -> str:
        """The directory with the snapshots, schemas, tags and consumers of a branch.

        >>> TablePaths("/w/shop.db/orders").branch_root("dev")
        '/w/shop.db/orders/branch/branch-dev'
        """
        if branch == MAIN_BRANCH:
            return self.root
        return f"{self.branch_directory}/{_fitting(_BRANCH + _check_branch(branch), 'branch')}"

    @property
    def branch_directory(self) -> str:
        """The directory of all branches but the main one."""
        return f"{self.root}/branch"

    def branch_draft(self, uuid: str) -> str:
        """The directory in which a branch is prepared before it gets its name; hidden from listings."""
        return f"{self.branch_directory}/{temporary_name(_BRANCH, uuid)}"

    @property
    def snapshot_directory(self) -> str:
        """The directory of the snapshots and their hints."""
        return f"{self.branch_root(self.branch)}/snapshot"

    def snapshot(self, snapshot_id: int) -> str:
        """The file of a snapshot."""
        return f"{self.snapshot_directory}/{_SNAPSHOT}{snapshot_id}"

    @property
    def latest_hint(self) -> str:
        """The file that may name the newest snapshot."""
        return f"{self.snapshot_directory}/LATEST"

    @property
    def earliest_hint(self) -> str:
        """The file that may name the oldest snapshot."""
        return f"{self.snapshot_directory}/EARLIEST"

    def expiry_notice(self, end: int, uuid: str) -> str:
        """The file that marks that an expiry is deleting the snapshots before ``end``; only its name counts.

        Other engines ignore it, because it is neither a snapshot nor a hint.
        """
        return f"{self.snapshot_directory}/{_EXPIRING}{end}-{uuid}"

    def rewriting_notice(self, *, apart: bool) -> str:
        """The file that exists while another history replaces that of the branch, which may begin ``apart``."""
        return f"{self.snapshot_directory}/{_REWRITING}{_APART if apart else ''}"

    @property
    def changelog_directory(self) -> str:
        """The directory of the changelogs that are kept longer than their snapshots."""
        return f"{self.branch_root(self.branch)}/changelog"

    @property
    def changelog_latest_hint(self) -> str:
        """The file that may name the newest changelog."""
        return f"{self.changelog_directory}/LATEST"

    @property
    def changelog_earliest_hint(self) -> str:
        """The file that may name the oldest changelog."""
        return f"{self.changelog_directory}/EARLIEST"

    def changelog(self, snapshot_id: int) -> str:
        """The file of a changelog, which has the id of its snapshot."""
        return f"{self.changelog_directory}/{_CHANGELOG}{snapshot_id}"

    @property
    def schema_directory(self) -> str:
        """The directory of the schemas."""
        return f"{self.branch_root(self.branch)}/schema"

    def schema(self, schema_id: int) -> str:
        """The file of a schema."""
        return f"{self.schema_directory}/{_SCHEMA}{schema_id}"

    @property
    def tag_directory(self) -> str:
        """The directory of the tags."""
        return f"{self.branch_root(self.branch)}/tag"

    def tag(self, name: str) -> str:
        """The file of a tag. Purely numeric names, which other writers create, can be read; see ``new_tag``.

        Raises:
            InvalidIdentifier: the name is not legal.
        """
        check_name(name, "tag")
        return f"{self.tag_directory}/{_fitting(_TAG + name, 'tag')}"

    def new_tag(self, name: str) -> str:
        """The file of a new tag.

        Raises:
            InvalidIdentifier: the name is not legal, or purely numeric, which could be mistaken for a snapshot id.
        """
        return self.tag(_check_not_numeric(name, "tag"))

    def tag_notice(self, name: str) -> str:
        """The file that marks that a tag is being deleted: files that only the tag kept may be missing."""
        check_name(name, "tag")
        return f"{self.tag_directory}/{_TAG_DELETION}{name}"

    @property
    def consumer_directory(self) -> str:
        """The directory of the consumers."""
        return f"{self.branch_root(self.branch)}/consumer"

    def consumer(self, name: str) -> str:
        """The file of a consumer.

        Raises:
            InvalidIdentifier: the name cannot be the name of a file.
        """
        return f"{self.consumer_directory}/{_fitting(_CONSUMER + check_name(name, 'consumer'), 'consumer')}"

    @property
    def manifest_directory(self) -> str:
        """The directory of manifests and manifest lists of all branches."""
        return f"{self.root}/manifest"

    def manifest(self, name: str) -> str:
        """A manifest, manifest list or index manifest."""
        return _child(self.manifest_directory, name)

    @property
    def index_directory(self) -> str:
        """The directory of index files of all branches."""
        return f"{self.root}/index"

    def index(self, name: str) -> str:
        """An index file by its name in an index manifest."""
        return _child(self.index_directory, name)

    def index_file(self, partition: str, bucket: int, name: str, *, beside_data: bool) -> str:
        """An index file of a bucket; ``beside_data`` is the option ``index-file-in-data-file-dir``."""
        return self.file_in_bucket(partition, bucket, name) if beside_data else self.index(name)

    @property
    def statistics_directory(self) -> str:
        """The directory of statistics files of all branches."""
        return f"{self.root}/statistics"

    def statistics(self, name: str) -> str:
        """A statistics file by its name in a snapshot."""
        return _child(self.statistics_directory, name)

    @property
    def exchange_directory(self) -> str:
        """The directory for files that tasks exchange; each job has its own subdirectory."""
        return f"{self.root}/exchange"

    def exchange(self, uuid: str) -> str:
        """The directory of one such job."""
        return _child(self.exchange_directory, uuid)

    def partition_directory(self, partition: str) -> str:
        """The directory of a partition, given the text of ``partition_text``."""
        data_root = f"{self.root}/{self.data_directory}" if self.data_directory else self.root
        directory = f"{data_root}/{partition}" if partition else data_root
        if not is_plain_path(directory):
            raise BadEncoding(self.root, f"the partition text {partition!r} is not a path below the table")
        return directory

    def success_file(self, partition: str) -> str:
        """The file that marks a partition as complete."""
        return f"{self.partition_directory(partition)}/_SUCCESS"

    def bucket_directory(self, partition: str, bucket: int) -> str:
        """The directory with the data files of a bucket.

        >>> TablePaths("/w/shop.db/orders").bucket_directory("dt=2024-01-01", 3)
        '/w/shop.db/orders/dt=2024-01-01/bucket-3'
        """
        name = "postpone" if bucket == POSTPONE_BUCKET else str(bucket)
        return f"{self.partition_directory(partition)}/bucket-{name}"

    def check_new_bucket(self, partition: str, bucket: int) -> None:
        """Refuse a bucket whose files would have paths that are too long for file systems.

        Raises:
            InvalidData: names the directory's bytes and how many there may be.
        """
        directory = self.bucket_directory(partition, bucket)
        size, most = len(directory.encode()), MAX_PATH_BYTES - MAX_FILE_NAME_BYTES - 1
        if size > most:
            message = (
                f"the partition '{partition[:60]}...' makes a directory path of {size} bytes; at most {most} fit. "
                "Shorten the values, or partition by fewer columns"
            )
            raise InvalidData(message)

    def data_file(self, partition: str, bucket: int, file: DataFileMeta) -> str:
        """The path of a data or changelog file.

        Raises:
            BadEncoding: the metadata holds a name that is not a plain file name, or an external path with another name.
            UnsupportedFeature: the file lies outside the file system.
        """
        own = self.file_in_bucket(partition, bucket, file.file_name)
        if file.external_path is None:
            return own
        if not self.has_external_files:
            feature = f"'{file.external_path}' outside the store of the table ('data-file.external-paths')"
            raise UnsupportedFeature(feature)
        return external_path(file.external_path, file.file_name)

    def beside(self, partition: str, bucket: int, file: DataFileMeta, name: str) -> str:
        """The path of a file of that name in the directory of a data file; raises as ``data_file``."""
        if file.external_path is None:
            return self.file_in_bucket(partition, bucket, name)
        return _child(parent(self.data_file(partition, bucket, file)), name)

    def elsewhere(self, root: str) -> TablePaths:
        """The paths of the same partitions and buckets below an external path."""
        return replace(self, root=root)

    def is_laid_out(self, partition: str, bucket: int, path: str) -> bool:
        """Whether a file is in a directory that writers of the format create for a bucket, below any root.

        Outside the table, only these files are deleted: nothing else shows that they belong to the table.

        >>> paths = TablePaths("/w/shop.db/orders")
        >>> [paths.is_laid_out("", 0, f"/elsewhere/{place}/f") for place in ("bucket-0", "bucket-1", "photos")]
        [True, False, False]
        """
        bucket_directory = self.bucket_directory(partition, bucket).removeprefix(self.root)
        directory = parent(path)
        return (_ENTROPY.sub("", directory) if _ENTROPY.search(directory) else directory).endswith(bucket_directory)

    def file_in_bucket(self, partition: str, bucket: int, name: str) -> str:
        """The path of a file of that name, old or new, among the data files of a bucket."""
        return _child(self.bucket_directory(partition, bucket), name)

    def extra_files(self, partition: str, bucket: int, file: DataFileMeta) -> tuple[str, ...]:
        """The paths of the files that belong to a data file: its file index, its changelog companion."""
        return tuple(self.beside(partition, bucket, file, name) for name in file.extra_files)

    def files_of(self, partition: str, bucket: int, file: DataFileMeta) -> tuple[str, ...]:
        """The path of a data file, then those of its extra files; raises as ``data_file``."""
        return (self.data_file(partition, bucket, file), *self.extra_files(partition, bucket, file))


# --- names of new files: a kind, a UUID, a counter ------------------------------------------------------------------
# The UUID of a file that is written at once contains a hash of its content (``codecs.content_name``).


def data_file_name(prefix: str, uuid: str, counter: int, extension: str) -> str:
    """The name of a new data or changelog file; ``extension`` has no dot.

    >>> data_file_name("data-", "7f60b530-056b-4692-9e07-7c8e9fd4e68a", 0, "parquet")
    'data-7f60b530-056b-4692-9e07-7c8e9fd4e68a-0.parquet'
    """
    return f"{prefix}{uuid}-{counter}.{extension}"


def postponed_prefix(prefix: str, commit_user: str, writer_id: int) -> str:
    """Return the prefix of the names of postponed files. Files of one writer share it, because they are replayed
    together.

    >>> postponed_prefix("data-", "8ecde9e2-76bb-4a4d-b027-ef08f39a032c", 1139073719)
    'data--u-8ecde9e2-76bb-4a4d-b027-ef08f39a032c-s-1139073719-w-'
    """
    return f"{prefix}-u-{commit_user}-s-{writer_id}-w-"


def file_index_name(data_file: str, uuid: str) -> str:
    """The name of the file with the indexes of a data file; readers recognize it by its suffix.

    >>> file_index_name("data-7f60b530-0.parquet", "59f26fa6-afe8-8061-85c9-7cf9b0447624")
    'data-7f60b530-0.parquet.59f26fa6-afe8-8061-85c9-7cf9b0447624.index'
    """
    return f"{data_file}.{uuid}.index"


def manifest_name(uuid: str, counter: int) -> str:
    """The name of a manifest: number ``counter`` of one commit."""
    return f"manifest-{uuid}-{counter}"


def manifest_list_name(uuid: str, counter: int) -> str:
    """The name of a manifest list: number ``counter`` of one commit."""
    return f"manifest-list-{uuid}-{counter}"


def index_manifest_name(uuid: str, counter: int) -> str:
    """The name of an index manifest: number ``counter`` of one commit."""
    return f"index-manifest-{uuid}-{counter}"


def index_name(uuid: str, counter: int) -> str:
    """The name of an index file."""
    return f"index-{uuid}-{counter}"


def statistics_name(uuid: str, counter: int) -> str:
    """The name of a statistics file."""
    return f"stat-{uuid}-{counter}"


def temporary_name(name: str, uuid: str) -> str:
    """The temporary name of a file while it is written; hidden from listings."""
    return f".{name}.{uuid}{_TEMPORARY_SUFFIX}"


def dropped_directory(directory: str, uuid: str) -> str:
    """The directory of a dropped table or database until its files are deleted; hidden from listings.

    >>> dropped_directory("/w/shop.db/orders", "7f60")
    '/w/shop.db/.dropped-orders.7f60.tmp'
    """
    return sibling(directory, temporary_name(f"{_DROPPED}{base_name(directory)}", uuid))


def is_dropped(name: str, of: str = "") -> bool:
    """Whether the name is that of a dropped table or database: of the directory ``of``, or of any.

    >>> [is_dropped(".dropped-orders.7f60.tmp", of) for of in ("orders", "", "other")]
    [True, True, False]
    """
    return is_temporary(name) and name.startswith(f".{_DROPPED}{of}." if of else f".{_DROPPED}")


# --- names of the warehouse -----------------------------------------------------------------------------------------


def database_directory(warehouse: str, database: str) -> str:
    """The directory of a database.

    >>> database_directory("/w", "shop")
    '/w/shop.db'

    Raises:
        InvalidIdentifier: the name is not legal.
    """
    return f"{warehouse.rstrip('/')}/{_fitting(check_name(database, 'database') + _DATABASE_SUFFIX, 'database')}"


def table_root(warehouse: str, database: str, table: str) -> str:
    """The directory of a table.

    Raises:
        InvalidIdentifier: a name is not legal.
    """
    return f"{database_directory(warehouse, database)}/{check_name(table, 'table')}"


# --- names read back ------------------------------------------------------------------------------------------------


def snapshot_id_of(file_name: str) -> int | None:
    """The id in ``snapshot-<id>``, or ``None`` for any other name.

    >>> [snapshot_id_of(n) for n in ("snapshot-12", "LATEST", "snapshot-x", "snapshot-012")]
    [12, None, None, None]
    """
    return _number_after(_SNAPSHOT, file_name)


def expiry_end_of(file_name: str) -> int | None:
    """The first snapshot that an expiry keeps, from the name of its notice; ``None`` for any other name.

    >>> [expiry_end_of(n) for n in ("expiring-12-7f60b530", "expiring-x-7f60", "snapshot-12", "expiring-12")]
    [12, None, None, None]
    """
    number, dash, _ = (_text_after(_EXPIRING, file_name) or "").partition("-")
    return _number_after("", number) if dash else None


def is_rewriting_notice(file_name: str) -> bool:
    """Whether a file is a notice that the history of the branch is being replaced."""
    return file_name in (_REWRITING, _REWRITING + _APART)


def changelog_id_of(file_name: str) -> int | None:
    """The id in the name of a changelog; ``None`` for any other name."""
    return _number_after(_CHANGELOG, file_name)


def schema_id_of(file_name: str) -> int | None:
    """The id in the name of a schema; ``None`` for any other name."""
    return _number_after(_SCHEMA, file_name)


def tag_name_of(file_name: str) -> str | None:
    """The tag of a file; ``None`` for any other file name."""
    return _text_after(_TAG, file_name)


def tag_being_deleted(file_name: str) -> str | None:
    """The tag that is being deleted, from the name of its ``tag_notice``."""
    return _text_after(_TAG_DELETION, file_name)


def consumer_name_of(file_name: str) -> str | None:
    """The consumer of a file; ``None`` for any other file name."""
    return _text_after(_CONSUMER, file_name)


def branch_name_of(directory_name: str) -> str | None:
    """The branch of a directory; ``None`` for any other directory."""
    return _text_after(_BRANCH, directory_name)


def database_name_of(directory_name: str) -> str | None:
    """The database whose directory has that name, or ``None`` for any other directory."""
    name = directory_name.removesuffix(_DATABASE_SUFFIX)
    return name if name and name != directory_name else None


def extension_of(file_name: str) -> str:
    """Return the text after the last dot, which is the file format; empty without a dot.

    >>> extension_of("data-7f60b530-0.zstd.parquet")
    'parquet'
    """
    return file_name.rpartition(".")[2] if "." in file_name else ""


# --- paths as text --------------------------------------------------------------------------------------------------


def is_hidden(name: str) -> bool:
    """Whether listings skip the name: temporary files, and files of other tools."""
    return name.startswith(".")


def is_temporary(name: str) -> bool:
    """Whether the name is a temporary name of a file; those of the reference have the same form.

    >>> [is_temporary(n) for n in (temporary_name("snapshot-1", "7f60"), ".hidden", "a.tmp")]
    [True, False, False]
    """
    return is_hidden(name) and name.endswith(_TEMPORARY_SUFFIX)


def is_plain_path(path: str) -> bool:
    """Whether the path is absolute and each of its parts names a child.

    >>> [is_plain_path(p) for p in ("/w/a", "/", "w/a", "/w/../a", "/w//a", "/w/a/")]
    [True, True, False, False, False, False]
    """
    if path == "/":
        return True
    # Plain text searches, because this runs for each opened file.
    whole = f"{path}/"
    if "//" in whole or "/./" in whole or "/../" in whole:
        return False
    return path[:1] == "/" and "\0" not in path


def checked_path(path: str) -> str:
    """Return the path itself if it is absolute and normal.

    Raises:
        OSError: it is not, so it does not identify a file.
    """
    if not is_plain_path(path):
        raise OSError(errno.EINVAL, "expected an absolute path without '.', '..' or empty parts", path)
    return path


def parent(path: str) -> str:
    """The parent directory of a path."""
    return path.rpartition("/")[0] or "/"


def sibling(path: str, name: str) -> str:
    """The file of that name in the same directory."""
    return f"{path.rpartition('/')[0]}/{name}"


def base_name(path: str) -> str:
    """The last part of a path."""
    return path.rpartition("/")[2]


def without_scheme(path: str) -> str:
    """A local path without ``file:`` and without slashes at its end.

    >>> [without_scheme(p) for p in ("file:///w/a/", "file:/w/a", "/w/a", "/")]
    ['/w/a', '/w/a', '/w/a', '/']
    """
    if path.startswith("file:"):
        path = "/" + path.removeprefix("file:").lstrip("/")
    return path.rstrip("/") or "/"


def external_uri(path: str) -> str:
    """The name of a local file outside the table in metadata: as in Java, with one slash after the scheme.

    >>> external_uri("/data/bucket-0/f")
    'file:/data/bucket-0/f'
    """
    return f"file:{path}"


def external_path(uri: str, name: str) -> str:
    """The path of a file outside the table.

    Raises:
        UnsupportedFeature: it is outside the file system.
        BadEncoding: its last part is not the name of the file.
    """
    path = external_directory(uri)
    if base_name(path) != name:
        raise BadEncoding(path, f"expected the external path of the file {name!r}")
    return path


def external_directory(uri: str) -> str:
    """The path that a URI of the local file system names.

    Raises:
        UnsupportedFeature: it is another file system, or not a plain path.
    """
    path = without_scheme(uri)
    if _SCHEME.match(path) or not is_plain_path(path):
        feature = f"'{uri}' outside the file system of the table ('data-file.external-paths')"
        raise UnsupportedFeature(feature)
    return path


def _child(directory: str, name: str) -> str:
    if not name or "/" in name or "\0" in name or name in (".", ".."):
        raise BadEncoding(directory, f"expected the name of a file in this directory, found {name!r}")
    return f"{directory}/{name}"


def _fitting(file_name: str, what: str) -> str:
    size = len(file_name.encode())
    if size > MAX_FILE_NAME_BYTES:
        message = (
            f"{what} name: its file '{file_name[:60]}...' has a name of {size} bytes; at most {MAX_FILE_NAME_BYTES} fit"
        )
        raise InvalidIdentifier(message)
    return file_name


def _check_branch(name: str) -> str:
    if name == MAIN_BRANCH:
        message = f"branch name {name!r} is the table itself"
        raise InvalidIdentifier(message)
    return _check_not_numeric(name, "branch")


def _check_not_numeric(name: str, what: str) -> str:
    check_name(name, what)
    if name.isascii() and name.isdigit():
        message = f"{what} name {name!r} is not legal: it is purely numeric"
        raise InvalidIdentifier(message)
    return name


def _number_after(prefix: str, name: str) -> int | None:
    text = name.removeprefix(prefix) if name.startswith(prefix) else ""
    return int(text) if text.isascii() and text.isdigit() and text == str(int(text)) else None


def _text_after(prefix: str, name: str) -> str | None:
    return name.removeprefix(prefix) if name.startswith(prefix) and name != prefix else None
