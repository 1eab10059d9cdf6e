"""The settings of a resource as a part of a component's YAML: the same names, types, defaults and descriptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import dagster as dg
from pydantic import BaseModel, create_model


class FromEnvironment(dg.Model):
    """A text that is read from an environment variable on use: ``{env: NAME}``."""

    env: str


def settings_model(resource: type[dg.ConfigurableResource], *, without: frozenset[str] = frozenset()) -> type[dg.Model]:
    """Return a model with the fields of a resource, except those in ``without``. A text may be given as ``{env:
    NAME}``.
    """
    fields: dict[str, Any] = {}
    for name, field in resource.model_fields.items():
        if name in without:
            continue
        accepted = str | FromEnvironment if field.annotation is str else field.annotation
        fields[name] = (accepted, field)
    return create_model(f"{resource.__name__}Settings", __base__=dg.Model, **fields)


def settings_of(context: dg.ResolutionContext, model: BaseModel) -> dict[str, Any]:
    """Return the settings of the YAML, with templates resolved, as arguments of the resource."""
    return {name: _resolved(context, getattr(model, name)) for name in model.model_fields_set}


def _resolved(context: dg.ResolutionContext, value: Any) -> Any:  # noqa: ANN401 - settings are of any type
    if isinstance(value, FromEnvironment):
        return dg.EnvVar(value.env)
    if isinstance(value, Mapping):
        return {key: _resolved(context, inner) for key, inner in value.items()}
    if isinstance(value, str) and "{{" in value:
        # Dagster converts a text such as "2" to a number; table options are texts.
        return str(context.resolve_value(value))
    return value


def resolved_to(make: Callable[..., Any], model: type[dg.Model]) -> dg.Resolver:
    """Return the resolver of an attribute: it calls ``make`` with the settings that are given in YAML."""
    return dg.Resolver(lambda context, given: make(**settings_of(context, given)), model_field_type=model)
