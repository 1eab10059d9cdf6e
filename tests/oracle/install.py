"""Fetches the real Apache Paimon for the interoperability tests: ``python -m tests.oracle.install [directory]``.

Needs Java 17 with ``javac`` and Maven. The directory (default ``.oracle``) holds the jars, one compiled peer for each
version, an environment with the older Spark that runs Paimon 0.9.0, one with pypaimon, Paimon's own Python client, an
S3 server and an emulator of Google Cloud Storage written by others, which Go builds in some minutes, the emulator of
Azure Storage, from npm, HDFS, and the server of Paimon's own tests of its REST catalog.
Running it again does nothing. Without pypaimon, Go or npm, which it says, the tests that need them are skipped. So are
those with Paimon 2.0.0 if Maven Central does not have its bundle; a bundle built from the sources of the release may be
put among the jars. With ``PAIMON_ORACLE_VERSION=2.0.0`` in the environment, all tests run with 2.0.0 in the place of
1.4.2.
Exits with 3 when Maven Central cannot be reached, so that a caller can skip loudly.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

STABLE = "1.4.2"
LATEST = "2.0.0"
"""The first version whose catalogs in a relational database keep views."""
VERSIONS = ("0.9.0", os.environ.get("PAIMON_ORACLE_VERSION", STABLE))
BUNDLES = {version: f"org.apache.paimon:paimon-bundle:{version}" for version in ("0.9.0", STABLE, LATEST)}
S3_VERSION = STABLE
S3 = f"org.apache.paimon:paimon-s3:{S3_VERSION}"
"""The real Paimon's access to S3, which brings its own Hadoop."""
SQLITE_DRIVER = "org.xerial:sqlite-jdbc:3.46.1.3"
POSTGRESQL_DRIVER = "org.postgresql:postgresql:42.7.4"
MYSQL_DRIVER = "com.mysql:mysql-connector-j:8.4.0"
SPARK_CONNECTOR = "org.apache.paimon:paimon-spark-3.5:0.9.0"
SPARK = "pyspark==3.5.9"
PYPAIMON = "pypaimon==2.1.0"
PYPAIMON_DIRECTORY = "pypaimon"
GATEWAY = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
GATEWAY_PROGRAM = "versitygw-1.8.0/versitygw"
FAKE_GCS = "github.com/fsouza/fake-gcs-server@v1.56.1"
FAKE_GCS_PROGRAM = "fake-gcs-server-1.56.1/fake-gcs-server"
GCS_CONNECTOR = "com.google.cloud.bigdataoss:gcs-connector:hadoop3-2.2.26:jar:shaded"
GCS_CONNECTOR_JAR = "gcs-connector-2.2.26/gcs-connector-hadoop3-2.2.26-shaded.jar"
"""Google's own access of Hadoop to its store. The one in paimon-gs is older, and reaches no other address."""
AZURITE = "azurite@3.35.0"
AZURITE_PROGRAM = "azurite-3.35.0/node_modules/azurite/dist/src/blob/main.js"
HADOOP = "org.apache.hadoop:hadoop-client-api:3.3.4"
HADOOP_SETTINGS = "core-default.xml"
LIBRARIES = (
    "commons-io:commons-io:2.16.1",
    HADOOP,
    "org.apache.hadoop:hadoop-client-runtime:3.3.4",
    "commons-logging:commons-logging:1.2",
    "org.slf4j:slf4j-api:2.0.7",
    "org.xerial.snappy:snappy-java:1.1.10.5",
    "org.lz4:lz4-java:1.8.0",
    "com.ververica:frocksdbjni:6.20.3-ververica-2.0",
    SQLITE_DRIVER,
    POSTGRESQL_DRIVER,
    MYSQL_DRIVER,
)
HDFS = "org.apache.hadoop:hadoop-client-minicluster:3.3.4"
HDFS_LIBRARIES = (
    HDFS,
    HADOOP,
    "org.apache.hadoop:hadoop-client-runtime:3.3.4",
    "ch.qos.reload4j:reload4j:1.2.22",
    "javax.xml.bind:jaxb-api:2.3.1",
    "javax.activation:javax.activation-api:1.2.0",
    "commons-io:commons-io:2.16.1",
    "commons-logging:commons-logging:1.2",
    "org.slf4j:slf4j-api:2.0.7",
)
"""A real HDFS in one process, and what it runs on."""
REST_LIBRARIES = (
    f"org.apache.paimon:paimon-core:{STABLE}:jar:tests",
    "com.squareup.okhttp3:mockwebserver:4.12.0",
    "com.squareup.okhttp3:okhttp:4.12.0",
    "com.squareup.okio:okio-jvm:3.6.0",
    "org.jetbrains.kotlin:kotlin-stdlib:1.9.10",
    "junit:junit:4.13.2",
    "org.hamcrest:hamcrest-core:1.3",
)
"""The REST server of Paimon's own tests, which is not in the bundle, and what it runs on."""
UNREACHABLE = 3
DEFAULT_DIRECTORY = Path(__file__).parent.parent.parent / ".oracle"
SOURCE = Path(__file__).parent / "PaimonPeer.java"
VIEWS_SOURCE = Path(__file__).parent / "PaimonViews.java"


