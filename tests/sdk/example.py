"""The smallest value of a type of an official SDK, as JSON."""

from __future__ import annotations

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

_PLAIN: dict[object, Any] = {str: "x", int: 1, float: 1.0, bool: True, bytes: "eA=="}


def example(kind: Any) -> Any:
    """Return a value of *kind* with what it must have, and nothing else."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return example(inner[0])
    if origin is Literal:
        return inner[0]
    if origin in (Union, types.UnionType):
        return example(next(each for each in inner if each is not type(None)))
    if origin is list:
        return [example(inner[0])]
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return {
            field.alias or name: example(field.annotation)
            for name, field in kind.model_fields.items()
            if field.is_required()
        }
    return _PLAIN.get(kind, {})


def members(union: Any) -> list[type[BaseModel]]:
    """Return the classes of *union*, which may have a discriminator."""
    plain = get_args(union)[0] if get_origin(union) is Annotated else union
    return list(get_args(plain))
