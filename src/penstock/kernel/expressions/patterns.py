"""Patterns of LIKE as regular expressions, and regular expressions checked before they run."""

from __future__ import annotations

import polars as pl

from penstock.errors import NotExecutable


def like_pattern(pattern: str, escape: str) -> str:
    r"""The regular expression that matches a whole text exactly where LIKE does.

    >>> like_pattern("50!%_%", "!")
    '^(?s:50%..*)$'
    """
    parts = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            # At the end there is nothing to escape: it stands for itself.
            parts.append(pl.escape_regex(next(characters, escape)))
        elif character == "%":
            parts.append(".*")
        elif character == "_":
            parts.append(".")
        else:
            parts.append(pl.escape_regex(character))
    return f"^(?s:{''.join(parts)})$"


def checked(pattern: str) -> str:
    """The regular expression, if it is one that can run in linear time."""
    try:
        pl.select(pl.lit("").str.contains(pattern))
    except pl.exceptions.ComputeError as error:
        raise NotExecutable(
            f"cannot run the regular expression '{pattern}': {str(error).splitlines()[-1]}",
            hint="look-around and back-references are not supported, since they can take "
            "exponential time",
        ) from error
    return pattern
