"""The identity of one bucket of a table."""

from table_format.model.bucket_id import BucketId
from table_format.model.commit import CommitMessage


def test_buckets_sort_by_the_bytes_of_their_partition_and_then_by_number() -> None:
    ids = [BucketId(b"\x02", 0), BucketId(b"\x01", 10), BucketId(b"\x01", 2), BucketId(b"\x01\x00", 0)]
    assert sorted(ids) == [BucketId(b"\x01", 2), BucketId(b"\x01", 10), BucketId(b"\x01\x00", 0), BucketId(b"\x02", 0)]


def test_the_bucket_of_a_message_finds_what_is_kept_for_the_bucket() -> None:
    message = CommitMessage(partition=b"p", bucket=7, total_buckets=8)
    assert {message.bucket_id: "files"}[BucketId(b"p", 7)] == "files"
