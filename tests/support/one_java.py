"""One worker of a run has the tests on Java, so that Spark and Hive start, and become fast, once and not twice."""

from __future__ import annotations

from typing import Final

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

_JAVA: Final = ("tests/spark/", "tests/dagster/", "tests/dagster_paimon/", "tests/jobs/", "tests/catalog/hive/")
"""Dagster's tests use Spark too, and import Dagster."""


class OneJava(LoadFileScheduling):
    """``--dist loadfile``, where the first worker takes files of tests on Java, and the others take the other files.

    A worker that finds none of its kind takes any file.
    """

    def _assign_work_unit(self, node: WorkerController) -> None:
        takes_java = node is self.nodes[0]
        wanted = next((file for file in self.workqueue if file.startswith(_JAVA) == takes_java), None)
        if wanted is not None:
            self.workqueue.move_to_end(wanted, last=False)
        super()._assign_work_unit(node)
