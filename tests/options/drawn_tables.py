"""Tables drawn from the declared options and types: what CREATE accepts of them must work.

Every option that this version carries out, or keeps for others, gives the texts at the edges of what it takes
(``Parser.edges``); options whose texts are an open set take names of columns, formats, compressions and functions. A
table is drawn with many of them; those that CREATE refuses are left out one after the other until it accepts the rest.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from table_format import Schema, Table
from table_format.catalog.protocol import Catalog
from table_format.errors import InvalidOption, InvalidSchema, UnsupportedFeature
from table_format.kernels.aggregates.functions import FUNCTIONS
from table_format.model.arrow_types import arrow_schema
from table_format.model.types import (
    MAX_LENGTH,
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from table_format.options import (
    bucket,
    changelog,
    commit,
    deletion_vectors,
    expire,
    files,
    hints,
    identity,
    kind,
    materialized,
    merge,
    stream,
    tags,
)
from table_format.options.declare import AnyOption, Option, OptionPattern
from table_format.options.file_formats import FILE_FORMATS
from table_format.options.refused import REFUSED
from table_format.options.registry import TABLE_OPTIONS
from table_format.options.scan import (
    FALLBACK_BRANCH,
    FALLBACK_READ_FAIL_FAST,
    INCREMENTAL_SCAN_MODE,
    INCREMENTAL_TAG_TO_SNAPSHOT,
    STARTING_POINTS,
)
from table_format.options.scan import MODE as SCAN_MODE

_HISTORY: Final = (
    *(SCAN_MODE, *STARTING_POINTS, INCREMENTAL_SCAN_MODE, INCREMENTAL_TAG_TO_SNAPSHOT),
    *(FALLBACK_BRANCH, FALLBACK_READ_FAIL_FAST),
)
"""Options that name a place in the history: a new table has none, so a read that names one fails."""

_LEFT_OUT: Final = frozenset(
    o.key
    for o in (
        # Only a refresh fills an object table or a materialized table.
        *(kind.TYPE, kind.OBJECT_LOCATION, *materialized.OF_THE_QUERY),
        *(*REFUSED, *_HISTORY, identity.PRIMARY_KEY, identity.PARTITION, identity.PATH),
        # Directories outside the table; tests/table/test_external_paths.py has them.
        files.EXTERNAL_PATHS,
        files.EXTERNAL_PATHS_SPECIFIC_FS,
        # Until a table has so many snapshots, each expiry of 1.4 fails after its commit; 2.0 waits.
        expire.CHANGELOG_NUM_RETAINED_MIN,
        # How short it may be depends on the machine.
        commit.ATTEMPT_TIMEOUT,
        # Of Paimon 2.0: 1.4 shows no rows before they are compacted, and orders nested rows by their arrival.
        deletion_vectors.MERGE_ON_READ,
        merge.NESTED_SEQUENCE,
        merge.NESTED_KEY_NULL_STRATEGY,
    )
)

DRAWABLE: Final[tuple[AnyOption, ...]] = tuple(o for o in TABLE_OPTIONS if o.key not in _LEFT_OUT)
"""Options that a drawn table may have."""

_FREQUENT: Final = (
    bucket.BUCKET,
    merge.MERGE_ENGINE,
    files.FORMAT,
    stream.CHANGELOG_PRODUCER,
    deletion_vectors.ENABLED,
    tags.AUTOMATIC_CREATION,
    bucket.BUCKET_KEY,
    files.THIN_MODE,
    merge.SEQUENCE_FIELDS,
)
"""Options that many others need."""

_SLOW: Final = (bucket.BUCKET, files.ZSTD_LEVEL, hints.READ_BATCH_SIZE)
"""Options with whose largest value the real Paimon takes seconds for a write or a read; few tables have it."""

_NEWER_FUNCTIONS: Final = frozenset({"count"})
"""Paimon 1.4 does not know them."""
_OF_SKETCHES: Final = frozenset({"rbm32", "rbm64", "theta_sketch", "hll_sketch"})
"""They take no bytes but those of a bitmap or a sketch; tests/oracle/random_merges.py has them."""
_LONGEST: Final = (0, 1, 3, MAX_LENGTH)
_MOST_OPTIONS: Final = 60
_KEY_TIME: Final = RowType(fields=(DataField(0, "v", IntType()), DataField(1, "at", VarCharType(nullable=False))))
_NESTED: Final = RowType(fields=(DataField(0, "x", IntType(nullable=False)), DataField(1, "y", IntType())))


@dataclass(frozen=True)
class Recipe:
    """Options that need each other, and columns that they are about; few draws would bring them together."""

    columns: tuple[DataType, ...]
    """Of columns ``r0``, ``r1`` and so on."""
    options: dict[str, str]
    has_key: bool = True


def _aggregate(function: str, data_type: DataType, **options: str) -> Recipe:
    settings = {f"fields.r0.{name.replace('_', '-')}": value for name, value in options.items()}
    return Recipe((data_type,), {"merge-engine": "aggregation", "fields.r0.aggregate-function": function, **settings})


RECIPES: Final = (
    _aggregate("listagg", VarCharType(), list_agg_delimiter=" | ", distinct="true"),
    _aggregate("listagg", VarCharType(), list_agg_delimiter=";", ignore_retract="true"),
    _aggregate("collect", ArrayType(IntType()), distinct="true"),
    _aggregate("nested_update", ArrayType(_NESTED), nested_key="x"),
    _aggregate("nested_update", ArrayType(_NESTED), count_limit="3"),
    _aggregate("merge_map_with_keytime", MapType(VarCharType(nullable=False), _KEY_TIME), ts_field="at"),
    Recipe(
        (IntType(), VarCharType()),
        {
            "merge-engine": "partial-update",
            "fields.r0.sequence-group": "r1",
            "partial-update.remove-record-on-sequence-group": "r0",
        },
    ),
    Recipe(
        (IntType(),),
        {
            "changelog-producer": "lookup",
            "changelog-producer.row-deduplicate": "true",
            "changelog-producer.row-deduplicate-ignore-fields": "r0",
        },
    ),
    Recipe(
        (IntType(), VarCharType()),
        {
            "file-index.bloom-filter.columns": "r0,r1",
            "file-index.bloom-filter.r1.fpp": "0.5",
            "file-index.bitmap.columns": "r0,r1",
            "file-index.bitmap.r0.version": "1",
            "file-index.bitmap.r1.index-block-size": "1 kb",
            "file-index.range-bitmap.columns": "r0,r1",
            "file-index.range-bitmap.r1.chunk-size": "1 b",
        },
        has_key=False,
    ),
)


@dataclass(frozen=True)
class DrawnTable:
    """A table as it was asked for, and the rows of its commits."""

    number: int
    schema: Schema
    batches: tuple[pa.Table, ...]
    later_batches: tuple[pa.Table, ...]
    """For writers in turn."""

    def __str__(self) -> str:
        columns = ", ".join(f"{f.name} {f.type}" for f in self.schema.fields)
        keys = f"PRIMARY KEY {self.schema.primary_keys} PARTITIONED BY {self.schema.partition_keys}"
        return f"table {self.number}: ({columns}) {keys} WITH {dict(self.schema.options)}"


def draw(seed: int, number: int, name: str, catalog: Catalog) -> tuple[DrawnTable, Table]:
    """Draw tables under a number until one is accepted: the table, created."""
    chance = random.Random(f"{seed}/{number}")
    for _ in range(100):
        wanted: Schema | None = _schema(chance)
        while wanted is not None:
            try:
                table = catalog.create_table(name, wanted)
            except (InvalidOption, UnsupportedFeature) as refusal:
                wanted = _without(wanted, refusal)
            except InvalidSchema:
                wanted = None
            else:
                batches, later = ([_rows(chance, table) for _ in range(3)] for _ in range(2))
                return DrawnTable(number, wanted, tuple(batches), tuple(later)), table
    message = f"no table was accepted under seed {seed}, number {number}"
    raise AssertionError(message)


def _without(schema: Schema, refusal: InvalidOption | UnsupportedFeature) -> Schema | None:
    key = refusal.key if isinstance(refusal, InvalidOption) else refusal.feature.partition("=")[0]
    if key not in schema.options:
        return None
    return replace(schema, options={k: v for k, v in schema.options.items() if k != key})


def _schema(chance: random.Random) -> Schema:
    has_key, has_partitions = chance.random() < 0.7, chance.random() < 0.4
    fields = [DataField(0, "k", _scalar(chance).with_nullable(False))]
    fields.append(DataField(1, "pt", chance.choice([IntType(), VarCharType(), _scalar(chance)]).with_nullable(False)))
    for i in range(chance.randrange(1, 6)):
        fields.append(DataField(2 + i, f"c{i}", _type(chance).with_nullable(chance.random() < 0.8)))
    options = _options(chance, [f.name for f in fields])
    if chance.random() < 0.2:
        recipe = chance.choice([recipe for recipe in RECIPES if has_key or not recipe.has_key])
        fields += [DataField(len(fields) + i, f"r{i}", data_type) for i, data_type in enumerate(recipe.columns)]
        options |= recipe.options
    schema = Schema.from_arrow(arrow_schema(fields))
    by_name = {f.name: f for f in fields}
    schema = replace(schema, fields=tuple(replace(f, type=by_name[f.name].type) for f in schema.fields))
    keys = ("pt", "k") if has_partitions and chance.random() < 0.8 else ("k",)
    return replace(
        schema,
        primary_keys=keys if has_key else (),
        partition_keys=("pt",) if has_partitions else (),
        options=options,
    )


def _options(chance: random.Random, columns: Sequence[str]) -> dict[str, str]:
    drawn = chance.sample(DRAWABLE, chance.randrange(_MOST_OPTIONS))
    drawn += [option for option in _FREQUENT if chance.random() < 0.4]
    if chance.random() < 0.3:
        drawn += [merge.AGGREGATE_FUNCTION] * 8 + [merge.DEFAULT_AGGREGATE]
    chance.shuffle(drawn)
    return dict(_setting(chance, option, columns) for option in drawn)


def _setting(chance: random.Random, option: AnyOption, columns: Sequence[str]) -> tuple[str, str]:
    key = option.key
    for part in ("<column>", "<columns>"):
        key = key.replace(part, chance.choice(columns))
    if isinstance(option, Option) and option.fallback_keys and chance.random() < 0.2:
        key = chance.choice(option.fallback_keys)
    texts = texts_of(option, columns)
    if option in _SLOW and chance.random() < 0.95:
        texts = texts[:-1]
    return key.replace("<setting>", "any"), chance.choice(texts)


def texts_of(option: AnyOption, columns: Sequence[str]) -> tuple[str, ...]:
    """Texts that an option may be given, some of which it refuses in some tables."""
    if option in (files.FORMAT, changelog.FORMAT):
        return tuple(FILE_FORMATS)
    if option is files.FORMAT_PER_LEVEL:
        return tuple(f"{level}:{name}" for level in (0, 5) for name in FILE_FORMATS)
    codecs = tuple(dict.fromkeys(codec for facts in FILE_FORMATS.values() for codec in facts.codecs))
    if option is files.COMPRESSION_PER_LEVEL:
        return tuple(f"{level}:{codec}" for level in (0, 5) for codec in codecs)
    if "compress" in option.key or "codec" in option.key:
        return option.parser.edges or codecs
    if option in (merge.AGGREGATE_FUNCTION, merge.DEFAULT_AGGREGATE):
        return tuple(sorted(set(FUNCTIONS) - _NEWER_FUNCTIONS - _OF_SKETCHES))
    if option.parser.edges:
        return option.parser.edges
    if isinstance(option, Option) and option.honoured:
        return tuple(option.parser.show(value) for value in option.honoured)
    return (*columns, ",".join(columns[-2:]), "a-1")


def _scalar(chance: random.Random) -> DataType:
    precision = chance.choice([1, 9, 10, 18, 19, 38])
    return chance.choice(
        [
            BooleanType(),
            TinyIntType(),
            SmallIntType(),
            IntType(),
            BigIntType(),
            FloatType(),
            DoubleType(),
            DateType(),
            VarCharType(),
            VarBinaryType(),
            CharType(chance.choice(_LONGEST)),
            VarCharType(chance.choice(_LONGEST)),
            BinaryType(chance.choice(_LONGEST)),
            VarBinaryType(chance.choice(_LONGEST)),
            DecimalType(precision, chance.choice([0, precision, precision // 2])),
            TimeType(chance.choice([0, 3, 9])),
            TimestampType(chance.choice([0, 3, 6, 9])),
            LocalZonedTimestampType(chance.choice([0, 3, 6, 9])),
        ]
    )


def _type(chance: random.Random) -> DataType:
    if chance.random() < 0.75:
        return _scalar(chance)
    inner, key = _type(chance), _scalar(chance).with_nullable(False)
    element = key if chance.random() < 0.2 else VarCharType(nullable=False)
    row = RowType(fields=(DataField(0, "x", inner), DataField(1, "y", IntType(nullable=chance.random() < 0.7))))
    return chance.choice([ArrayType(inner), MapType(key, inner), MultisetType(element), row])


def _rows(chance: random.Random, table: Table) -> pa.Table:
    fields = table.schema.fields
    schema = arrow_schema(fields)
    count = chance.randrange(1, 9)
    kinds = merge.ROWKIND_FIELD.read(table.schema.options)
    columns = [["+I" if f.name == kinds else _value(chance, f.type) for _ in range(count)] for f in fields]
    arrays = [pa.array(values, schema.field(i).type) for i, values in enumerate(columns)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _value(chance: random.Random, t: DataType) -> Any:  # noqa: C901 - one case for each type
    if t.nullable and chance.random() < 0.2:
        return None
    match t:
        case BooleanType():
            return chance.random() < 0.5
        case TinyIntType() | SmallIntType() | IntType() | BigIntType():
            half = 1 << pa.array([], arrow_schema([DataField(0, "x", t)]).field(0).type).type.bit_width - 1
            return chance.choice([-half, half - 1, 0, 1, 2, 3])
        case FloatType() | DoubleType():
            return chance.choice([-1.5, 0.0, 0.5, 2.0**20, -(2.0**-20)])
        case DecimalType(precision=precision, scale=scale):
            digits = chance.choice(["0", "1", "9" * precision, "-" + "9" * precision])
            return Decimal(f"{digits}e-{scale}")
        case CharType(length=length) | VarCharType(length=length):
            return chance.choice(["", "a", "\U0001f600", "abc", "zz"])[:length]
        case BinaryType(length=length):
            return chance.choice([b"\0", b"\xff", b"abc"])[:length].ljust(min(length, 3), b"\0")
        case VarBinaryType(length=length):
            return chance.choice([b"", b"\0", b"\xff", b"abc"])[:length]
        case DateType():
            return chance.choice([date(1, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(9999, 12, 31)])
        case TimeType(precision=precision):
            return chance.choice([time(0), time(23, 59, 59, 999_000 if precision else 0), time(1, 2, 3)])
        case TimestampType(precision=precision) | LocalZonedTimestampType(precision=precision):
            zone = UTC if isinstance(t, LocalZonedTimestampType) else None
            years = (1900, 1969, 2024, 2200) if precision > 6 else (1, 1969, 2024, 9999)
            return datetime(chance.choice(years), 12, 31, 23, 59, 59, tzinfo=zone)
        case ArrayType(element=element):
            return [_value(chance, element) for _ in range(chance.randrange(3))]
        case MapType(key=key, value=value):
            return list({_value(chance, key): _value(chance, value) for _ in range(2)}.items())
        case MultisetType(element=element):
            return list({_value(chance, element): chance.randrange(1, 4) for _ in range(2)}.items())
        case RowType(fields=fields):
            return {f.name: _value(chance, f.type) for f in fields}
    raise AssertionError(t)


def option_coverage(tables: Sequence[DrawnTable]) -> list[str]:
    """The drawable options that none of the tables has."""
    given = [key for table in tables for key in table.schema.options]

    def is_given(option: AnyOption) -> bool:
        if isinstance(option, OptionPattern):
            return any(option.matches(key) is not None for key in given)
        return any(key in given for key in option.keys)

    return [option.key for option in DRAWABLE if not is_given(option)]