def jar_name(coordinates: str) -> str:
    """``group:artifact:version``, or with ``:jar:classifier``, as a file name."""
    _, artifact, version, *classified = coordinates.split(":")
    return "-".join([artifact, version, *classified[1:]]) + ".jar"


def main(directory: Path) -> int:
    """Make everything that is missing; the exit code."""
    for tool in ("mvn", "javac"):
        if shutil.which(tool) is None:
            print(f"'{tool}' is not installed; the real Paimon cannot be set up", file=sys.stderr)
            return UNREACHABLE
    jars = directory / "jars"
    jars.mkdir(parents=True, exist_ok=True)
    for coordinates in (BUNDLES["0.9.0"], BUNDLES[STABLE], S3, SPARK_CONNECTOR, *LIBRARIES):
        if not _fetch(coordinates, jars):
            print(f"{coordinates} could not be fetched from Maven Central", file=sys.stderr)
            return UNREACHABLE
    if not all(_fetch(coordinates, jars) for coordinates in HDFS_LIBRARIES):
        print("!!!!! the jars of HDFS could not be fetched; nothing is checked on HDFS !!!!!", file=sys.stderr)
    if not all(_fetch(coordinates, jars) for coordinates in REST_LIBRARIES):
        print("!!!!! the REST server of Paimon could not be fetched; nothing is checked on it !!!!!", file=sys.stderr)
    if not _fetch(GCS_CONNECTOR, (directory / GCS_CONNECTOR_JAR).parent):
        print(
            f"!!!!! {GCS_CONNECTOR} could not be fetched; the real Paimon is not checked on it !!!!!", file=sys.stderr
        )
    versions = ["0.9.0", STABLE]
    if _fetch(BUNDLES[LATEST], jars):
        versions.append(LATEST)
    else:
        print(f"!!!!! {BUNDLES[LATEST]} could not be fetched; nothing is checked with it !!!!!", file=sys.stderr)
    for version in versions:
        _compile(version, jars, directory / "classes" / version)
        _shorten_settings(version, jars / jar_name(HADOOP), directory / "classes" / version / HADOOP_SETTINGS)
    _spark_environment(directory / "spark")
    _pypaimon_environment(directory / PYPAIMON_DIRECTORY)
    _by_go("the S3 server", directory / GATEWAY_PROGRAM, GATEWAY)
    _by_go("the emulator of Google Cloud Storage", directory / FAKE_GCS_PROGRAM, FAKE_GCS)
    _azurite(directory / AZURITE_PROGRAM)
    print(f"the real Paimon is ready in {directory}")
    return 0


