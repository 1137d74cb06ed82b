"""Functions of arrays, maps and structs: what they take and give.

Their types have parts, so what they give follows from what they take: the elements of an array, the
values of a map, a field of a struct. A place or key that is not there gives NULL.
"""

from __future__ import annotations

from penstock.model.signatures import SignatureMatch
from penstock.model.types import ArrayType, MapType, StructType, Type, common_type

NESTED = r"""
get                ARRAY<T>, BIGINT -> T            the element at a place, counted from 0, also
                   MAP<K,V>, K -> V                 written a[0]; the value of a key, m['k']; NULL
                                                    if there is none
element_at         ARRAY<T>, BIGINT -> T            the element at a place, counted from 1 or, if
                   MAP<K,V>, K -> V                 negative, from the end; the value of a key
get_field          STRUCT, STRING -> T              a field of a struct, also written s.name
size               ARRAY<T> -> INT                  how many elements or entries; NULL of NULL
                   MAP<K,V> -> INT
array_contains     ARRAY<T>, T -> BOOLEAN           whether an element equals it; NULL if that is
                                                    not known
map_contains_key   MAP<K,V>, K -> BOOLEAN           whether there is such a key
map_keys           MAP<K,V> -> ARRAY<K>             all keys, in their order
map_values         MAP<K,V> -> ARRAY<V>             all values, in the order of their keys
"""


def match_nested(function: str, types: tuple[Type, ...]) -> SignatureMatch | None:
    """How a call with arguments of these types fits, or None; of get_field, see `Call.match`."""
    given = types[0] if types else Type.NULL
    match given:
        case StructType() if function == "get_field" and len(types) == 2:
            return SignatureMatch((given, Type.STRING), Type.NULL)
        case ArrayType():
            return _of_array(function, given, types)
        case MapType():
            return _of_map(function, given, types)
    return None


def _of_array(function: str, given: ArrayType, types: tuple[Type, ...]) -> SignatureMatch | None:
    match function, len(types):
        case "size", 1:
            return SignatureMatch((given,), Type.INT)
        case "get" | "element_at", 2 if types[1].is_integer or types[1] is Type.NULL:
            return SignatureMatch((given, Type.BIGINT), given.element)
        case "array_contains", 2:
            common = common_type(given.element, types[1])
            if common is not None and not common.has_map:
                return SignatureMatch((ArrayType(common), common), Type.BOOLEAN)
    return None


def _of_map(function: str, given: MapType, types: tuple[Type, ...]) -> SignatureMatch | None:
    match function, len(types):
        case "size", 1:
            return SignatureMatch((given,), Type.INT)
        case "map_keys", 1:
            return SignatureMatch((given,), ArrayType(given.key))
        case "map_values", 1:
            return SignatureMatch((given,), ArrayType(given.of))
        case "get" | "element_at" | "map_contains_key", 2:
            if common_type(given.key, types[1]) is given.key:
                is_test = function == "map_contains_key"
                return SignatureMatch((given, given.key), Type.BOOLEAN if is_test else given.of)
    return None
