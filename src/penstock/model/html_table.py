"""`html_table`: rows of a table as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from penstock.printable import printable


def html_table(title: str, rows: Iterable[Sequence[Any]]) -> str:
    """Rows below a title, the first one being the header; numbers to the right.

    >>> html_table("bids", [("item", "n"), ("<lamp>", 1200)])[:54]
    '<table><caption>bids</caption><thead><tr><th>item</th>'
    """
    head, *body = rows
    names = "".join(f"<th>{_text(name)}</th>" for name in head)
    lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in body)
    return (
        f"<table><caption>{_text(title)}</caption><thead><tr>{names}</tr></thead>"
        f"<tbody>{lines}</tbody></table>"
    )


def _cell(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        shown = f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
        return f'<td style="text-align: right">{shown}</td>'
    return f"<td>{'NULL' if value is None else _text(value)}</td>"


def _text(value: Any) -> str:
    return escape(printable(str(value)))