def _fetch(coordinates: str, jars: Path) -> bool:
    if (jars / jar_name(coordinates)).exists():
        return True
    print(f"fetching {coordinates}", flush=True)
    goal = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={coordinates}", f"-DoutputDirectory={jars}"]
    return subprocess.run(goal, check=False).returncode == 0


def class_path(directory: Path, version: str) -> list[Path]:
    """The jars that one version of the peer runs on."""
    jars = directory / "jars"
    store = [jars / jar_name(S3)] if version == S3_VERSION else []
    return [jars / jar_name(BUNDLES[version]), *store, *(jars / jar_name(library) for library in LIBRARIES)]


def _compile(version: str, jars: Path, target: Path) -> None:
    for source in [SOURCE] if version == "0.9.0" else [SOURCE, VIEWS_SOURCE]:
        # By what the source says and not by its age: a checkout may give an old source a new date, and the other way
        # round.
        text, compiled = source.read_bytes(), target / source.name
        if compiled.exists() and compiled.read_bytes() == text:
            continue
        target.mkdir(parents=True, exist_ok=True)
        path = ":".join(str(jar) for jar in class_path(jars.parent, version))
        command = ["javac", "-nowarn", "-encoding", "UTF-8", "-cp", path, "-d", str(target), str(source)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        compiled.write_bytes(text)


def _shorten_settings(version: str, hadoop: Path, target: Path) -> None:
    """Write Hadoop's default settings without their descriptions, which come first on the class path.

    Paimon 0.9 reads all of them several times for each table that it opens. It runs on local disks only and gets none:
    the code of Hadoop has the same defaults.
    """
    settings = ElementTree.Element("configuration")
    if version != "0.9.0":
        with zipfile.ZipFile(hadoop) as jar:
            described = ElementTree.fromstring(jar.read(HADOOP_SETTINGS))  # noqa: S314 from the jar that Java would run
        for setting in described.iter("property"):
            short = ElementTree.SubElement(settings, "property")
            short.extend(part for part in setting if part.tag != "description")
            for part in short:
                part.tail = None
    text = ElementTree.tostring(settings)
    if not target.exists() or target.read_bytes() != text:
        target.write_bytes(text)


def _spark_environment(directory: Path) -> None:
    if (directory / "ready").exists():
        return
    print(f"installing {SPARK}", flush=True)
    venv.create(directory, with_pip=True, clear=True)
    subprocess.run([directory / "bin" / "pip", "install", "-q", SPARK, "setuptools<81"], check=True)
    (directory / "ready").touch()


def _pypaimon_environment(directory: Path) -> None:
    if (directory / "ready").exists():
        return
    print(f"installing {PYPAIMON}", flush=True)
    venv.create(directory, with_pip=True, clear=True)
    if subprocess.run([directory / "bin" / "pip", "install", "-q", PYPAIMON], check=False).returncode:
        print(f"!!!!! {PYPAIMON} could not be installed; histories with it are NOT checked !!!!!", file=sys.stderr)
        return
    (directory / "ready").touch()


def _by_go(what: str, program: Path, module: str) -> None:
    # Go compares what it fetches with the sums of its public database.
    environment = {**os.environ, "GOBIN": str(program.parent), "GOFLAGS": "-mod=mod"}
    _set_up(what, program, ["go", "install", module], environment)


def _azurite(program: Path) -> None:
    directory = next(parent for parent in program.parents if parent.name.startswith("azurite-"))
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", directory]
    _set_up("the emulator of Azure Storage", program, [*command, AZURITE], dict(os.environ))


def _set_up(what: str, program: Path, command: Sequence[str | Path], environment: Mapping[str, str]) -> None:
    if program.exists():
        return
    print(f"setting up {what}: {program.name}", flush=True)
    is_there = shutil.which(command[0]) is not None
    if not is_there or subprocess.run(command, env=environment, check=False).returncode:
        message = f"!!!!! {what} could not be set up ('{command[0]}'); nothing is checked on it !!!!!"
        print(message, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_DIRECTORY))
