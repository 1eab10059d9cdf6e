"""Schema files: bytes of Apache Paimon, older versions, and files that are not schemas."""

from __future__ import annotations

import copy
import json

import pytest

from table_format.codecs.pretty_json import dump_pretty
from table_format.codecs.schema_json import decode_schema, encode_schema
from table_format.errors import BadEncoding, LimitExceeded, UnsupportedFeature
from table_format.limits import MAX_COLUMNS
from table_format.model.schema import TableSchema
from table_format.model.types import BigIntType, DataField, IntType, RowType, VarCharType
from tests.support.golden import golden_case

CASES = ("names_and_comments__1.4.2", "schema_evolution_nested__1.3.1", "types_parquet", "tags_branches", "spark_ddl")

SMALL = {
    "version": 3,
    "id": 0,
    "fields": [{"id": 0, "name": "k", "type": "INT NOT NULL"}, {"id": 1, "name": "v", "type": "BIGINT"}],
    "highestFieldId": 1,
    "partitionKeys": [],
    "primaryKeys": ["k"],
    "options": {"bucket": "1"},
    "timeMillis": 5,
}


def decode(**changes: object) -> TableSchema:
    members = {key: value for key, value in (SMALL | changes).items() if value is not ...}
    return decode_schema(json.dumps(members).encode(), path="schema-0")


@pytest.mark.parametrize("case", CASES)
def test_a_schema_of_paimon_is_written_again_byte_for_byte(case):
    files = sorted(golden_case(case).warehouse.glob("**/schema/schema-*"))
    assert files
    for file in files:
        data = file.read_bytes()
        assert encode_schema(decode_schema(data, path=str(file))) == data


def test_a_schema_is_written_in_the_order_and_shape_of_paimon():
    schema = TableSchema(
        id=2,
        fields=(
            DataField(0, "k", IntType(nullable=False), "the key"),
            DataField(3, "r", RowType((DataField(4, "x", VarCharType()),)), default_value="d"),
        ),
        highest_field_id=4,
        partition_keys=(),
        primary_keys=("k",),
        options={"bucket": "2"},
        comment="",
        time_millis=1_700_000_000_000,
    )
    expected = """{
  "version" : 3,
  "id" : 2,
  "fields" : [ {
    "id" : 0,
    "name" : "k",
    "type" : "INT NOT NULL",
    "description" : "the key"
  }, {
    "id" : 3,
    "name" : "r",
    "type" : {
      "type" : "ROW",
      "fields" : [ {
        "id" : 4,
        "name" : "x",
        "type" : "STRING"
      } ]
    },
    "defaultValue" : "d"
  } ],
  "highestFieldId" : 4,
  "partitionKeys" : [ ],
  "primaryKeys" : [ "k" ],
  "options" : {
    "bucket" : "2"
  },
  "comment" : "",
  "timeMillis" : 1700000000000
}"""
    assert encode_schema(schema).decode() == expected
    assert decode_schema(expected.encode(), path="f") == schema


@pytest.mark.parametrize(
    ("version", "options", "expected"),
    [
        (..., {}, {"bucket": "1", "file.format": "orc"}),
        (1, {"bucket": "7"}, {"bucket": "7", "file.format": "orc"}),
        (2, {}, {"file.format": "orc"}),
        (2, {"file.format": "avro"}, {"file.format": "avro"}),
        (3, {}, {}),
    ],
)
def test_defaults_of_older_versions_are_among_the_options(version, options, expected):
    schema = decode(version=version, options=options)
    assert schema.options == expected
    assert schema.version == (1 if version is ... else version)
    assert decode_schema(encode_schema(schema), path="f") == schema


def test_absent_and_unknown_members_are_read():
    schema = decode(timeMillis=..., options=..., partitionKeys=..., primaryKeys=..., comment=..., newer={"a": [1]})
    assert (schema.time_millis, schema.options, schema.primary_keys, schema.comment) == (0, {}, (), None)
    assert schema.fields[1] == DataField(1, "v", BigIntType())


def test_options_that_are_not_text_become_text():
    assert decode(options={"a": 1, "b": True, "c": None}).options == {"a": "1", "b": "true"}


def test_a_decoded_schema_can_be_pickled_and_does_not_change():
    schema = decode()
    assert copy.deepcopy(schema) == schema
    with pytest.raises(TypeError):
        schema.options["bucket"] = "2"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": ...}, "member 'id': expected an integer, found nothing"),
        ({"id": "0"}, "member 'id': expected an integer of 64 bits, found '0'"),
        ({"id": 1 << 63}, "member 'id'"),
        ({"fields": {}}, "member 'fields': expected a list"),
        ({"fields": [5]}, "expected a field object"),
        ({"fields": [{"id": 0, "name": "k", "type": "INTT"}]}, "'INTT' is not a type"),
        ({"fields": [SMALL["fields"][0]] * 2}, "expected different column names, found 'k' twice"),
        ({"fields": [SMALL["fields"][0], {"id": 0, "name": "v", "type": "INT"}]}, "column ids, found 0 twice"),
        ({"primaryKeys": ["x"]}, "primaryKeys names 'x', which is not a column"),
        ({"primaryKeys": ["k", "k"]}, "different primaryKeys"),
        ({"partitionKeys": [1]}, "member 'partitionKeys': expected a list of texts"),
        ({"options": []}, "member 'options': expected an object of texts"),
        ({"options": {"a": {}}}, "member 'options'"),
        ({"comment": 5}, "member 'comment': expected a text, found 5"),
        ({"highestFieldId": ...}, "member 'highestFieldId'"),
    ],
)
def test_a_file_that_is_not_a_schema_is_refused_by_path_and_member(changes, message):
    with pytest.raises(BadEncoding, match=f"^schema-0: .*{message}"):
        decode(**changes)


def test_newer_versions_and_types_are_unsupported():
    with pytest.raises(UnsupportedFeature, match="schema-0: schema version 4"):
        decode(version=4)
    with pytest.raises(UnsupportedFeature, match="schema-0: column 'k': type VARIANT"):
        decode(fields=[{"id": 0, "name": "k", "type": "VARIANT"}])


def test_too_many_columns_are_refused():
    with pytest.raises(LimitExceeded, match="columns"):
        decode(fields=[{}] * (MAX_COLUMNS + 1))


def test_every_truncation_is_refused():
    data = dump_pretty(SMALL)
    for end in range(len(data)):
        with pytest.raises(BadEncoding):
            decode_schema(data[:end], path="f")
