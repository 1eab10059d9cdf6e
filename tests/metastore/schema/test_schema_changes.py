from __future__ import annotations

from dataclasses import replace

import pytest

from table_format.errors import ColumnNotFound, InvalidSchema, InvalidSchemaChange
from table_format.metastore.schema.schema_changes import apply_changes
from table_format.model.schema import TableSchema
from table_format.model.schema_change import (
    AddColumn,
    AlterColumnType,
    DropColumn,
    MoveColumn,
    RemoveOption,
    RenameColumn,
    SetColumnComment,
    SetComment,
    SetNullability,
    SetOption,
)
from table_format.model.type_changes import can_widen, keeps_bounds
from table_format.model.types import (
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataField,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    RowType,
    SmallIntType,
    TimestampType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)

ADDRESS = RowType((DataField(4, "city", VarCharType()), DataField(5, "zip", IntType())))
SCHEMA = TableSchema(
    id=3,
    fields=(
        DataField(0, "dt", VarCharType(nullable=False)),
        DataField(1, "k", IntType(nullable=False)),
        DataField(2, "v", IntType()),
        DataField(3, "address", ADDRESS),
        DataField(6, "ts", BigIntType()),
    ),
    highest_field_id=8,
    partition_keys=("dt",),
    primary_keys=("dt", "k"),
    options={"bucket": "2", "sequence.field": "ts", "fields.v.aggregate-function": "sum"},
    time_millis=5,
)


def apply(*changes):
    return apply_changes(SCHEMA, changes, time_millis=99)


def test_a_new_column_takes_the_next_id_before_its_nested_fields():
    nested = RowType(
        (DataField(0, "x", IntType()), DataField(0, "y", ArrayType(RowType((DataField(0, "z", IntType()),)))))
    )
    changed = apply(AddColumn("n", nested, "a comment"), AddColumn("last", IntType()))
    column = changed.field("n")
    assert (column.id, column.description) == (9, "a comment")
    assert [f.id for f in column.type.fields] == [10, 11]
    assert column.type.fields[1].type.element.fields[0].id == 12
    assert (changed.field("last").id, changed.highest_field_id) == (13, 13)
    assert (changed.id, changed.version, changed.time_millis) == (4, 3, 99)


def test_ids_of_dropped_columns_are_never_reused():
    changed = apply(DropColumn("address"), AddColumn("address", IntType()))
    assert changed.field("address").id == 9


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (AddColumn("n", IntType()), "dt k v address ts n"),
        (AddColumn("n", IntType(), first=True), "n dt k v address ts"),
        (AddColumn("n", IntType(), after="k"), "dt k n v address ts"),
        (MoveColumn("ts", first=True), "ts dt k v address"),
        (MoveColumn("dt", after="v"), "k v dt address ts"),
        (MoveColumn("dt"), "k v address ts dt"),
        (DropColumn("v"), None),
        (DropColumn("address"), "dt k v ts"),
        (RenameColumn("k", "key"), "dt key v address ts"),
    ],
)
def test_columns_are_placed(change, names):
    if names is None:
        with pytest.raises(InvalidSchemaChange, match=r"option 'fields.v.aggregate-function' names it"):
            apply(change)
    else:
        assert " ".join(apply(change).field_names) == names


def test_nested_fields_change_like_columns():
    changed = apply(
        AddColumn(("address", "street"), VarCharType(), after="city"),
        RenameColumn(("address", "zip"), "code"),
        AlterColumnType(("address", "code"), BigIntType()),
        SetColumnComment(("address", "city"), "where"),
    )
    fields = changed.field("address").type.fields
    assert [(f.id, f.name) for f in fields] == [(4, "city"), (9, "street"), (5, "code")]
    assert fields[2].type == BigIntType()
    assert fields[0].description == "where"
    assert [f.name for f in apply(DropColumn(("address", "zip"))).field("address").type.fields] == ["city"]


