"""How rows with the same primary key become one row (format chapter 12)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from table_format.options.declare import READ_AND_WRITE, WRITES, AnyOption, Option, OptionPattern, unsupported
from table_format.options.values import boolean, choice, integer, names, one_of, optional, text, verbatim


class MergeEngine(StrEnum):
    """How rows of one key become one row; the values stand in the option ``merge-engine``."""

    DEDUPLICATE = "deduplicate"
    PARTIAL_UPDATE = "partial-update"
    AGGREGATION = "aggregation"
    FIRST_ROW = "first-row"


LAST_VALUE: Final = "last_value"
"""The function of sequence columns."""

LAST_NON_NULL_VALUE: Final = "last_non_null_value"
"""The function of columns of an aggregation that name none."""

MERGE_ENGINE = Option(
    "merge-engine",
    one_of(MergeEngine),
    MergeEngine.DEDUPLICATE,
    "How rows with the same primary key are merged into one row. With 'deduplicate', the last row wins.",
    immutable=True,
)
IGNORE_DELETE = Option(
    "ignore-delete",
    boolean,
    False,
    "Ignore -D and -U rows instead of deleting.",
    fallback_keys=("first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"),
)
IGNORE_UPDATE_BEFORE = Option("ignore-update-before", boolean, False, "Drop -U rows when they are written.")
SEQUENCE_FIELDS = Option(
    "sequence.field",
    names,
    (),
    "Columns that order the rows of one key. They take precedence over the order of arrival.",
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
    "STRING column that contains the row kind: +I, -U, +U or -D, in upper or lower case.",
    immutable=True,
)

REMOVE_ON_DELETE = Option(
    "partial-update.remove-record-on-delete",
    boolean,
    False,
    "A -D row removes the whole row of a partial update.",
    immutable=True,
)
REMOVE_ON_SEQUENCE_GROUP = Option(
    "partial-update.remove-record-on-sequence-group",
    names,
    (),
    "Sequence columns of the groups in which a -D row that is not older removes the whole row of a partial update.",
    immutable=True,
)
AGGREGATION_REMOVE_ON_DELETE = Option(
    "aggregation.remove-record-on-delete",
    boolean,
    False,
    "A -D row removes the whole row of an aggregation.",
    immutable=True,
)
DEFAULT_AGGREGATE = Option(
    "fields.default-aggregate-function",
    optional(text),
    None,
    "Aggregate function of columns that have none of their own.",
)
AGGREGATE_FUNCTION = OptionPattern("fields.<column>.aggregate-function", text, "Aggregate function of the column.")
IGNORE_RETRACT = OptionPattern("fields.<column>.ignore-retract", boolean, "The aggregate ignores -U and -D rows.")
LIST_AGG_DELIMITER = OptionPattern(
    "fields.<column>.list-agg-delimiter", verbatim, "Separator of listagg; by default a comma."
)
DISTINCT = OptionPattern("fields.<column>.distinct", boolean, "collect and listagg keep one of equal values.")
NESTED_KEY = OptionPattern("fields.<column>.nested-key", names, "Key of a nested table.")
NESTED_KEY_NULL_STRATEGY = OptionPattern(
    "fields.<column>.nested-key-null-strategy",
    choice("merge", "ignore", "error"),
    "How a null in the key of a nested table is handled. Apache Paimon before 2.0 ignores it, and always merges.",
)
NESTED_SEQUENCE = OptionPattern(
    "fields.<column>.nested-sequence-field",
    names,
    "Columns that order the rows of one key of a nested table. Apache Paimon before 2.0 ignores it, and keeps the row "
    "that comes last.",
)
COUNT_LIMIT = OptionPattern("fields.<column>.count-limit", integer(), "Maximum number of rows of a nested table.")
TIMESTAMP_FIELD = OptionPattern(
    "fields.<column>.ts-field", text, "Field that contains the time for merge_map_with_keytime."
)
SEQUENCE_GROUP = OptionPattern(
    "fields.<columns>.sequence-group",
    names,
    "Columns of a partial update that are ordered by the columns in the key of this option.",
)
FORCE_LOOKUP = Option(
    "force-lookup",
    boolean,
    False,
    "Compaction immediately moves level 0 up and looks up its keys in higher levels, even if no other option requires "
    "it.",
    immutable=True,
)


@dataclass(frozen=True, slots=True)
class MergeOptions:
    """How rows with the same key become one row."""

    engine: MergeEngine = MERGE_ENGINE.field()  # noqa: RUF009 - a field, and the default in it is frozen
    ignore_delete: bool = IGNORE_DELETE.field()
    ignore_update_before: bool = IGNORE_UPDATE_BEFORE.field()
    sequence_fields: tuple[str, ...] = SEQUENCE_FIELDS.field()
    sequence_order: str = SEQUENCE_ORDER.field()
    rowkind_field: str | None = ROWKIND_FIELD.field()
    remove_on_delete: bool = REMOVE_ON_DELETE.field()
    remove_on_sequence_group: tuple[str, ...] = REMOVE_ON_SEQUENCE_GROUP.field()
    aggregation_remove_on_delete: bool = AGGREGATION_REMOVE_ON_DELETE.field()
    default_aggregate: str | None = DEFAULT_AGGREGATE.field()
    aggregates: Mapping[str, str] = AGGREGATE_FUNCTION.field()
    ignore_retract: Mapping[str, bool] = IGNORE_RETRACT.field()
    list_agg_delimiters: Mapping[str, str] = LIST_AGG_DELIMITER.field()
    distinct: Mapping[str, bool] = DISTINCT.field()
    nested_keys: Mapping[str, tuple[str, ...]] = NESTED_KEY.field()
    nested_key_null_strategies: Mapping[str, str] = NESTED_KEY_NULL_STRATEGY.field()
    nested_sequences: Mapping[str, tuple[str, ...]] = NESTED_SEQUENCE.field()
    count_limits: Mapping[str, int] = COUNT_LIMIT.field()
    timestamp_fields: Mapping[str, str] = TIMESTAMP_FIELD.field()
    sequence_groups: Mapping[str, tuple[str, ...]] = SEQUENCE_GROUP.field()
    force_lookup: bool = FORCE_LOOKUP.field()

    @property
    def sequence_descending(self) -> bool:
        """Whether the row with the smaller sequence fields wins."""
        return self.sequence_order == "descending"

    @property
    def computes_values(self) -> bool:
        """Whether a merged row may have values that no stored row has; then stored values say nothing about merged
        ones.
        """
        return self.engine in (MergeEngine.PARTIAL_UPDATE, MergeEngine.AGGREGATION)

    def function_of(self, column: str, unmerged: Collection[str]) -> str | None:
        """Return the aggregate function of a column; ``None`` if it has none, as the columns in ``unmerged``.

        A partial update supports functions only for members of sequence groups; other columns keep their last
        non-null value.

        >>> options = MergeOptions(engine=MergeEngine.AGGREGATION, aggregates={"a": "sum"})
        >>> options.function_of("a", ["k"]), options.function_of("b", ["k"]), options.function_of("k", ["k"])
        ('sum', 'last_non_null_value', None)
        """
        if column in unmerged:
            return None
        own = self.aggregates.get(column, self.default_aggregate)
        match self.engine:
            case MergeEngine.AGGREGATION:
                return LAST_VALUE if column in self.sequence_fields else own or LAST_NON_NULL_VALUE
            case MergeEngine.PARTIAL_UPDATE:
                ordering = {name.strip() for columns in self.sequence_groups for name in columns.split(",")}
                members = {name for names in self.sequence_groups.values() for name in names}
                return own if column in members - ordering else None
            case _:
                return None

    @property
    def obstacle_to_delete(self) -> str | None:
        """Why a -D row would not delete its key, and what to do; ``None`` if it would."""
        if self.ignore_delete:
            return f"{IGNORE_DELETE.key}=true drops -D rows"
        with_engine = f"-D rows remove no row with {MERGE_ENGINE.key}={self.engine}"
        match self.engine:
            case MergeEngine.PARTIAL_UPDATE if not (self.remove_on_delete or self.remove_on_sequence_group):
                return f"{with_engine}; create it with '{REMOVE_ON_DELETE.key}' or '{REMOVE_ON_SEQUENCE_GROUP.key}'"
            case MergeEngine.AGGREGATION if not self.aggregation_remove_on_delete:
                return f"{with_engine}; create it with '{AGGREGATION_REMOVE_ON_DELETE.key}'"
            case MergeEngine.FIRST_ROW:
                return with_engine
            case _:
                return None


REFUSED: tuple[AnyOption, ...] = (
    unsupported(
        "sequence.snapshot-ordering", boolean, False, "Order rows by snapshot.", *READ_AND_WRITE, immutable=True
    ),
    *(
        OptionPattern(f"fields.<column>.{suffix}", text, doc, supported=False)
        for suffix, doc in (
            ("default-value", "Value that is returned for null."),
            ("map.storage-layout", "Layout of a map."),
            ("map.shared-shredding.max-columns", "Layout of a map."),
            ("map.shared-shredding.column-placement-policy", "Layout of a map."),
        )
    ),
    unsupported(
        "record-level.time-field-type",
        optional(text),
        None,
        "Unit of the time of a row, in Apache Paimon 0.9. Later releases know it from the type.",
        *WRITES,
    ),
    unsupported("primary-key.nullable", boolean, False, "Nullable key columns.", *READ_AND_WRITE, immutable=True),
    unsupported("pk-clustering-override", boolean, False, "Cluster instead of sort.", *READ_AND_WRITE, immutable=True),
)
