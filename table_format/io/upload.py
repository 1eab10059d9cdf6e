"""A file object that sends what is written to it to a remote store."""

from __future__ import annotations

from abc import ABC, abstractmethod


class Upload(ABC):
    """The file object of ``open_output`` in a remote store. The file exists once it is closed."""

    def __init__(self) -> None:
        self._written = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        """Keep the data, or send it."""
        view = memoryview(data).cast("B")
        self._take(view)
        self._written += len(view)
        return len(view)

    def tell(self) -> int:
        """Return the number of bytes that were written."""
        return self._written

    def flush(self) -> None:  # noqa: B027 - a file object needs it
        """Do nothing: the file does not exist before it is closed."""

    def close(self) -> None:
        """Make the file exist."""
        if not self.closed:
            self.closed = True
            self._finish()

    @abstractmethod
    def _take(self, data: memoryview) -> None:
        """Keep the data, or send it."""

    @abstractmethod
    def _finish(self) -> None:
        """Make the file exist."""
