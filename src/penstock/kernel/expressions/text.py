"""Functions of text. Positions count characters from 1; lengths below zero count as zero.

Those that can make a text longer stop at a length (`long_text`): NULL is cheap, and no text is made
for rows that are not to have one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from operator import add

import polars as pl

from penstock.kernel.expressions.casts import cast
from penstock.kernel.expressions.long_text import characters, fits
from penstock.kernel.expressions.patterns import checked, like_pattern
from penstock.model.functions import LONGEST_TEXT
from penstock.model.types import Type

#: Longest text, and so the greatest position that makes a difference.
_LONGEST = 2**31 - 1
_SPACE = pl.lit(" ")
_NOTHING = pl.lit("")


def like(text: pl.Expr, pattern: str, escape: str = "\\", *, flags: str = "") -> pl.Expr:
    return text.str.contains(flags + like_pattern(pattern, escape))


def rlike(text: pl.Expr, pattern: str) -> pl.Expr:
    return text.str.contains(checked(pattern))


def concat(types: Sequence[Type], *values: pl.Expr) -> pl.Expr:
    first, *others = _texts(types, values)
    # NULL if one is: so one is enough to keep the others from being copied.
    allowed = fits(_total([first, *others]))
    return pl.concat_str(pl.when(allowed).then(first), *others)


def concat_ws(types: Sequence[Type], separator: pl.Expr, *values: pl.Expr) -> pl.Expr:
    """All that are not NULL; a separator stands before each but the first of them."""
    pieces, begun = [], pl.lit(False)
    for text in _texts(types[1:], values):
        piece = pl.when(begun).then(pl.concat_str(separator, text)).otherwise(text)
        pieces.append(piece.fill_null(""))
        begun = begun | text.is_not_null()
    allowed = fits(_total(pieces)) & separator.is_not_null()
    return pl.concat_str(pl.when(allowed).then(pieces[0]), *pieces[1:])


def length(types: Sequence[Type], value: pl.Expr) -> pl.Expr:
    size = value.bin.size() if types[0] is Type.BINARY else value.str.len_chars()
    return size.cast(pl.Int32)


def btrim(text: pl.Expr, characters: pl.Expr = _SPACE) -> pl.Expr:
    # Without the test, Polars would take NULL for "all whitespace".
    return pl.when(characters.is_not_null()).then(text.str.strip_chars(characters))


def substring(text: pl.Expr, position: pl.Expr, count: pl.Expr | None = None) -> pl.Expr:
    """From `position`, or the end if negative; a start before the text uses up some of `count`."""
    position = position.clip(-_LONGEST, _LONGEST)
    from_end = characters(text) + position
    start = (
        pl.when(position > 0)
        .then(position - 1)
        .when(position < 0)
        .then(from_end)
        .otherwise(position)
    )
    first = start.clip(0)
    if count is None:
        return _slice(text, first, pl.lit(_LONGEST))
    return _slice(text, first, (start + count.clip(0, _LONGEST) - first).clip(0))


def left(text: pl.Expr, count: pl.Expr) -> pl.Expr:
    return _slice(text, pl.lit(0), count.clip(0))


def right(text: pl.Expr, count: pl.Expr) -> pl.Expr:
    return _slice(text, (characters(text) - count.clip(0, _LONGEST)).clip(0), pl.lit(_LONGEST))


def replace(text: pl.Expr, search: pl.Expr, replacement: pl.Expr = _NOTHING) -> pl.Expr:
    # Polars replaces only what is the same for all rows; split and join know no such limit.
    text = pl.when(search.is_not_null() & replacement.is_not_null()).then(text)
    parts = text.str.split(search)
    gaps = parts.list.len().cast(pl.Int64) - 1
    length = characters(text) + gaps * (characters(replacement) - characters(search))
    # Without parts nothing is joined, also where the text is too long already.
    replaced = pl.when(fits(length, pieces=gaps)).then(parts).list.join(replacement)
    return pl.when(search == "").then(text).otherwise(replaced)


def pad(text: pl.Expr, width: pl.Expr, filler: pl.Expr = _SPACE, *, front: bool) -> pl.Expr:
    """Filled up or cut to `width`; an empty filler can only cut."""
    width = width.clip(0, _LONGEST)
    missing = (width - characters(text)).clip(0, LONGEST_TEXT + 1)
    missing = pl.when(filler == "").then(0).otherwise(missing)
    # At least one, for the division; without a filler none is missing.
    size = characters(filler).clip(1)
    times = (missing + size - 1) // size
    length = pl.min_horizontal(characters(text), width) + missing
    padding = _slice(_repeated(filler, times, length), pl.lit(0), missing)
    return _slice(pl.concat_str([padding, text] if front else [text, padding]), pl.lit(0), width)


def repeat(text: pl.Expr, times: pl.Expr) -> pl.Expr:
    times = times.clip(0, LONGEST_TEXT + 1)
    return _repeated(text, pl.when(text == "").then(0).otherwise(times), characters(text) * times)


def _repeated(text: pl.Expr, times: pl.Expr, length: pl.Expr) -> pl.Expr:
    allowed = fits(length, pieces=times)
    # What is repeated no times costs nothing, and becomes NULL behind it.
    repeated = text.repeat_by(pl.when(allowed).then(times).otherwise(0)).list.join("")
    return pl.when(allowed & text.is_not_null()).then(repeated)


def reverse(text: pl.Expr) -> pl.Expr:
    # Not `str.reverse`: that keeps a letter and its accent together, which SQL counts as two.
    return text.str.split("").list.reverse().list.join("")


def split_part(text: pl.Expr, separator: pl.Expr, part: pl.Expr) -> pl.Expr:
    """The part of that number, from the end if negative; '' if there is none."""
    text = pl.when(separator.is_not_null() & part.is_not_null()).then(text)
    parts = pl.when(separator == "").then(pl.concat_list(text)).otherwise(text.str.split(separator))
    part = part.clip(-_LONGEST, _LONGEST)
    index = pl.when(part > 0).then(part - 1).when(part < 0).then(part)
    found = parts.list.get(index, null_on_oob=True).fill_null("")
    return pl.when(text.is_not_null()).then(found)


def _slice(text: pl.Expr, first: pl.Expr, count: pl.Expr) -> pl.Expr:
    # Without the test, Polars would take a NULL count for "all the rest".
    return pl.when(first.is_not_null() & count.is_not_null()).then(text.str.slice(first, count))


def _total(texts: Sequence[pl.Expr]) -> pl.Expr:
    """How many characters they have together; NULL if one is."""
    return reduce(add, map(characters, texts))


def _texts(types: Sequence[Type], values: Sequence[pl.Expr]) -> list[pl.Expr]:
    return [cast(value, given, Type.STRING) for value, given in zip(values, types, strict=True)]


FORMS: dict[str, Callable[..., pl.Expr]] = {
    "like": like,
    "ilike": partial(like, flags="(?i)"),
    "rlike": rlike,
    "upper": lambda text: text.str.to_uppercase(),
    "lower": lambda text: text.str.to_lowercase(),
    "trim": lambda text: text.str.strip_chars(" "),
    "ltrim": lambda text: text.str.strip_chars_start(" "),
    "rtrim": lambda text: text.str.strip_chars_end(" "),
    "btrim": btrim,
    "substring": substring,
    "left": left,
    "right": right,
    "replace": replace,
    "contains": lambda text, part: text.str.contains(part, literal=True),
    "startswith": lambda text, part: text.str.starts_with(part),
    "endswith": lambda text, part: text.str.ends_with(part),
    "lpad": partial(pad, front=True),
    "rpad": partial(pad, front=False),
    "repeat": repeat,
    "reverse": reverse,
    "split_part": split_part,
}

BY_TYPE: dict[str, Callable[..., pl.Expr]] = {
    "||": concat,
    "concat": concat,
    "concat_ws": concat_ws,
    "length": length,
}
