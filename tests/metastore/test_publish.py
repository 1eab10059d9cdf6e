from __future__ import annotations

import errno

import pytest

from table_format.errors import BadEncoding
from table_format.metastore.publish import PutOutcome, create_unique, put_if_absent
from tests.support.metastore_table import a_table, failing, once

PATH = "/w/db.db/t/snapshot/snapshot-1"
LOST = OSError(errno.EIO, "lost")
FULL = OSError(errno.ENOSPC, "full")
EXISTS = FileExistsError(errno.EEXIST, "exists")


def put(table, data=b"mine"):
    return put_if_absent(table.store, PATH, data, give_up_ms=table.clock.ms + 60_000)


def before(error):
    return lambda io: io.before("create", "", once(failing(error)))


def after(error):
    return lambda io: io.after("create", "", once(failing(error)))


@pytest.mark.parametrize(
    ("trouble", "there", "outcome"),
    [
        (lambda io: None, None, PutOutcome.OURS),
        (lambda io: None, b"mine", PutOutcome.OURS),
        (lambda io: None, b"theirs", PutOutcome.OTHERS),
        (before(LOST), None, PutOutcome.OURS),
        (after(LOST), None, PutOutcome.OURS),
        (before(LOST), b"theirs", PutOutcome.OTHERS),
        (before(FULL), None, PutOutcome.REFUSED),
        (after(FULL), None, PutOutcome.OURS),
        (before(EXISTS), None, PutOutcome.OTHERS),
        (after(EXISTS), None, PutOutcome.OURS),
        (lambda io: io.before("create", "", failing(LOST)), None, PutOutcome.UNKNOWN),
        (lambda io: io.before("create", "", failing(LOST)), b"theirs", PutOutcome.OTHERS),
    ],
)
def test_the_creator_of_the_file_is_determined(trouble, there, outcome):
    table = a_table()
    if there is not None:
        table.store.io.create(PATH, there)
    trouble(table.io)
    assert put(table).outcome is outcome
    found = table.store.io.status(PATH)
    assert (found is not None) == (there is not None or outcome is PutOutcome.OURS)


def test_if_reading_the_file_fails_too_the_outcome_is_unknown():
    table = a_table()
    table.io.after("create", "", failing(LOST))
    table.io.before("read", "", failing(LOST))
    answer = put(table)
    assert answer.outcome is PutOutcome.UNKNOWN
    assert isinstance(answer.error, OSError)


def test_a_refusal_after_a_request_without_answer_leaves_it_in_doubt():
    table = a_table()
    errors = iter([LOST, *[FULL] * 20])

    def fail():
        raise next(errors)

    table.io.before("create", "", fail)
    assert put(table).outcome is PutOutcome.UNKNOWN


def test_no_request_is_sent_after_the_time_to_give_up():
    table = a_table()
    table.io.before("create", "", failing(LOST))
    assert put_if_absent(table.store, PATH, b"x", give_up_ms=table.clock.ms + 50).outcome is PutOutcome.UNKNOWN
    assert table.clock.slept == [20]
    assert [verb for verb, path in table.io.calls if path == PATH].count("create") == 2


def test_a_unique_file_may_exist_only_with_the_same_bytes():
    table = a_table()
    create_unique(table.store, PATH, b"mine")
    create_unique(table.store, PATH, b"mine")
    with pytest.raises(BadEncoding, match="expected an unused name"):
        create_unique(table.store, PATH, b"other")
