"""How rows of one primary key become one row (format chapter 12)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from table_format.options.declare import READ_AND_WRITE, WRITES, AnyOption, Option, OptionPattern, unsupported
from table_format.options.values import boolean, choice, names, one_of, optional, text


class MergeEngine(StrEnum):
    DEDUPLICATE = "deduplicate"
    PARTIAL_UPDATE = "partial-update"
    AGGREGATION = "aggregation"
    FIRST_ROW = "first-row"


MERGE_ENGINE = Option(
    "merge-engine",
    one_of(MergeEngine),
    MergeEngine.DEDUPLICATE,
    "How rows of one primary key become one row; this version has 'deduplicate', the last row wins.",
    immutable=True,
    honoured=(MergeEngine.DEDUPLICATE,),
    blocks=READ_AND_WRITE,
)
IGNORE_DELETE = Option(
    "ignore-delete",
    boolean,
    False,
    "Drop -D and -U rows instead of deleting.",
    fallback_keys=("first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"),
)
IGNORE_UPDATE_BEFORE = Option("ignore-update-before", boolean, False, "Drop -U rows on writing.")
SEQUENCE_FIELDS = Option(
    "sequence.field", names, (), "Columns that order the rows of one key, before the order of arrival."
)
SEQUENCE_ORDER = Option(
    "sequence.field.sort-order",
    choice("ascending", "descending"),
    "ascending",
    "Whether the largest or the smallest sequence wins.",
)
ROWKIND_FIELD = Option(
    "rowkind.field",
    optional(text),
    None,
    "STRING column that says +I, -U, +U or -D of its row.",
    immutable=True,
)


@dataclass(frozen=True, slots=True)
class MergeOptions:
    engine: MergeEngine = MERGE_ENGINE.field()  # noqa: RUF009 - a field, and the default in it is frozen
    ignore_delete: bool = IGNORE_DELETE.field()
    ignore_update_before: bool = IGNORE_UPDATE_BEFORE.field()
    sequence_fields: tuple[str, ...] = SEQUENCE_FIELDS.field()
    sequence_order: str = SEQUENCE_ORDER.field()
    rowkind_field: str | None = ROWKIND_FIELD.field()

    @property
    def sequence_descending(self) -> bool:
        return self.sequence_order == "descending"


REFUSED: tuple[AnyOption, ...] = (
    unsupported("sequence.snapshot-ordering", boolean, False, "Order by snapshot.", *READ_AND_WRITE, immutable=True),
    unsupported(
        "partial-update.remove-record-on-delete",
        boolean,
        False,
        "-D removes the row of a partial update.",
        *READ_AND_WRITE,
        immutable=True,
    ),
    unsupported(
        "partial-update.remove-record-on-sequence-group",
        names,
        (),
        "-D of a sequence group removes the row.",
        *READ_AND_WRITE,
        immutable=True,
    ),
    unsupported(
        "aggregation.remove-record-on-delete",
        boolean,
        False,
        "-D removes the row of an aggregation.",
        *READ_AND_WRITE,
        immutable=True,
    ),
    unsupported("fields.default-aggregate-function", optional(text), None, "Aggregate of columns without their own."),
    *(
        OptionPattern(f"fields.<column>.{suffix}", text, doc, supported=False)
        for suffix, doc in (
            ("aggregate-function", "Aggregate of the column."),
            ("ignore-retract", "Ignore retracts in the aggregate."),
            ("list-agg-delimiter", "Separator of listagg."),
            ("distinct", "Collect distinct values."),
            ("nested-key", "Key of a nested table."),
            ("nested-key-null-strategy", "Null keys of a nested table."),
            ("nested-sequence-field", "Order in a nested table."),
            ("count-limit", "Rows of a nested table."),
            ("sequence-group", "Columns ordered by this one."),
            ("default-value", "Value shown for null."),
            ("ts-field", "Time of merge_map_with_keytime."),
            ("map.storage-layout", "Layout of a map."),
            ("map.shared-shredding.max-columns", "Layout of a map."),
            ("map.shared-shredding.column-placement-policy", "Layout of a map."),
        )
    ),
    unsupported("record-level.expire-time", optional(text), None, "Age at which a row disappears.", *WRITES),
    unsupported("record-level.time-field", optional(text), None, "Column with the time of a row."),
    unsupported("record-level.time-field-type", optional(text), None, "Unit of the time of a row."),
    unsupported("primary-key.nullable", boolean, False, "Nullable key columns.", *READ_AND_WRITE, immutable=True),
    unsupported("pk-clustering-override", boolean, False, "Cluster instead of sort.", *READ_AND_WRITE, immutable=True),
)
