"""Avro containers: written records are read back, and no file makes the reader allocate more than its contents need."""

from __future__ import annotations

import io
import json
import zlib

import cramjam
import fastavro
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from table_format.codecs.avro import ContainerSchema, read_container, write_container
from table_format.codecs.block_compression import compress, decompress
from table_format.errors import BadEncoding, CorruptionError, LimitExceeded, Truncated, UnsupportedFeature
from tests.codecs.facts import some_examples

SCHEMA = {
    "type": "record",
    "name": "record",
    "namespace": "x",
    "fields": [
        {"name": "number", "type": "long"},
        {"name": "text", "type": ["null", "string"], "default": None},
        {"name": "array", "type": {"type": "array", "items": ["null", "long"]}},
    ],
}
CONTAINER = ContainerSchema.of(SCHEMA)
CODECS = ["zstd", "snappy", "deflate", "null"]
SYNC = bytes(range(16))

records = st.fixed_dictionaries(
    {
        "number": st.integers(-(1 << 63), (1 << 63) - 1),
        "text": st.none() | st.text(st.characters(exclude_categories=["Cs"])),
        "array": st.lists(st.none() | st.integers(-100, 100)),
    }
)


def read(data: bytes, schema: ContainerSchema = CONTAINER) -> list[dict]:
    return list(read_container(data, schema, path="f"))


def varint(value: int) -> bytes:
    out = bytearray()
    rest = value << 1 if value >= 0 else (-value << 1) - 1
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*out, rest])


def container(
    schema: object, blocks: list[tuple[int, bytes]], *, codec: str = "null", declared: int | None = None
) -> bytes:
    """A file of given blocks (record count, stored bytes) with any content."""
    text = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    out = b"Obj\x01" + varint(2)
    for key, value in ((b"avro.schema", text), (b"avro.codec", codec.encode())):
        out += varint(len(key)) + key + varint(len(value)) + value
    out += b"\0" + SYNC
    for count, stored in blocks:
        out += varint(count) + varint(len(stored) if declared is None else declared) + stored + SYNC
    return out


@given(st.lists(records, max_size=5), st.sampled_from(CODECS))
@some_examples
def test_records_written_are_the_records_read(expected, codec):
    assert read(write_container(CONTAINER, expected, compression=codec)) == expected


@given(st.lists(records, max_size=5), st.sampled_from(["snappy", "deflate", "null"]))
@some_examples
def test_other_readers_and_writers_of_avro_agree(expected, codec):
    data = write_container(CONTAINER, expected, compression=codec)
    assert list(fastavro.reader(io.BytesIO(data))) == expected
    theirs = io.BytesIO()
    fastavro.writer(theirs, SCHEMA, expected, codec=codec)
    assert read(theirs.getvalue()) == expected


def test_many_records_make_several_blocks_and_equal_records_equal_files():
    expected = [{"number": i, "text": None, "array": []} for i in range(10_000)]
    data = write_container(CONTAINER, expected, compression="zstd")
    assert read(data) == expected
    assert data.count(data[-16:]) == 1 + 3
    assert data == write_container(CONTAINER, expected, compression="zstd")


def test_zstd_blocks_carry_a_checksum_and_their_size():
    stored = compress("zstandard", b"abc" * 100)
    frame = zstandard.get_frame_parameters(stored)
    assert (frame.has_checksum, frame.content_size) == (True, 300)


def test_streamed_zstd_frames_without_size_are_read():
    compressor = zstandard.ZstdCompressor().compressobj()
    stored = compressor.compress(varint(7) + b"\0\0") + compressor.flush()
    assert read(container(SCHEMA, [(1, stored)], codec="zstandard")) == [{"number": 7, "text": None, "array": []}]


def test_a_root_that_is_a_union_with_null_is_read():
    block = varint(1) + varint(7) + b"\0\0"
    assert read(container(["null", SCHEMA], [(1, block)])) == [{"number": 7, "text": None, "array": []}]
    with pytest.raises(BadEncoding, match="exactly"):
        read(container(["null", SCHEMA], [(1, b"\0")]))


def test_fields_that_a_file_lacks_are_left_out_and_unknown_fields_are_returned():
    fields = [{"name": "array", "type": {"type": "array", "items": "long"}}, {"name": "new", "type": "boolean"}]
    schema = SCHEMA | {"fields": [*fields, {"name": "number", "type": "int"}]}
    assert read(container(schema, [(1, b"\0\x01" + varint(-3))])) == [{"array": [], "new": True, "number": -3}]


def test_logical_types_are_left_as_integers():
    schema = SCHEMA | {"fields": [{"name": "number", "type": {"type": "long", "logicalType": "timestamp-millis"}}]}
    assert read(container(schema, [(1, varint(-(1 << 62)))]), ContainerSchema.of(schema)) == [{"number": -(1 << 62)}]