def test_a_renamed_column_is_renamed_in_keys_and_options():
    changed = apply_changes(
        replace(SCHEMA, options={**SCHEMA.options, "bucket-key": "k", "file-index.bloom-filter.columns": "v,k"}),
        [RenameColumn("k", "key"), RenameColumn("ts", "time"), RenameColumn("v", "value")],
    )
    assert changed.primary_keys == ("dt", "key")
    assert changed.options == {
        "bucket": "2",
        "sequence.field": "time",
        "fields.value.aggregate-function": "sum",
        "bucket-key": "key",
        "file-index.bloom-filter.columns": "value,key",
    }
    assert [f.id for f in changed.fields] == [0, 1, 2, 3, 6]


def test_comments_options_and_nullability_change():
    changed = apply(
        SetComment("about"),
        SetOption("x", "1"),
        RemoveOption("bucket"),
        RemoveOption("absent"),
        SetColumnComment("v", "c"),
    )
    assert (changed.comment, changed.options["x"], "bucket" in changed.options) == ("about", "1", False)
    assert changed.field("v").description == "c"
    loose = apply_changes(replace(SCHEMA, primary_keys=()), [SetNullability("k", nullable=True)])
    assert loose.field("k").type.nullable


def test_changes_that_change_nothing_make_no_schema():
    assert apply() is SCHEMA
    assert apply(SetOption("bucket", "2"), SetComment(None)) is SCHEMA
    assert apply(SetComment("x"), SetComment(None)) is SCHEMA


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (AddColumn("n", IntType(nullable=False)), "must be nullable"),
        (AddColumn("v", IntType()), "column 'v' already exists"),
        (AddColumn("_KEY_x", IntType()), "the format uses it for itself"),
        (AddColumn("_SEQUENCE_NUMBER", IntType()), "the format uses it for itself"),
        (AddColumn(" ", IntType()), "it is blank"),
        (AddColumn("x" * 256, IntType()), "longer than 255 bytes"),
        (AddColumn("n", IntType(), first=True, after="k"), "first and after"),
        (AddColumn((), IntType()), "its path is empty"),
        (DropColumn(()), "its path is empty"),
        (AddColumn(("v", "n"), IntType()), "column 'v' is INT and has no field 'n'"),
        (DropColumn("k"), "primary key, the partition keys or the bucket key"),
        (DropColumn("dt"), "primary key, the partition keys or the bucket key"),
        (DropColumn("ts"), "option 'sequence.field' names it"),
        (RenameColumn("dt", "day"), "cannot rename column 'dt'"),
        (RenameColumn("v", "ts"), "column 'ts' already exists"),
        (RenameColumn("v", "rowkind"), "the format uses it for itself"),
        (AlterColumnType("k", BigIntType()), "cannot change the type of column 'k'"),
        (AlterColumnType("v", DateType()), "cannot change from INT to DATE: there is no cast between them"),
        (AlterColumnType("v", ArrayType(IntType())), "cannot change from INT to ARRAY<INT>: there is no cast"),
        (SetNullability("v", nullable=False), "cannot become NOT NULL"),
        (SetNullability("k", nullable=True), "cannot change the nullability of column 'k'"),
        (MoveColumn("v", after="v"), "after itself"),
        (SetOption("primary-key", "v"), "fixed when the table is created"),
        (RemoveOption("path"), "fixed when the table is created"),
    ],
)
def test_changes_that_old_files_do_not_allow_are_refused(change, text):
    with pytest.raises(InvalidSchemaChange, match=text):
        apply(change)


@pytest.mark.parametrize(
    "change",
    [
        DropColumn("x"),
        RenameColumn("x", "y"),
        AlterColumnType("x", IntType()),
        SetColumnComment("x", ""),
        MoveColumn("x"),
        MoveColumn("v", after="x"),
        AddColumn("n", IntType(), after="x"),
        DropColumn(("address", "x")),
    ],
)
def test_a_column_that_does_not_exist_is_named(change):
    with pytest.raises(ColumnNotFound, match="column 'x' does not exist; the columns are"):
        apply(change)


