"""What the processes of the races do."""

from __future__ import annotations

from multiprocessing.connection import Connection
from threading import Barrier

from table_format.io.local import LocalFileIO


def create_every_name(root: str, who: int, rounds: int, barrier: Barrier, sender: Connection) -> None:
    """Try to create ``snapshot-0 ...`` in step with the others; report the rounds that were won."""
    io = LocalFileIO()
    won = []
    for number in range(rounds):
        barrier.wait()
        try:
            io.create(f"{root}/snapshot-{number}", content_of(who))
        except FileExistsError:
            continue
        won.append(number)
    sender.send(won)


def create_until_killed(root: str, who: int, sender: Connection) -> None:
    """Create the lowest free name again and again; report each name after it is won."""
    io = LocalFileIO()
    number = 0
    while True:
        try:
            io.create(f"{root}/snapshot-{number}", content_of(who))
        except FileExistsError:
            number += 1
            continue
        sender.send(number)


def content_of(who: int) -> bytes:
    """Bytes that show who wrote them and whether they are all there."""
    return b"%08d" % who * 5_000
