"""Windows of Flink's in GROUP BY -> `window(…)`.

GROUP BY TUMBLE(ts, size)           GROUP BY window(ts, size)
GROUP BY HOP(ts, slide, size)       GROUP BY window(ts, size, slide)
GROUP BY SESSION(ts, gap)           GROUP BY session_window(ts, gap)
TUMBLE_START(…), HOP_ROWTIME(…)     window_start, window_end
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from penstock.errors import NotExecutable
from penstock.sql.bind.context import Context
from penstock.sql.bind.rewrite.text import Edit, before_from, edited, known, span

_KINDS = ("tumble", "hop", "session")
_ENDS = {
    f"{kind}_{end}": column
    for kind in _KINDS
    for end, column in (
        ("start", "window_start"),
        ("end", "window_end"),
        ("rowtime", "window_end"),
        ("proctime", "window_end"),
    )
}


def refuse_group_windows(select: exp.Select, context: Context) -> None:
    """Refuse what only Flink writes in this way, with how it is written here."""
    found = [
        node
        for tree in (*select.expressions, select.args.get("group"), select.args.get("having"))
        if tree is not None
        for node in tree.walk(prune=lambda n: isinstance(n, exp.Query))
        if isinstance(node, exp.Anonymous) and _is_of_flink(node, context)
    ]
    if not found:
        _refuse_selected_window(select, context)
        return
    first = next((node for node in found if node.name.lower() in _KINDS), found[0])
    raise NotExecutable(
        f"{first.name}(…) as a group or column cannot be run in this release",
        position=context.position(first),
        hint="write window(ts, size[, slide]) or session_window(ts, gap), and window_start and "
        "window_end for its ends",
        instead=known(_with_windows(found, context)),
    )


def _with_windows(calls: list[exp.Anonymous], context: Context) -> Iterator[str]:
    yield edited(context, [Edit(span(call), _instead(call, context)) for call in calls])


def _is_of_flink(node: exp.Anonymous, context: Context) -> bool:
    name = node.name.lower()
    return (name in _KINDS or name in _ENDS) and context.names.function(name) is None


def _instead(node: exp.Anonymous, context: Context) -> str:
    name = node.name.lower()
    if name in _ENDS:
        return _ENDS[name]
    time, *lengths = [edited(context, (), span(each)) for each in node.expressions] or ["ts"]
    if name == "session":
        return f"session_window({', '.join([time, *lengths])})"
    if name == "hop" and len(lengths) > 1:
        lengths[:2] = reversed(lengths[:2])
    return f"window({', '.join([time, *lengths])})"


def _refuse_selected_window(select: exp.Select, context: Context) -> None:
    """`SELECT window(ts, '1 minute'), …`: the ends of the window are columns."""
    calls = [
        item.unalias()
        for item in select.expressions
        if isinstance(item.unalias(), exp.Anonymous)
        and item.unalias().name.lower() in ("window", "session_window")
    ]
    if not calls or context.names.function(calls[0].name) is not None:
        return
    is_grouped = select.args.get("group") is not None
    raise NotExecutable(
        "a window is not a single value"
        + ("" if is_grouped else ", and makes groups only in GROUP BY"),
        position=context.position(calls[0]),
        hint="select window_start and window_end"
        + ("" if is_grouped else ", and group by the window"),
        instead=known(_with_ends(select, calls, context)),
    )


def _with_ends(select: exp.Select, calls: list[exp.Expr], context: Context) -> Iterator[str]:
    """The ends of the window instead of the window; grouped by it, if nothing is yet."""
    items = select.expressions
    edits = [Edit(span(i), "window_start, window_end") for i in items if i.unalias() in calls]
    if select.args.get("group") is not None:
        yield edited(context, edits)
        return
    others = [item.unalias() for item in items if item.unalias() not in calls]
    keys = [edited(context, (), span(each)) for each in (*others, calls[0])]
    edits.append(Edit(before_from(select, context), ", count(*) AS n"))
    yield f"{edited(context, edits)} GROUP BY {', '.join(keys)}"
