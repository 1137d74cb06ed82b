"""Functions of arrays, maps and structs in plain Python: lists and dicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def get(value: Any, place: Any) -> Any:
    if isinstance(value, dict):
        return value.get(place)
    return value[place] if 0 <= place < len(value) else None


def element_at(value: Any, place: Any) -> Any:
    if isinstance(value, dict):
        return value.get(place)
    return value[place - (place > 0)] if 0 < abs(place) <= len(value) else None


def get_field(value: dict[str, Any], name: str) -> Any:
    return next(part for field, part in value.items() if field.lower() == name.lower())


def array_contains(value: list[Any], wanted: Any) -> bool | None:
    if wanted in [part for part in value if part is not None]:
        return True
    return None if None in value else False


#: NULL if an argument is NULL.
NESTED: dict[str, Callable[..., Any]] = {
    "get": get,
    "element_at": element_at,
    "get_field": get_field,
    "size": len,
    "array_contains": array_contains,
    "map_contains_key": lambda value, key: key in value,
    "map_keys": list,
    "map_values": lambda value: list(value.values()),
}