def test_types_defined_once_and_named_again_are_read():
    inner = {"type": "record", "name": "inner", "fields": [{"name": "x", "type": "int"}]}
    schema = {
        "type": "record",
        "name": "outer",
        "namespace": "ns",
        "fields": [{"name": "a", "type": inner}, {"name": "b", "type": "inner"}, {"name": "c", "type": "ns.inner"}],
    }
    expected = [{"a": {"x": 1}, "b": {"x": 2}, "c": {"x": 3}}]
    assert read(container(schema, [(1, varint(1) + varint(2) + varint(3))]), ContainerSchema.of(schema)) == expected


def test_every_truncation_is_refused():
    data = write_container(
        CONTAINER, [{"number": i, "text": "x" * i, "array": [i]} for i in range(20)], compression="null"
    )
    header = len(write_container(CONTAINER, [], compression="null"))
    for end in set(range(len(data))) - {header}:
        with pytest.raises(CorruptionError, match=r"^f: "):
            read(data[:end])
    assert read(data[:header]) == []


def test_the_error_for_a_file_cut_inside_a_block_states_the_missing_bytes():
    data = container(SCHEMA, [(1, varint(7) + b"\0\0")])
    with pytest.raises(Truncated) as refused:
        read(data[:-20])
    assert refused.value.path == "f"
    assert refused.value.found_bytes == len(data) - 20


@pytest.mark.parametrize("codec", CODECS)
def test_any_flipped_bit_gives_the_same_records_or_an_error(codec):
    expected = [{"number": i, "text": "text" * i, "array": [i, None]} for i in range(6)]
    data = write_container(CONTAINER, expected, compression=codec)
    silently_wrong = 0
    for bit in range(0, 8 * len(data), 3):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        try:
            silently_wrong += read(bytes(damaged)) != expected
        except (CorruptionError, UnsupportedFeature):
            continue
    # Only codecs with a checksum can notice damage inside values.
    assert silently_wrong == 0 or codec in ("null", "deflate")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"Obj\x02",
        b"PK\x03\x04" + bytes(100),
        b"Obj\x01\x00" + SYNC,
        b"Obj\x01" + b"\xff" * 11,
        b"Obj\x01" + varint(1) + varint(-5),
        container(b"{", []),
        container("long", []),
        container({"type": "array", "items": "long"}, []),
        container([], []),
        container({"type": "record", "name": "r"}, []),
        container({"type": "record", "name": "r", "fields": []}, []),
        container({"type": "record", "name": "r", "fields": [5]}, []),
        container({"type": "record", "fields": [{"name": "number", "type": "long"}]}, []),
        container(SCHEMA | {"fields": [{"name": "number", "type": "string"}]}, []),
        container(SCHEMA | {"fields": [{"name": "number", "type": ["null", "long"]}]}, []),
        container(SCHEMA | {"fields": [{"name": "number", "type": ["null", "long", "string"]}]}, []),
        container(SCHEMA | {"fields": [{"name": "number", "type": "long"}]}, []),
        container(SCHEMA | {"fields": [*SCHEMA["fields"], {"name": "number", "type": "long"}]}, []),
        container(SCHEMA, [(1, varint(7) + b"\0\0\0")]),
        container(SCHEMA, [(1, varint(7))]),
        container(SCHEMA, [(1, varint(7) + varint(5) + b"\0")]),
        container(SCHEMA, [(1, varint(7) + varint(1) + varint(-1) + b"\0")]),
        container(SCHEMA, [(1, varint(7) + varint(1) + varint(1) + b"\xff\0")]),
        container(SCHEMA, [(1, varint(7) + b"\0\0")], declared=-1),
        container(SCHEMA, [(1, varint(7) + b"\0\0")])[:-16] + bytes(16),
        container(SCHEMA, [(1, b"garbage" * 9)], codec="zstandard"),
        container(SCHEMA, [(1, b"garbage" * 9)], codec="snappy"),
        container(SCHEMA, [(1, b"")], codec="snappy"),
        container(SCHEMA, [(1, b"garbage" * 9)], codec="deflate"),
    ],
)
def test_bytes_that_are_not_an_avro_file_are_refused(data):
    with pytest.raises((BadEncoding, Truncated, LimitExceeded), match=r"^f: "):
        read(data)


def test_a_codec_outside_the_format_is_unsupported():
    with pytest.raises(UnsupportedFeature, match="f: Avro codec 'lzo'"):
        read(container(SCHEMA, [(1, b"x")], codec="lzo"))
    with pytest.raises(UnsupportedFeature, match="compression 'lzo'"):
        write_container(CONTAINER, [], compression="lzo")


@pytest.mark.parametrize("count", [10**12, -1, 4])
def test_a_block_that_declares_more_records_than_bytes_is_refused(count):
    with pytest.raises(LimitExceeded, match=f"a block of 3 bytes declares {count} records"):
        read(container(SCHEMA, [(count, varint(7) + b"\0\0")]))