def test_the_last_column_cannot_be_dropped():
    one = TableSchema(0, (DataField(0, "a", IntType()),), 0)
    with pytest.raises(InvalidSchemaChange, match="it is the last one"):
        apply_changes(one, [DropColumn("a")])


def test_a_type_keeps_the_nullability_of_its_column():
    schema = TableSchema(0, (DataField(0, "a", IntType(nullable=False)), DataField(1, "b", IntType())), 1)
    changed = apply_changes(
        schema, [AlterColumnType("a", BigIntType()), AlterColumnType("b", BigIntType(nullable=False))]
    )
    assert [str(f.type) for f in changed.fields] == ["BIGINT NOT NULL", "BIGINT"]


D = DecimalType


@pytest.mark.parametrize(
    ("old", "new", "allowed", "exact"),
    [
        (TinyIntType(), SmallIntType(), True, True),
        (IntType(), BigIntType(), True, True),
        (BigIntType(), IntType(), False, False),
        (IntType(), FloatType(), True, False),
        (SmallIntType(), FloatType(), True, True),
        (IntType(), DoubleType(), True, True),
        (BigIntType(), DoubleType(), True, False),
        (FloatType(), DoubleType(), True, True),
        (DoubleType(), FloatType(), False, False),
        (IntType(), D(precision=12, scale=2), True, True),
        (IntType(), D(precision=11, scale=2), False, False),
        (D(precision=10, scale=2), D(precision=12, scale=2), True, True),
        (D(precision=10, scale=2), D(precision=12, scale=5), False, False),
        (D(precision=10, scale=2), DoubleType(), False, False),
        (CharType(3), VarCharType(3), True, True),
        (CharType(3), VarCharType(2), False, False),
        (VarCharType(5), VarCharType(), True, True),
        (BinaryType(3), VarBinaryType(), True, True),
        (TimestampType(3), TimestampType(6), True, True),
        (TimestampType(6), TimestampType(3), False, False),
        (TimestampType(3), LocalZonedTimestampType(3), False, False),
        (LocalZonedTimestampType(3), LocalZonedTimestampType(9), True, True),
        (DateType(), TimestampType(3), False, False),
        (BooleanType(), IntType(), False, False),
        (ArrayType(IntType()), ArrayType(IntType()), True, True),
        (MapType(IntType(), IntType()), MapType(IntType(), BigIntType()), False, False),
    ],
)
def test_a_type_may_become_one_that_holds_all_its_values(old, new, allowed, exact):
    assert can_widen(old, new) is allowed
    assert can_widen(old.not_null(), new) is allowed
    assert keeps_bounds(old, new) is exact


# --- casts ------------------------------------------------------------------------------------------------------------


def with_options(**options):
    return replace(SCHEMA, options={key.replace("__", "-"): value for key, value in options.items()})


@pytest.mark.parametrize(
    ("old", "new", "implicit", "explicit"),
    [
        (IntType(), VarCharType(), False, True),
        (VarCharType(), IntType(), False, True),
        (BigIntType(), IntType(), False, True),
        (BigIntType(), D(precision=5, scale=0), True, True),
        (VarCharType(5), VarCharType(2), True, True),
        (TimestampType(6), TimestampType(3), True, True),
        (TimestampType(6), DateType(), True, True),
        (DoubleType(), BooleanType(), False, False),
        (DateType(), VarCharType(10), False, False),
        (ArrayType(IntType()), VarCharType(), False, True),
        (VarCharType(), ArrayType(IntType()), False, False),
        (MapType(IntType(), IntType()), MapType(IntType(), BigIntType()), False, False),
    ],
)
def test_alter_allows_what_the_reference_casts_and_an_option_forbids_the_explicit_casts(old, new, implicit, explicit):
    for options, allowed in (({}, explicit), ({"disable-explicit-type-casting": "true"}, implicit)):
        schema = TableSchema(0, (DataField(0, "c", old),), 0, options=options)
        if allowed:
            assert apply_changes(schema, [AlterColumnType("c", new)]).field("c").type == new
        else:
            with pytest.raises(InvalidSchemaChange, match="column 'c' cannot change from"):
                apply_changes(schema, [AlterColumnType("c", new)])


