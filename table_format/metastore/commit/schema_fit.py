"""Decides whether files with an older schema may be committed to a table with a newer latest schema. Pure.

New rows may have an older schema if their meaning is the same: columns were renamed, moved, widened, dropped or added
as nullable. Rows that were read and written back must not, if the latest schema has columns or types that the older
one lacks: values that others have written there would be lost. The options that determine how rows are placed and
merged must be equal.

Between this decision and the publication, the schema may change again. Nothing is lost then: rows of the newer schema
become visible with a snapshot, which takes the id of this commit, so the check is repeated. And files of a newer schema
were not read (``formats.newer_schemas``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from table_format.metastore.schema.option_columns import options_under_names_of
from table_format.model.column_fit import holds, lost_columns
from table_format.model.schema import TableSchema
from table_format.options.bucket import BUCKET, BUCKET_FUNCTION
from table_format.options.declare import AnyOption, OptionPattern, declared_in
from table_format.options.deletion_vectors import ENABLED
from table_format.options.files import PARTITION_DEFAULT_NAME, PARTITION_LEGACY_NAME
from table_format.options.merge import MergeOptions
from table_format.options.stream import CHANGELOG_PRODUCER

_DECIDING: Final[tuple[AnyOption, ...]] = (
    *declared_in(MergeOptions),
    BUCKET,
    BUCKET_FUNCTION,
    ENABLED,
    CHANGELOG_PRODUCER,
    PARTITION_DEFAULT_NAME,
    PARTITION_LEGACY_NAME,
)
"""The options that affect the place of a row, or whether it wins over other rows."""


def find_misfit(written: TableSchema, latest: TableSchema, *, rewritten: bool) -> str | None:
    """Return why files with the schema ``written`` cannot be committed under ``latest``; ``None`` if they can.

    ``rewritten`` is true if the new rows depend on rows that were read from the table.
    """
    if written.id == latest.id:
        return None
    return next(_misfits(written, latest, rewritten=rewritten), None)


def _misfits(written: TableSchema, latest: TableSchema, *, rewritten: bool) -> Iterator[str]:
    keys = (
        ("primary key", written.primary_keys, latest.primary_keys),
        ("partition keys", written.partition_keys, latest.partition_keys),
        ("bucket key", written.bucket_keys, latest.bucket_keys),
    )
    for what, before, after in keys:
        if _ids(written, before) != _ids(latest, after):
            yield f"the {what} changed from ({', '.join(before)}) to ({', '.join(after)})"
    options = options_under_names_of(written, latest)
    for option in _DECIDING:
        if option.read(options) != option.read(latest.options):
            yield f"option '{option.key}' changed from {_shown(option, options)} to {_shown(option, latest.options)}"
    before_by_id = {field.id: field for field in written.fields}
    for field in latest.fields:
        known = before_by_id.get(field.id)
        if known is None:
            if not field.type.nullable:
                yield f"column '{field.name}' was added as NOT NULL"
        elif known.type.nullable and not field.type.nullable:
            yield f"column '{field.name}' became NOT NULL"
        elif not holds(field.type, known.type, whole=False):
            yield f"column '{field.name}' changed from {known.type} to {field.type}"
    if rewritten and (lost := lost_columns(latest.fields, written.fields)):
        yield f"values of {', '.join(lost)} may have been written in the meantime, and would be lost"


def _shown(option: AnyOption, options: Mapping[str, str]) -> str:
    """Return the value of an option as it is written in a table."""
    if isinstance(option, OptionPattern):
        return ", ".join(f"{part}={option.parser.show(each)}" for part, each in option.read(options).items()) or "none"
    value = option.read(options)
    return "none" if value is None else repr(option.parser.show(value))


def _ids(schema: TableSchema, names: Sequence[str]) -> list[int]:
    return [schema.field(name).id for name in names]
