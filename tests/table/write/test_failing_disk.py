"""A disk that is full or broken while data files are written: the usual error, no file, and a working table."""

from __future__ import annotations

import errno
import gc
import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Table
from tests.support.failing_sinks import FailingSinks, Fault
from tests.support.matrix import tries
from tests.support.tables import Warehouse, warehouse_on

FORMATS = ["parquet", "orc", "avro"]
SMALL_STRIPES = {"file.block-size": "20 kb", "target-file-size": "60 kb"}


def small(file_format: str) -> dict[str, str]:
    """Options of a table with small files; Avro has no stripes."""
    sizes = {"target-file-size": "60 kb"} if file_format == "avro" else SMALL_STRIPES
    return {"file.format": file_format, **sizes}


NUMBERS = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.float64()), ("s", pa.string())])


def numbers(rows: int) -> pa.Table:
    chance = random.Random(rows)
    columns = [
        range(rows),
        [chance.random() for _ in range(rows)],
        [f"text {chance.randrange(10**9)}" for _ in range(rows)],
    ]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, NUMBERS, strict=True)], schema=NUMBERS)


ROWS = numbers(12_000)


def place(file_format: str, kind: str) -> tuple[FailingSinks, Warehouse, Table]:
    io = FailingSinks()
    warehouse = warehouse_on(io)
    options = {**small(file_format), "write-only": "true"}
    if kind == "append":
        return io, warehouse, warehouse.table(schema=NUMBERS, options=options)
    return io, warehouse, warehouse.table(schema=NUMBERS, primary_keys=["k"], options={"bucket": "1", **options})


def count(table: Table) -> int:
    return table.scan(columns=["k"]).to_arrow().num_rows


@pytest.mark.parametrize("kind", ["append", "primary key"])
@pytest.mark.parametrize("file_format", FORMATS)
def test_a_disk_that_fails_at_any_byte_fails_the_write_and_leaves_no_file(file_format: str, kind: str) -> None:
    io, warehouse, table = place(file_format, kind)
    table.append(ROWS.slice(0, 10))
    before, io.written = warehouse.files(table), 0
    sound = place(file_format, kind)
    sound[2].append(ROWS)
    total = sound[0].written
    assert total > 100_000
    positions = [0, 1, 3, 4, *range(7, total, total // 25), total - 1, total - 100]
    for number, position in enumerate(positions):
        kind_of_error = (errno.ENOSPC, errno.EIO, errno.EDQUOT)[number % 3]
        io.fault = Fault(kind_of_error, room=position)
        with pytest.raises(OSError) as caught:
            table.append(ROWS)
        assert caught.value.errno == kind_of_error
        assert warehouse.files(table) == before
    io.fault = Fault(errno.EDQUOT, at_close=True)
    with pytest.raises(OSError) as caught:
        table.append(ROWS)
    assert caught.value.errno == errno.EDQUOT
    io.fault = None
    gc.collect()
    assert warehouse.files(table) == before
    table.append(ROWS.slice(10))
    assert count(warehouse.reopened(table)) == ROWS.num_rows


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_writer_that_is_interrupted_and_collected_writes_nothing_more(file_format: str) -> None:
    io, warehouse, table = place(file_format, "append")
    table.append(ROWS.slice(0, 10))
    before = warehouse.files(table)
    for position in (0, 20_000, 50_000, 100_000):
        io.fault = fault = Fault(KeyboardInterrupt, room=position)
        with pytest.raises(KeyboardInterrupt):
            table.append(ROWS)
        written, io.fault = io.written, None
        gc.collect()
        assert fault.happened == 1
        assert io.written == written
        assert warehouse.files(table) == before


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_writer_that_is_abandoned_without_a_word_writes_nothing_more(file_format: str) -> None:
    io, _, table = place(file_format, "append")
    write = table.new_write()
    write.write(ROWS.slice(0, 3000))
    written, io.fault = io.written, Fault(errno.ENOSPC, room=0)
    del write
    gc.collect()
    assert (io.written, io.fault.happened) == (written, 0)


CHILD = """
import resource, signal, sys
from pathlib import Path
from tests.support.tables import disk_warehouse
from tests.table.write.test_failing_disk import NUMBERS, ROWS, count, small

root, step = Path(sys.argv[1]), int(sys.argv[2])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
for file_format in sys.argv[3:]:
    warehouse = disk_warehouse(root / file_format)
    options = {**small(file_format), "target-file-size": "1 gb"}
    table = warehouse.table(schema=NUMBERS, options=options)
    table.append(ROWS)
    (size,) = [p.stat().st_size for p in (root / file_format).rglob("data-*")]
    before = warehouse.files(table)
    trials = 0
    for limit in range(0, size, step):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            table.append(ROWS)
        except OSError as error:
            assert error.errno == 27, error
            trials += 1
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert warehouse.files(table) == before
    table.append(ROWS)
    assert count(warehouse.reopened(table)) == 2 * ROWS.num_rows
    print(file_format, trials)
"""


def test_a_file_that_the_system_lets_grow_no_more_does_not_end_the_process(tmp_path: Path) -> None:
    step = tries(2999, many=1999)
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), str(step), *FORMATS], capture_output=True, text=True
    )
    assert child.returncode == 0, child.stderr
    trials = dict(line.split() for line in child.stdout.splitlines())
    assert list(trials) == FORMATS
    assert min(map(int, trials.values())) > 120_000 // step


INTERRUPTED = """
import random, signal, sys
from pathlib import Path
from tests.support.tables import disk_warehouse
from tests.table.write.test_failing_disk import NUMBERS, ROWS, SMALL_STRIPES, count

def interrupt(*_):
    raise KeyboardInterrupt

table = disk_warehouse(Path(sys.argv[1])).table(schema=NUMBERS, options={"file.format": "orc", **SMALL_STRIPES})
signal.signal(signal.SIGALRM, interrupt)
chance = random.Random(1)
interrupted = 0
for _ in range(50):
    try:
        # Python drops an exception that a signal raises in a destructor, such as that of pyarrow's ORC writer: a second
        # signal follows.
        signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.001, 0.03), 1)
        write = table.new_write()
        while True:
            write.write(ROWS)
    except KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, 0)
        interrupted += 1
    write = None
table.append(ROWS)
assert count(table) == ROWS.num_rows
print("interrupted", interrupted)
"""


def test_signals_in_the_middle_of_writing_orc_do_not_end_the_process(tmp_path: Path) -> None:
    child = subprocess.run([sys.executable, "-c", INTERRUPTED, str(tmp_path / "w")], capture_output=True, text=True)
    assert child.returncode == 0, child.stderr
    assert child.stdout.split() == ["interrupted", "50"]
