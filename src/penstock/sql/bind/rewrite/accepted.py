"""Which of the queries that could be written instead is accepted: that one stands in the hint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from penstock.errors import SHOWN, QueryError
from penstock.sql.parse.parser import parse
from penstock.sql.parse.statements import BareSelect, ParsedQuery

#: A query may need several rewrites, each of what the one before has made of it.
_MOST = 4
_DEPTH: ContextVar[int] = ContextVar("depth of rewrites", default=0)


@contextmanager
def told_what_to_write(bind: Callable[[ParsedQuery], object]) -> Iterator[None]:
    """Errors raised inside name the query to write instead, if `bind` accepts one."""
    try:
        yield
    except QueryError as error:
        if error.instead and _DEPTH.get() < _MOST:
            token = _DEPTH.set(_DEPTH.get() + 1)
            try:
                found = next((t for text in error.instead if (t := _accepted(text, bind))), None)
            finally:
                _DEPTH.reset(token)
            error.instead = () if found is None else (found,)
            if found is not None and len(found) < SHOWN * 3 // 4:
                error.hint = f"{error.hint}: {found}"
        else:
            error.instead = ()
        raise


def _accepted(text: str, bind: Callable[[ParsedQuery], object]) -> str | None:
    """The text if it can be bound; else what can be written instead of it, if anything."""
    try:
        statements = parse(text)
        if len(statements) == 1 and isinstance(statements[0], BareSelect):
            bind(statements[0].select)
            return text
    except QueryError as error:
        return next(iter(error.instead), None)
    return None
