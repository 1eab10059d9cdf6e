"""All declared options, by key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from table_format.errors import AlreadyExistsError
from table_format.options.alter import AlterOptions
from table_format.options.bucket import BucketOptions
from table_format.options.changelog import ChangelogOptions
from table_format.options.commit import CommitOptions
from table_format.options.compaction import CompactionOptions
from table_format.options.declare import AnyOption, Option, OptionPattern, declared_in
from table_format.options.deletion_vectors import DeletionVectorOptions
from table_format.options.expire import ExpireOptions
from table_format.options.file_index import FileIndexOptions
from table_format.options.files import FileOptions
from table_format.options.hints import HINTS
from table_format.options.identity import PARTITION, PATH, PRIMARY_KEY
from table_format.options.kind import KindOptions
from table_format.options.manifest import ManifestOptions
from table_format.options.materialized import MaterializedTableOptions
from table_format.options.merge import MergeOptions
from table_format.options.partitions import PartitionOptions
from table_format.options.postpone import PostponeOptions
from table_format.options.record_expiry import RecordExpiryOptions
from table_format.options.refused import REFUSED
from table_format.options.scan import ScanOptions
from table_format.options.spark_read import SparkReadOptions
from table_format.options.spark_stream import SparkStreamOptions
from table_format.options.stream import StreamOptions
from table_format.options.tags import TagOptions
from table_format.options.write import WriteOptions
from table_format.registry import Registry

GROUPS: Final[tuple[type[object], ...]] = (
    KindOptions,
    BucketOptions,
    PostponeOptions,
    FileOptions,
    FileIndexOptions,
    ManifestOptions,
    MergeOptions,
    CompactionOptions,
    DeletionVectorOptions,
    RecordExpiryOptions,
    WriteOptions,
    CommitOptions,
    ExpireOptions,
    PartitionOptions,
    ScanOptions,
    SparkReadOptions,
    SparkStreamOptions,
    StreamOptions,
    ChangelogOptions,
    TagOptions,
    AlterOptions,
    MaterializedTableOptions,
)


def _all() -> Iterator[AnyOption]:
    yield from (PRIMARY_KEY, PARTITION, PATH)
    for group in GROUPS:
        yield from declared_in(group)
    yield from REFUSED
    yield from HINTS


TABLE_OPTIONS: Final[tuple[AnyOption, ...]] = tuple(_all())
BY_KEY: Final = {key: o for o in TABLE_OPTIONS if isinstance(o, Option) for key in o.keys}
_REGISTERED: Final[Registry[OptionPattern[Any]]] = Registry("option", (), name_of=lambda pattern: pattern.key)
PATTERNS: Final = tuple(o for o in TABLE_OPTIONS if isinstance(o, OptionPattern))


def find(key: str) -> AnyOption | None:
    """Return the option of a key. An exact key takes precedence over a family.

    >>> find("bucket").key, find("fields.amount.stats-mode").key, find("bukket")
    ('bucket', 'fields.<column>.stats-mode', None)
    """
    exact = BY_KEY.get(key)
    if exact is not None:
        return exact
    return next((p for p in (*PATTERNS, *_REGISTERED.values()) if p.matches(key) is not None), None)


def register_pattern(pattern: OptionPattern[Any]) -> None:
    """Register a family of table options in this process.

    Raises:
        AlreadyExistsError: a family with these keys exists.
    """
    if any(known.key == pattern.key for known in PATTERNS):
        message = f"option '{pattern.key}' already exists; choose another name"
        raise AlreadyExistsError(message)
    _REGISTERED.register(pattern)
