"""The text of a view in a catalog (Java ``ViewSchema``)."""

from __future__ import annotations

from types import MappingProxyType

from table_format.codecs.json_members import JsonMembers
from table_format.codecs.pretty_json import dump_pretty, load_json
from table_format.codecs.type_json import field_json, parse_field
from table_format.errors import BadEncoding, InvalidSchema, UnsupportedFeature
from table_format.model.identifier import Identifier
from table_format.model.view import View


def encode_view(view: View) -> str:
    """Return all of a view except its name as JSON."""
    members: dict[str, object] = {
        "fields": [field_json(field) for field in view.fields],
        "query": view.query,
        "dialects": view.dialects,
    }
    if view.comment is not None:
        members["comment"] = view.comment
    members["options"] = view.options
    return dump_pretty(members).decode()


def decode_view(identifier: Identifier, text: str) -> View:
    """Return the view with this name from its JSON.

    Raises:
        BadEncoding: the text is not that of a view. UnsupportedFeature: a column has a type of a newer release.
    """
    place = f"view '{identifier}'"
    members = JsonMembers(place, load_json(text.encode(), path=place))
    try:
        fields = tuple(parse_field(item) for item in members.items("fields"))
    except InvalidSchema as error:
        raise BadEncoding(place, str(error)) from error
    except UnsupportedFeature as error:
        raise UnsupportedFeature(error.feature, f"{place}: {error}") from error
    return View(
        identifier,
        fields,
        members.text("query"),
        MappingProxyType(members.text_map("dialects")),
        members.optional_text("comment"),
        MappingProxyType(members.text_map("options")),
    )