def test_the_refusal_of_an_explicit_cast_names_the_option():
    with pytest.raises(
        InvalidSchemaChange, match="explicit cast, which 'disable-explicit-type-casting' = true forbids"
    ):
        apply_changes(with_options(disable__explicit__type__casting="true"), [AlterColumnType("v", VarCharType())])


def test_a_default_value_must_fit_the_new_type():
    schema = replace(SCHEMA, fields=(DataField(0, "c", VarCharType(), default_value="seven"),))
    with pytest.raises(InvalidSchema, match="unsupported default value `seven` for type INT"):
        apply_changes(schema, [AlterColumnType("c", IntType())])
    assert apply_changes(schema, [AlterColumnType("c", VarCharType(9))]).field("c").default_value == "seven"


def test_an_option_lets_a_column_become_not_null():
    allowing = with_options(**{"alter__column__null__to__not__null.disabled": "false"})
    assert not apply_changes(allowing, [SetNullability("v", nullable=False)]).field("v").type.nullable
    with pytest.raises(InvalidSchemaChange, match=r"set 'alter-column-null-to-not-null\.disabled' = false first"):
        apply(SetNullability("v", nullable=False))


def test_an_option_puts_new_columns_before_the_partition_columns():
    before = with_options(add__column__before__partition="true")
    changes = [AddColumn("n", IntType()), AddColumn("m", IntType()), AddColumn(("address", "x"), IntType())]
    assert [f.name for f in apply_changes(before, changes).fields] == ["n", "m", "dt", "k", "v", "address", "ts"]
    placed = apply_changes(before, [AddColumn("n", IntType(), after="v"), AddColumn("m", IntType(), first=True)])
    assert [f.name for f in placed.fields] == ["m", "dt", "k", "v", "n", "address", "ts"]


NESTED = TableSchema(
    0,
    (
        DataField(0, "a", ArrayType(ArrayType(ADDRESS))),
        DataField(1, "m", MapType(VarCharType(), MapType(IntType(), IntType()))),
    ),
    9,
)


def test_fields_inside_arrays_and_maps_are_reached_by_element_and_value():
    path = ("a", "element", "element")
    changed = apply_changes(
        NESTED,
        [
            AddColumn((*path, "street"), VarCharType(), after="city"),
            RenameColumn((*path, "zip"), "code"),
            AlterColumnType((*path, "code"), VarCharType(5)),
            AlterColumnType(("m", "value", "value"), VarCharType()),
            SetColumnComment((*path, "city"), "the town"),
        ],
    )
    assert str(changed.field("a").type) == "ARRAY<ARRAY<ROW<`city` STRING, `street` STRING, `code` VARCHAR(5)>>>"
    assert [f.id for f in changed.field("a").type.element.element.fields] == [4, 10, 5]
    assert changed.field("a").type.element.element.fields[0].description == "the town"
    assert str(changed.field("m").type) == "MAP<STRING, MAP<INT, STRING>>"
    assert apply_changes(changed, [DropColumn((*path, "city"))]).highest_field_id == 10


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (DropColumn(("a", "city")), r"column 'a' is ARRAY<.*> and has no 'city'; use 'element'"),
        (DropColumn(("a", "element")), r"column 'a' is ARRAY<.*> and only the type of its 'element' can change"),
        (RenameColumn(("m", "value"), "v"), r"column 'm' is MAP<.*> and only the type of its 'value' can change"),
        (
            AlterColumnType(("m", "key"), IntType()),
            r"column 'm' is MAP<.*> and has no 'key'; use 'value'",
        ),
        (AddColumn(("m", "value", "value", "x"), IntType()), "column 'm.value.value' is INT and has no field 'x'"),
        (AlterColumnType(("m", "value"), BigIntType()), "cannot change from MAP<INT, INT> to BIGINT"),
    ],
)
def test_a_path_into_an_array_or_a_map_that_leads_nowhere_is_refused(change, text):
    with pytest.raises(InvalidSchemaChange, match=text):
        apply_changes(NESTED, [change])