@pytest.mark.parametrize(
    "extra",
    [
        "null",
        {"type": "array", "items": "null"},
        {"type": "map", "values": "null"},
        {"type": "fixed", "name": "f", "size": 0},
        {"type": "enum", "name": "e", "symbols": ["A"]},
        {"type": "record", "name": "empty", "fields": []},
        {"type": "array", "items": {"type": "record", "name": "empty", "fields": []}},
        ["null", ["null", "long"]],
        [],
        "record",
        "x.record",
        {"type": "array", "items": "x.record"},
        "unknown",
        {"type": "long-ish"},
        None,
        7,
    ],
)
def test_schemas_with_zero_size_or_recursive_values_are_refused(extra):
    schema = SCHEMA | {"fields": [*SCHEMA["fields"], {"name": "extra", "type": extra}]}
    with pytest.raises(BadEncoding, match="expected an Avro type of the format"):
        read(container(schema, []))


def test_a_schema_that_doubles_at_every_level_is_refused():
    fields = [{"name": "x", "type": "int"}]
    types = [{"type": "record", "name": "r0", "fields": fields}]
    for i in range(1, 40):
        pair = [{"name": "a", "type": types[-1]}, {"name": "b", "type": f"r{i - 1}"}]
        types.append({"type": "record", "name": f"r{i}", "fields": pair})
    with pytest.raises(LimitExceeded, match=r"nodes|nested deeper"):
        read(container(types[-1], []))
    flat = [{"name": f"f{i}", "type": "int"} for i in range(10_001)]
    with pytest.raises(LimitExceeded, match="nodes"):
        read(container({"type": "record", "name": "r", "fields": flat}, []))


def test_a_header_of_unlimited_length_is_refused():
    with pytest.raises(LimitExceeded, match="entries in an Avro header"):
        read(b"Obj\x01" + varint(1 << 40) + bytes(100))


@pytest.mark.parametrize("codec", ["zstandard", "deflate"])
def test_a_block_that_expands_too_far_is_refused(codec):
    bomb = compress(codec, bytes(64 << 20))
    with pytest.raises(LimitExceeded, match="expands to more than"):
        decompress(codec, bomb, path="f")


def test_a_streamed_bomb_is_refused():
    compressor = zstandard.ZstdCompressor().compressobj()
    bomb = compressor.compress(bytes(64 << 20)) + compressor.flush()
    with pytest.raises(LimitExceeded, match="expands to more than"):
        decompress("zstandard", bomb, path="f")


def test_a_block_with_trailing_data_is_refused():
    deflated = zlib.compressobj(wbits=-15)
    stored = deflated.compress(b"abc") + deflated.flush()
    for codec, data in (("deflate", stored), ("zstandard", zstandard.compress(b"abc"))):
        assert decompress(codec, data, path="f") == b"abc"
        with pytest.raises(BadEncoding):
            decompress(codec, data + b"more", path="f")


def test_snappy_blocks_are_checked_against_their_declared_size_and_checksum():
    stored = bytes(cramjam.snappy.compress_raw(b"abc"))
    with pytest.raises(LimitExceeded, match="expands to more than"):
        decompress("snappy", b"\x80\x80\x80\x80\x04" + stored[1:] + bytes(4), path="f")
    assert decompress("snappy", stored + zlib.crc32(b"abc").to_bytes(4, "big"), path="f") == b"abc"
    with pytest.raises(BadEncoding, match="checksum"):
        decompress("snappy", stored + bytes(4), path="f")


def test_records_of_a_file_are_counted_before_they_are_decoded():
    schema = {"type": "record", "name": "r", "fields": [{"name": "number", "type": "long"}]}
    data = container(schema, [(4000, bytes(4000))] * 40)
    wanted = ContainerSchema.of(schema)
    assert len(list(read_container(data, wanted, path="f"))) == 160_000
    with pytest.raises(LimitExceeded, match="expected at most 100000 entries, found 104000"):
        list(read_container(data, wanted, path="f", max_records=100_000))
    tiny = container(schema, [(4000, compress("zstandard", bytes(4000)))] * 40, codec="zstandard")
    with pytest.raises(LimitExceeded, match=r"expected at most .* entries"):
        list(read_container(tiny, wanted, path="f"))


def test_many_small_blocks_that_together_expand_too_far_are_refused():
    schema = {"type": "record", "name": "r", "fields": [{"name": "text", "type": "string"}]}
    text = varint(1_000_000) + b"x" * 1_000_000
    data = container(schema, [(1, compress("zstandard", text))] * 70, codec="zstandard")
    wanted = ContainerSchema.of(schema)
    with pytest.raises(LimitExceeded, match="expand to more than"):
        list(read_container(data, wanted, path="f"))
    with pytest.raises(LimitExceeded, match="expand to more than 2000000"):
        list(read_container(data, wanted, path="f", allowance=2_000_000))


@pytest.mark.parametrize("size", [300, 5_000, 50_000])
def test_long_and_nearly_equal_records_are_written_so_that_they_can_be_read(size):
    written = [{"number": i, "text": "x" * size, "array": []} for i in range(2_000_000 // size)]
    written += [{"number": 0, "text": "y" * 20 * size, "array": []}] * 20
    assert read(write_container(CONTAINER, written, compression="zstd")) == written
