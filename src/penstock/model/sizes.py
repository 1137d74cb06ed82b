"""Sizes of memory: text with a unit -> bytes, and back.

>>> bytes_of("1.5 GB"), size_text(1_610_612_736), size_text(300), size_text(1_043_000)
(1610612736, '1.5 GB', '300 bytes', '1,020 KB')
"""

from __future__ import annotations

import re

from penstock.model.number_text import number_text

UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)I?B\s*", re.IGNORECASE)


def bytes_of(text: str) -> int | None:
    """A number of bytes, at least one; None: the text is no size."""
    found = _SIZE.fullmatch(text)
    size = round(float(found[1]) * UNITS[f"{found[2].upper()}B"]) if found else 0
    return size or None


def size_text(size: float) -> str:
    """A number of bytes in the unit that makes it readable."""
    unit = next((u for u in ("TB", "GB", "MB", "KB") if abs(size) >= UNITS[u]), None)
    return f"{size:.0f} bytes" if unit is None else f"{number_text(size / UNITS[unit])} {unit}"
