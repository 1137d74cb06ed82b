"""The options of a sink or a source by their names, which count in any case."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.errors import NotExecutable
from penstock.model.streams import Place


def options_of(place: Place, what: str, known: Sequence[str]) -> dict[str, str]:
    """Options of a place; others than the known ones are refused."""
    given = place.lowercase_options
    for name in given:
        if name not in known:
            raise NotExecutable(
                f"{what} has no option `{name}`", hint=f"its options are: {', '.join(known)}"
            )
    return given
