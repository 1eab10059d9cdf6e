"""File names that contain a hash of the content."""

from __future__ import annotations

import random
from uuid import RFC_4122, UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from table_format.codecs.content_name import (
    check_content,
    check_parts,
    content_uuid,
    hash_of_parts,
    stated_hash,
    stated_parts_hash,
    states_content,
)
from table_format.errors import BadEncoding
from table_format.io import paths

MAKERS = [
    paths.manifest_name,
    paths.manifest_list_name,
    paths.index_manifest_name,
    paths.index_name,
    paths.statistics_name,
    lambda uuid, number: paths.file_index_name(f"data-{uuid4()}-{number}.parquet", uuid),
]
UUIDS = st.uuids(version=4).map(str)


@given(UUIDS, st.binary(max_size=200))
def test_the_uuid_is_one_of_version_8_and_holds_the_whole_hash(unique: str, data: bytes) -> None:
    made = content_uuid(unique, data)
    parsed = UUID(made)
    assert str(parsed) == made
    assert (parsed.version, parsed.variant) == (8, RFC_4122)
    for name_of in MAKERS:
        assert stated_hash(name_of(made, 3)) == xxh3_64_intdigest(data)
        check_content(data, path=f"/w/db.db/t/manifest/{name_of(made, 0)}")


def test_the_name_of_an_index_states_the_hash_of_some_parts_too() -> None:
    name = paths.file_index_name(
        "data-0.parquet", f"{content_uuid(str(uuid4()), b'abcd')}-{hash_of_parts([b'a', b'd']):016x}"
    )
    assert stated_hash(name) == xxh3_64_intdigest(b"abcd")
    assert stated_parts_hash(name) == xxh3_64_intdigest(b"ad")
    check_content(b"abcd", path=f"/t/{name}")
    check_parts([b"a", b"d"], stated=xxh3_64_intdigest(b"ad"), path=name)
    with pytest.raises(BadEncoding, match="does not match the hash in its name"):
        check_parts([b"a", b"b"], stated=xxh3_64_intdigest(b"ad"), path=name)
    for other in (
        f"{name}.index",
        name.replace(".index", ""),
        name.replace("data-0.parquet.", ""),
        f"x{name[:-6]}0.index",
    ):
        assert stated_parts_hash(other) is None


def test_equal_files_have_different_names() -> None:
    assert len({content_uuid(str(uuid4()), b"equal") for _ in range(2000)}) == 2000
    counted = {content_uuid(f"00000000-0000-4000-8000-{n:012d}", b"equal") for n in range(2000)}
    of_actors = {
        content_uuid(f"{a:08x}-{i:04x}-4000-8000-{n:012x}", b"") for a in range(9) for i in range(9) for n in range(99)
    }
    assert (len(counted), len(of_actors)) == (2000, 9 * 9 * 99)


def test_every_flipped_bit_and_every_truncation_is_detected() -> None:
    data = random.Random(1).randbytes(300)
    path = f"/t/manifest/{paths.manifest_name(content_uuid(str(uuid4()), data), 0)}"
    others = [data[:length] for length in range(len(data))]
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        others.append(bytes(damaged))
    for other in others:
        with pytest.raises(BadEncoding, match="does not match the hash in its name") as caught:
            check_content(other, path=path)
        assert caught.value.path == path


@pytest.mark.parametrize(
    "name",
    [
        "manifest-7f60b530-056b-4692-9e07-7c8e9fd4e68a-0",
        "manifest-59f26fa6-afe8-7061-85c9-7cf9b0447624-0",
        "manifest-59f26fa6-afe8-8061-c5c9-7cf9b0447624-0",
        "manifest-59f26fa6-afe8-8061-85c9-7cf9b0447624",
        "manifest-59f26fa6-afe8-8061-85c9-7cf9b0447624-x",
        "data-59f26fa6-afe8-8061-85c9-7cf9b0447624-0.parquet",
        "data-59f26fa6-afe8-8061-85c9-7cf9b0447624-0.parquet.index",
        "data-7f60b530-056b-4692-9e07-7c8e9fd4e68a-0.parquet.59f26fa6-afe8-8061-85c9-7cf9b0447624-1.index",
        "index-0",
        "snapshot-1",
        "",
    ],
)
def test_other_names_are_not_checked(name: str) -> None:
    assert stated_hash(name) is None
    assert not states_content(f"/w/{name}")
    check_content(b"anything", path=f"/w/{name}")
