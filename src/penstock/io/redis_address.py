"""Redis streams as places: what source and sink have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.errors import NotExecutable
from penstock.io.address import check_address
from penstock.io.extras import check_installed, imported
from penstock.io.place_options import options_of
from penstock.model.streams import Place
from penstock.redaction import redacted

_SCHEMES = ("redis", "rediss", "unix")


def check_redis(place: Place, what: str, options: Sequence[str]) -> dict[str, str]:
    """The options of a place, which names a server and a key; `what` is INTO redis, or FROM."""
    check_address(place, what, _SCHEMES, "redis://:password@host:6379/0")
    given = options_of(place, what, options)
    if not given.get("key"):
        raise NotExecutable(
            f"{what} needs the key of a stream", hint=f"{what} '…' OPTIONS (key 'name')"
        )
    check_installed(what, "redis", "redis")
    return given


def count_in(given: dict[str, str], name: str, what: str) -> int | None:
    """An option that is a number of entries."""
    text = given.get(name)
    if text is None:
        return None
    if not text.isdecimal() or int(text) == 0:
        raise NotExecutable(
            f"{what}: the option `{name}` cannot be '{text}'", hint=f"{name} '100000'"
        )
    return int(text)


def key_of(place: Place) -> str:
    return next(value for name, value in place.options if name.lower() == "key")


def shown(place: Place) -> str:
    """The place as errors show it."""
    return f"{redacted(str(place.path))} key {key_of(place)}"


def connect(place: Place, what: str) -> Any:
    """A client for the server; it connects when it is first used, and again if it must."""
    with imported(what, "redis", "redis"):
        import redis
    return redis.Redis.from_url(str(place.path))
