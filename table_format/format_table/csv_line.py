"""Splits a line of CSV with unusual quotes, one character at a time (Java ``CsvParser``).

Most lines are split by Arrow; see ``csv_reading``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from table_format.options.format_table import FormatTableOptions


def split_line(line: str, options: FormatTableOptions) -> list[str]:
    """Return the values of a line, with quotes and escape characters removed, as Java does.

    A quote may be escaped by another one. An escape character before another character is left out. A value whose
    quote is not closed is left out with the rest of the line.

    >>> split_line(r'1,a"b"c,"1,2","x', FormatTableOptions(file_format="csv"))
    ['1', 'a"b"c', '1,2']
    >>> split_line(r'"a\\"b",c\\d', FormatTableOptions(file_format="csv"))
    ['a"b', 'cd']
    """
    state = _Line(line, options)
    while state.position < len(line):
        state.step()
    return state.values if state.in_quotes else [*state.values, "".join(state.value)]


@dataclass(slots=True)
class _Line:
    line: str
    options: FormatTableOptions
    position: int = 0
    in_quotes: bool = False
    in_field: bool = False
    value: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)

    def step(self) -> None:
        """Read the next character."""
        character, following = self._at(0), self._at(1)
        quote, escape = self.options.quote_character, self.options.escape_character
        is_open = self.in_quotes or self.in_field
        if character == escape:
            if is_open and following is not None and following in (quote, escape):
                self._take(following)
        elif character == quote:
            if is_open and following == quote:
                self._take(quote)
            else:
                self._toggle(following)
            self.in_field = not self.in_field
        elif character == self.options.field_delimiter and not self.in_quotes:
            self.values.append("".join(self.value))
            self.value, self.in_field = [], False
        else:
            self.value.append(character or "")
            self.in_field = True
        self.position += 1

    def _take(self, character: str | None) -> None:
        self.value.append(character or "")
        self.position += 1

    def _toggle(self, following: str | None) -> None:
        """Open or close a quotation. A quote inside of a value, as in ``a"b"c``, is a part of it."""
        delimiter = self.options.field_delimiter
        is_inside = self.position > 2 and self._at(-1) != delimiter and following not in (None, delimiter)
        if is_inside:
            if self.value and all(map(str.isspace, self.value)):
                self.value = []
            else:
                self.value.append(self.options.quote)
        self.in_quotes = not self.in_quotes

    def _at(self, offset: int) -> str | None:
        place = self.position + offset
        return self.line[place] if 0 <= place < len(self.line) else None
