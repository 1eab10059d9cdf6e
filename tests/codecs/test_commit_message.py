"""Commit messages are sent between processes without loss, and other bytes are refused."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format.codecs import commit_message
from table_format.codecs.avro import write_container
from table_format.codecs.commit_message import decode_messages, encode_messages
from table_format.errors import BadEncoding, CorruptionError, UnsupportedFeature
from table_format.model.commit import CommitMessage
from table_format.model.data_file import EMPTY_ROW
from tests.codecs.facts import commit_messages, some_examples

EMPTY = CommitMessage(partition=EMPTY_ROW, bucket=0, total_buckets=-1)


@given(st.lists(commit_messages, max_size=2))
@settings(some_examples, max_examples=20)
def test_messages_sent_are_the_messages_received(messages):
    assert decode_messages(encode_messages(messages)) == tuple(messages)


def test_no_messages_and_an_empty_message_are_different():
    assert decode_messages(encode_messages([])) == ()
    assert decode_messages(encode_messages([EMPTY])) == (EMPTY,)


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x01" + encode_messages([EMPTY])[1:], pickle.dumps([EMPTY]), b"{}"])
def test_messages_of_another_version_are_refused(data):
    with pytest.raises(BadEncoding, match="expected version 06, found"):
        decode_messages(data)


def test_messages_of_the_version_before_are_read_without_their_time_their_schemas_and_the_message_before_them():
    message = replace(EMPTY, schema_id=3, schemas=("3:5:00",), made_ms=7, key_places_after=("data-1.parquet",))
    record = commit_message._record(message)
    schema = commit_message._schema(of_this_version=False)
    data = b"\x05" + write_container(schema, [record], compression="zstd")
    assert decode_messages(data) == (replace(message, schemas=(), made_ms=None, key_places_after=()),)


def test_damaged_messages_are_refused_or_harmless():
    data = encode_messages([EMPTY])
    for at in range(0, len(data), 5):
        damaged = bytearray(data)
        damaged[at] ^= 1 << at % 8
        try:
            assert decode_messages(bytes(damaged)) == (EMPTY,)
        except (CorruptionError, UnsupportedFeature):
            continue
    header = len(encode_messages([]))
    for end in set(range(len(data))) - {header}:
        with pytest.raises(CorruptionError):
            decode_messages(data[:end])
