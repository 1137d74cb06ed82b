"""The border of the engine on Spark: whatever a public call raises is an error of ours.

Any call may be the first to meet a Java that is gone, or a session that somebody has stopped. So
all public methods and properties of a class are wrapped, those that it inherits too; what is raised
within Penstock stays as it is until it gets there.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import wraps
from types import FunctionType
from typing import Any, TypeVar

from penstock.errors import HostError, PenstockError
from penstock.spark.failures import FOREIGN, failure

T = TypeVar("T", bound=type[Any])

#: What Python and notebooks call.
_SPECIAL = ("__repr__", "_repr_html_", "__exit__")
#: What batches call, which call subscribers: theirs may be any errors.
_INSIDE = ("receive",)


def at_border(cls: T) -> T:
    """A class whose public methods and properties raise nothing but errors of ours.

    Its `_is_stopped` tells whether the session of Spark has been stopped.
    """
    for name in dir(cls):
        if name in _INSIDE or (name.startswith("_") and name not in _SPECIAL):
            continue
        found = next(each.__dict__[name] for each in cls.__mro__ if name in each.__dict__)
        if isinstance(found, property):
            assert found.fget is not None
            setattr(cls, name, property(_wrapped(found.fget), found.fset, doc=found.__doc__))
        elif isinstance(found, FunctionType):
            setattr(cls, name, _wrapped(found))
    return cls


def _wrapped(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, *given: Any, **named: Any) -> Any:
        with _translated(self):
            found = method(self, *given, **named)
        return _each(self, found) if isinstance(found, Generator) else found

    return call


def _each(owner: Any, found: Iterator[Any]) -> Iterator[Any]:
    with _translated(owner):
        yield from found


@contextmanager
def _translated(owner: Any) -> Iterator[None]:
    try:
        yield
    except PenstockError:
        raise
    except FOREIGN as cause:
        raise failure(cause) from cause
    except Exception as cause:
        if not owner._is_stopped():
            raise
        raise HostError(
            "the session of Spark has been stopped", hint="start again with another session"
        ) from cause
