"""A Dagster instance with a webserver and a daemon, spoken to over GraphQL like the UI does."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import dagster as dg

from tests.endtoend.eager_daemon import PAUSE

ROOT: Final = Path(__file__).resolve().parents[2]
LOCATION: Final = "lakehouse"
_REPOSITORY: Final = "__repository__"
_WORKER: Final = re.compile(r"Executing steps in process \(pid: (\d+)\)")
_SETTINGS: Final = """
telemetry:
  enabled: false
concurrency:
  runs:
    max_concurrent_runs: 2
  pools:
    granularity: run
    default_limit: 1
run_coordinator:
  module: dagster
  class: QueuedRunCoordinator
  config:
    dequeue_interval_seconds: 1
run_monitoring:
  enabled: true
  poll_interval_seconds: 3
  start_timeout_seconds: 180
  free_slots_after_run_end_seconds: 5
run_retries:
  enabled: true
  max_retries: 2
  retry_on_asset_or_op_failure: false
sensors:
  use_threads: true
  num_workers: 2
"""


_WORKSPACE: Final = """
load_from:
  - python_module:
      module_name: definitions
      location_name: {location}
      working_directory: {root}
"""
# Commands that are started in the project's directory would use the instance that its `.env` names.


class DagsterServer:
    """Asks the webserver; every question fails with the server's own words."""

    def __init__(self, url: str, home: Path) -> None:
        self.url = url
        self.home = home

    def query(self, text: str, variables: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The data of a GraphQL query or mutation."""
        body = json.dumps({"query": text, "variables": variables or {}}).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/graphql", body, headers)  # noqa: S310 - this machine's own server
        with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
            answer = json.load(response)
        if answer.get("errors"):
            raise AssertionError(json.dumps(answer["errors"])[:2000])
        data: dict[str, Any] = answer["data"]
        return data

    def launch(
        self, job: str, *, config: Mapping[str, Any] | None = None, partition: str | None = None, tags: Any = ()
    ) -> str:
        """Put a run of a job into the queue; its id."""
        named = [{"key": key, "value": value} for key, value in dict(tags).items()]
        if partition is not None:
            named.append({"key": "dagster/partition", "value": partition})
        found = self.query(
            """mutation($p: ExecutionParams!) { launchRun(executionParams: $p) { __typename
               ... on LaunchRunSuccess { run { runId } } ... on PythonError { message }
               ... on RunConfigValidationInvalid { errors { message } } } }""",
            {
                "p": {
                    "selector": {
                        "repositoryLocationName": LOCATION,
                        "repositoryName": _REPOSITORY,
                        "jobName": job,
                    },
                    "runConfigData": dict(config or {}),
                    "executionMetadata": {"tags": named},
                }
            },
        )["launchRun"]
        if found["__typename"] != "LaunchRunSuccess":
            raise AssertionError(json.dumps(found)[:2000])
        return str(found["run"]["runId"])

    def backfill(self, job: str, partitions: list[str]) -> str:
        """Start a backfill of some partitions of a job; its id."""
        selector = {"repositoryLocationName": LOCATION, "repositoryName": _REPOSITORY}
        return self._backfill(
            {
                "selector": {"partitionSetName": f"{job}_partition_set", "repositorySelector": selector},
                "partitionNames": partitions,
            }
        )

    def backfill_asset(self, asset: list[str], partitions: list[str]) -> str:
        """Start a backfill of some partitions of an asset; its id."""
        return self._backfill({"assetSelection": [{"path": asset}], "partitionNames": partitions})

    def _backfill(self, arguments: Mapping[str, Any]) -> str:
        found = self.query(
            """mutation($p: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $p) { __typename
               ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }""",
            {"p": arguments},
        )["launchPartitionBackfill"]
        if found["__typename"] != "LaunchBackfillSuccess":
            raise AssertionError(json.dumps(found)[:2000])
        return str(found["backfillId"])

    def backfill_status(self, backfill: str) -> str:
        """``REQUESTED``, ``COMPLETED_SUCCESS``, ``COMPLETED_FAILED``, ..."""
        text = "query($b: String!) { partitionBackfillOrError(backfillId: $b) { ... on PartitionBackfill { status } } }"
        return str(self.query(text, {"b": backfill})["partitionBackfillOrError"]["status"])

    def runs(self, **filters: Any) -> list[dict[str, Any]]:
        """Runs, newest first, with id, job, status and tags."""
        found = self.query(
            """query($f: RunsFilter) { runsOrError(filter: $f) { ... on Runs { results {
               runId jobName status tags { key value } } } } }""",
            {"f": filters or None},
        )
        results: list[dict[str, Any]] = found["runsOrError"]["results"]
        return [{**run, "tags": {tag["key"]: tag["value"] for tag in run["tags"]}} for run in results]

    def status(self, run: str) -> str:
        """The status of a run."""
        text = "query($r: ID!) { runOrError(runId: $r) { ... on Run { status } } }"
        return str(self.query(text, {"r": run})["runOrError"]["status"])

    def worker(self, run: str) -> int | None:
        """The process that executes a run, once its log says so."""
        text = """query($r: ID!) { runOrError(runId: $r) { ... on Run { eventConnection { events {
                  ... on MessageEvent { message } } } } } }"""
        events = self.query(text, {"r": run})["runOrError"]["eventConnection"]["events"]
        started = (_WORKER.search(event.get("message") or "") for event in events)
        return next((int(found[1]) for found in started if found), None)

    def terminate(self, run: str) -> None:
        """Terminate a run, as the button of the UI does."""
        self.query(
            """mutation($r: String!) { terminateRun(runId: $r) { __typename
               ... on TerminateRunFailure { message } ... on PythonError { message } } }""",
            {"r": run},
        )

    def start_sensor(self, name: str) -> None:
        """Switch a sensor on."""
        self.query(
            "mutation($s: SensorSelector!) { startSensor(sensorSelector: $s) { __typename "
            "... on PythonError { message } } }",
            {"s": {"repositoryLocationName": LOCATION, "repositoryName": _REPOSITORY, "sensorName": name}},
        )

    def materializations(self, asset: list[str]) -> list[dict[str, Any]]:
        """The materializations of an asset, newest first: partition, description and plain metadata."""
        found = self.query(
            """query($k: AssetKeyInput!) { assetOrError(assetKey: $k) { ... on Asset {
               assetMaterializations(limit: 100) { partition description runId metadataEntries { label
                 ... on IntMetadataEntry { intValue } ... on TextMetadataEntry { text } } } } } }""",
            {"k": {"path": asset}},
        )
        events: list[dict[str, Any]] = found["assetOrError"].get("assetMaterializations", [])
        return events

    def wait_for(self, what: str, condition: Callable[[], Any], *, seconds: float = 300) -> Any:
        """What the condition says once it says anything; asked every second.

        Raises:
            AssertionError: it did not in time.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = condition()
            if found:
                return found
            time.sleep(1)
        states = [(run["jobName"], run["status"]) for run in self.runs()][:20]
        message = f"{what}: not within {seconds:.0f} s; runs: {states}"
        raise AssertionError(message)


@contextmanager
def dagster_server(directory: Path, environment: Mapping[str, str]) -> Iterator[DagsterServer]:
    """A webserver and a daemon on the code location of this project, with an instance of their own."""
    home = directory / "dagster_home"
    home.mkdir(parents=True)
    (home / "dagster.yaml").write_text(_SETTINGS)
    workspace = directory / "workspace.yaml"
    workspace.write_text(_WORKSPACE.format(root=json.dumps(str(ROOT)), location=LOCATION))
    variables = {
        **os.environ,
        "DAGSTER_HOME": str(home),
        "DAGSTER_EVENT_LOG_CONSUMER_DAEMON_INTERVAL_SECONDS": str(PAUSE),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
        **environment,
    }
    # Two processes that make the tables of a new instance at the same time get in each other's way.
    with dg.DagsterInstance.from_config(str(home)):
        pass
    port = _free_port()
    bin_directory = Path(sys.executable).parent
    commands = {
        "webserver": [str(bin_directory / "dagster-webserver"), "-w", str(workspace), "-p", str(port)],
        "daemon": [sys.executable, "-m", "tests.endtoend.eager_daemon", "run", "-w", str(workspace)],
    }
    processes = []
    try:
        for name, command in commands.items():
            log = (directory / f"{name}.log").open("wb")
            processes.append(
                subprocess.Popen(
                    command, cwd=directory, env=variables, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
                )
            )
        server = DagsterServer(f"http://127.0.0.1:{port}", home)
        _wait_until_loaded(server, directory)
        yield server
    finally:
        for process in processes:
            _stop(process)


def _wait_until_loaded(server: DagsterServer, directory: Path) -> None:
    end = time.monotonic() + 180
    while time.monotonic() < end:
        try:
            found = server.query("{ repositoriesOrError { ... on RepositoryConnection { nodes { name } } } }")
            if found["repositoriesOrError"].get("nodes"):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            pass
        time.sleep(1)
    message = f"the webserver has not loaded the code location: {(directory / 'webserver.log').read_text()[-3000:]}"
    raise AssertionError(message)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Interrupt a process and its children, and kill those that remain."""
    for sent, seconds in ((signal.SIGTERM, 20), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, sent)
            process.wait(seconds)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
    # Code servers and runs may have sessions of their own; they end with their parent's heartbeat.


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
