"""Addresses of servers: what may be shown of them, and of what is said about them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from penstock.errors import NotExecutable
from penstock.model.streams import Place
from penstock.redaction import STARS, redacted, redacted_options

#: What some packages colour their messages with.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def check_address(place: Place, what: str, schemes: Sequence[str], example: str) -> None:
    """Refuse an address that is none; `what` is what needs it, such as INTO redis."""
    if place.path is None:
        raise NotExecutable(f"{what} needs an address", hint=f"{what} '{example}'")
    try:
        parts = urlsplit(place.path)
        is_one = parts.scheme in schemes and (parts.port is None or parts.port > 0)
    except ValueError:
        is_one = False
    if not is_one:
        # Not shown: what cannot be taken apart cannot be shown without its password either.
        raise NotExecutable(
            f"what stands after {what} is not an address of the form {schemes[0]}://…",
            hint=f"{what} '{example}'; in a password, write / @ : # ? % as %2F %40 %3A %23 %3F %25",
        ) from None


def plain_cause(cause: BaseException, place: Place) -> tuple[str, bool]:
    """What an exception says, on one line and without secrets of a place; whether it had none."""
    said = " ".join(_COLOUR.sub("", str(cause)).split()) or type(cause).__name__
    plain = said
    if place.path is not None:
        plain = plain.replace(place.path, redacted(place.path))
    for secret in _secrets(place):
        plain = plain.replace(secret, STARS)
    plain = redacted(plain)
    return plain, plain == said


def _secrets(place: Place) -> set[str]:
    """The secrets of a place, as they are written and as they are meant."""
    shown = redacted_options(place.options, place.format)
    found = {value for name, value in place.options if shown[name] == STARS}
    try:
        password = urlsplit(place.path or "").password
    except ValueError:
        password = None
    if password:
        found |= {password, unquote(password)}
    return {secret for secret in found if secret}
