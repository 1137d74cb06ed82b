"""Parquet files of the same columns, one behind the other in a single file.

A parquet file is its row groups and a footer that says where they lie. So files are joined without
reading a value: row groups are copied as they are, and the footers become one, with places that are
as much further on. The footer is in Thrift's compact protocol, of which just enough is read here to
change it: fields are kept by number and type, whatever they mean.

Indexes of pages have places in them as well; they are optional, and left out.
Format: https://github.com/apache/parquet-format (parquet.thrift), which numbers the fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

_MAGIC = b"PAR1"
_TAIL = 4 + len(_MAGIC)

# Types of Thrift's compact protocol, of which some are told apart here:
# 1 true, 2 false, 3 byte, 4 i16, 5 i32, 6 i64, 7 double, 8 binary, 9 list, 10 set, 12 struct
_TRUE, _FALSE, _I64 = 1, 2, 6

#: A struct: number of a field -> (type, value). A list: (type of its elements, elements).
Struct = dict[int, tuple[int, Any]]

# Fields of parquet's structs.
_ROWS, _ROW_GROUPS = 3, 4  # of the footer
_COLUMNS, _OFFSET_OF_GROUP, _ORDINAL = 1, 5, 7  # of a row group
_OFFSET_OF_CHUNK, _META_DATA, _PAGE_INDEXES = 2, 3, (4, 5, 6, 7)  # of a column's chunk
_PAGES = (9, 10, 11, 14)  # data, index, dictionary, bloom filter; of a chunk's metadata


def join_parquet(parts: Sequence[Path], into: Path) -> None:
    """Write the rows of all parts, in their order, into one file."""
    with into.open("wb") as out:
        out.write(_MAGIC)
        whole: Struct = {}
        for part in parts:
            with part.open("rb") as file:
                footer, length = _footer(file)
                further = out.tell() - len(_MAGIC)
                file.seek(len(_MAGIC))
                _copy(file, out, length)
            groups = footer[_ROW_GROUPS][1][1]
            for group in groups:
                _move(group, further)
            if not whole:
                whole = footer
            else:
                whole[_ROWS] = (_I64, whole[_ROWS][1] + footer[_ROWS][1])
                whole[_ROW_GROUPS][1][1].extend(groups)
        written = bytearray()
        _write_struct(written, whole)
        out.write(written)
        out.write(len(written).to_bytes(4, "little") + _MAGIC)


def _footer(file: BinaryIO) -> tuple[Struct, int]:
    """The footer of a file, and how many bytes lie between the magic and it."""
    size = file.seek(0, 2)
    file.seek(size - _TAIL)
    length = int.from_bytes(file.read(4), "little")
    if file.read(len(_MAGIC)) != _MAGIC:
        raise OSError(f"`{getattr(file, 'name', '?')}` is not a parquet file")
    file.seek(size - _TAIL - length)
    return _Reader(file.read(length)).struct(), size - _TAIL - length - len(_MAGIC)


def _copy(file: BinaryIO, out: BinaryIO, length: int) -> None:
    """Copy so many bytes, from where a file stands."""
    while length:
        piece = file.read(min(length, 1 << 22))
        if not piece:
            raise OSError(f"`{getattr(file, 'name', '?')}` was cut off")
        out.write(piece)
        length -= len(piece)


def _move(group: Struct, further: int) -> None:
    """Say of a row group that it lies so many bytes further on."""
    group.pop(_ORDINAL, None)
    _add(group, _OFFSET_OF_GROUP, further)
    for chunk in group[_COLUMNS][1][1]:
        for index in _PAGE_INDEXES:
            chunk.pop(index, None)
        _add(chunk, _OFFSET_OF_CHUNK, further)
        for page in _PAGES:
            _add(chunk[_META_DATA][1], page, further)


def _add(struct: Struct, field: int, further: int) -> None:
    """A place of 0 is none."""
    if field in struct and struct[field][1] > 0:
        struct[field] = (_I64, struct[field][1] + further)


class _Reader:
    """Reads Thrift's compact protocol."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self) -> Struct:
        found: Struct = {}
        field = 0
        while head := self._byte():
            step, type_ = head >> 4, head & 15
            field = field + step if step else self._signed()
            # A boolean is in the type of its field.
            found[field] = (type_, None if type_ in (_TRUE, _FALSE) else self._value(type_))
        return found

    def _value(self, type_: int) -> Any:
        match type_:
            case 1 | 2 | 3:  # as an element of a list, a boolean is a byte
                return self._byte()
            case 4 | 5 | 6:
                return self._signed()
            case 7:
                return self._bytes(8)
            case 8:
                return self._bytes(self._number())
            case 9 | 10:
                head = self._byte()
                size = self._number() if head >> 4 == 15 else head >> 4
                return (head & 15, [self._value(head & 15) for _ in range(size)])
            case 12:
                return self.struct()
        raise OSError(f"a parquet footer has a field of the unknown type {type_}")

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, count: int) -> bytes:
        self._at += count
        return self._data[self._at - count : self._at]

    def _number(self) -> int:
        found = shift = 0
        while True:
            byte = self._byte()
            found |= (byte & 127) << shift
            if byte < 128:
                return found
            shift += 7

    def _signed(self) -> int:
        number = self._number()
        return (number >> 1) ^ -(number & 1)


def _write_struct(out: bytearray, struct: Struct) -> None:
    before = 0
    for field, (type_, value) in sorted(struct.items()):
        step = field - before
        if 0 < step < 16:
            out.append(step << 4 | type_)
        else:
            out.append(type_)
            _write_number(out, _zigzag(field))
        before = field
        if type_ not in (_TRUE, _FALSE):
            _write_value(out, type_, value)
    out.append(0)


def _write_value(out: bytearray, type_: int, value: Any) -> None:
    match type_:
        case 1 | 2 | 3:
            out.append(value)
        case 4 | 5 | 6:
            _write_number(out, _zigzag(value))
        case 7:
            out += value
        case 8:
            _write_number(out, len(value))
            out += value
        case 9 | 10:
            of, elements = value
            out.append(min(len(elements), 15) << 4 | of)
            if len(elements) >= 15:
                _write_number(out, len(elements))
            for element in elements:
                _write_value(out, of, element)
        case 12:
            _write_struct(out, value)


def _zigzag(value: int) -> int:
    return value << 1 if value >= 0 else ((-value) << 1) - 1


def _write_number(out: bytearray, number: int) -> None:
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
