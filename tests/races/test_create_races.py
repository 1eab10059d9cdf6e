"""``create`` between real processes on a real disk: one winner, whole files, whatever is killed when."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.races.processes import Worker, run_together
from tests.races.workers import content_of, create_every_name, create_until_killed

PROCESSES = 4


def test_of_processes_that_race_for_a_name_exactly_one_wins(tmp_path):
    rounds = 200
    reports = run_together(create_every_name, [(str(tmp_path), who, rounds) for who in range(PROCESSES)])
    winners = {number: who for who, (won,) in enumerate(reports) for number in won}
    assert sum(len(won) for (won,) in reports) == rounds
    assert sorted(winners) == list(range(rounds))
    for number, who in winners.items():
        assert (tmp_path / f"snapshot-{number}").read_bytes() == content_of(who)


@pytest.mark.parametrize("reports_before_death", [1, 2, 5, 9, 14, 20])
def test_a_killed_process_leaves_whole_files_and_what_it_reported_stays(tmp_path, reports_before_death):
    workers = [Worker(create_until_killed, str(tmp_path), who) for who in range(2)]
    first = [workers[0].next_report() for _ in range(reports_before_death)]
    for worker in workers:
        worker.kill()
    reports = [[*first, *workers[0].reports()], workers[1].reports()]
    files = sorted(int(path.name.partition("-")[2]) for path in visible(tmp_path))
    assert files == list(range(len(files)))
    contents = {(tmp_path / f"snapshot-{n}").read_bytes() for n in files}
    assert contents <= {content_of(0), content_of(1)}
    for who, numbers in enumerate(reports):
        assert all((tmp_path / f"snapshot-{n}").read_bytes() == content_of(who) for n in numbers)
    won = [n for numbers in reports for n in numbers]
    assert len(won) == len(set(won))
    assert len(files) - len(won) <= 2  # a process may die between winning and saying so


def visible(directory: Path) -> list[Path]:
    return [path for path in directory.iterdir() if not path.name.startswith(".")]
