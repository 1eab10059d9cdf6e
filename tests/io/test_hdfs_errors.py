"""The errors of WebHDFS: which ``OSError`` they are, and which of them are worth another attempt."""

from __future__ import annotations

import json

import pytest

from table_format.io.hdfs_errors import TryAgain, error_of


def error(name: str, message: str = "no"):
    body = json.dumps({"RemoteException": {"exception": name, "message": f"{message}\n\tat org.apache.hadoop"}})
    return error_of("/nn:9870/w/f", "nn:9870", 403, body.encode())


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("FileNotFoundException", FileNotFoundError),
        ("FileAlreadyExistsException", FileExistsError),
        ("AccessControlException", PermissionError),
        ("ParentNotDirectoryException", NotADirectoryError),
        ("StandbyException", TryAgain),
        ("RetriableException", TryAgain),
    ],
)
def test_an_exception_of_hadoop_is_an_error_of_files_in_one_line(name, kind):
    found = error(name)
    assert isinstance(found, kind)
    assert str(found) == f"[Errno {found.errno}] {name} of nn:9870: no: '/nn:9870/w/f'"


def test_a_directory_in_the_place_of_a_file_is_not_a_missing_file():
    assert isinstance(error("FileNotFoundException", "Path is not a file: /w/f"), IsADirectoryError)


@pytest.mark.parametrize("name", ["SafeModeException", "IOException", "StorageException"])
def test_other_exceptions_are_not_tried_again(name):
    assert not isinstance(error(name), TryAgain)


def test_an_answer_that_is_not_hadoops_names_its_status():
    assert isinstance(error_of("/nn/f", "nn", 503, b"<html>"), TryAgain)
    assert not isinstance(error_of("/nn/f", "nn", 500, b"<html>"), TryAgain)
    assert "HTTP status 500" in str(error_of("/nn/f", "nn", 500, b"[]"))
    assert "Kerberos, which is not supported" in str(error_of("/nn/f", "nn", 401, b"<html>"))
