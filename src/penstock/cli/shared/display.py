"""Results of queries and what became of the rows of streams, as the command line shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.model.counted import counted
from penstock.model.slack import lateness_in_words, slack_offers, suggested_slack
from penstock.model.timestamps import bound_as_json
from penstock.printable import printable_cell

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from penstock.model.streams import Stream
    from penstock.runtime.counts import StreamCounts
    from penstock.runtime.query import Query
    from penstock.runtime.status import StreamStatus

#: Rows of a result that are shown; all of them are in a sink or in --json.
SHOWN = 20
#: Characters shown of a rejected row.
LONGEST = 200


def show_query(query: Query) -> None:
    """A query's results, or where they are."""
    earlier = since_the_beginning(query.rows, query.total_rows)
    print(f"{printable_cell(query.name)}: {counted(query.rows, 'row')}{earlier}")
    if query.sink is not None:
        print(f"  in {printable_cell(str(query.sink))}")
    else:
        results = in_order(query.results(partial=True))
        print(table(results.head(SHOWN)))
        if dropped := query.status.dropped:
            print(f"  {counted(dropped, 'older row')} dropped: INTO a file keeps all")
        if results.height > SHOWN:
            print(f"  … {counted(results.height - SHOWN, 'more row')}: INTO a file, or --json")
    print()


def in_order(results: pl.DataFrame) -> pl.DataFrame:
    """Results by the end of their window; those without one as they came."""
    if "window_end" not in results.columns:
        return results
    return results.sort("window_end", *(c for c in results.columns if c != "window_end"))


def table(rows: pl.DataFrame) -> str:
    """Rows in aligned columns; numbers to the right.

    >>> import polars as pl
    >>> print(table(pl.DataFrame({"item": ["lamp", None], "best": [42, 7]})))
      item   best
      lamp     42
      NULL      7
    """
    from penstock.io.results import readable

    names = list(map(printable_cell, rows.columns))
    texts = [[_text(value) for value in row] for row in readable(rows).rows()]
    widths = [max(map(len, column)) for column in zip(names, *texts, strict=True)]
    right = [dtype.is_numeric() for dtype in rows.dtypes]
    lines = []
    for row in (names, *texts):
        cells = (
            text.rjust(width) if is_number else text.ljust(width)
            for text, width, is_number in zip(row, widths, right, strict=True)
        )
        lines.append(f"  {'   '.join(cells)}".rstrip())
    return "\n".join(lines)


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    return f"{value:.6g}" if isinstance(value, float) else printable_cell(str(value))


def show_stream(stream: Stream, counts: StreamCounts) -> None:
    """How many rows of a stream went in, and why others did not."""
    late = counts.late - counts.passed
    kinds = (
        (late, "late"),
        (counts.malformed, "malformed"),
        (counts.ahead, "ahead"),
    )
    aside = [f"{n:,} {what}" for n, what in kinds if n]
    print(f"{printable_cell(stream.name)}: {counted(counts.rows, 'row')} in", end="")
    print(since_the_beginning(counts.rows, counts.total.rows), end="")
    print(f", {counts.passed:,} of them late" if counts.passed else "", end="")
    print(f", rejected: {', '.join(aside)}" if aside else "")
    if counts.late and counts.lateness:
        print(f"  late {lateness_in_words(stream, counts.lateness)}")
        came = counts.rows + counts.late - counts.passed
        rejected = counts.late - counts.passed - counts.closed
        for offer in slack_offers(stream, came, rejected, counts.late_by_slack)[:-1]:
            print(f"  {offer}")
    if counts.closed:
        print(closed_note(counts.closed))
    for reason, n in reasons_of(counts).items():
        print(f"  {n:,} × {printable_cell(reason)}")
    for sample in counts.samples:
        print(f"    {_short(sample['reason'])}: {_short(sample['row_text'])}")


def closed_note(rows: int) -> str:
    """What is said of rows that are late because an earlier run was finished."""
    return (
        f"  {counted(rows, 'row')} late for windows that an earlier run closed when it ended.\n  "
        "--keep-open leaves the last windows open for the next run, --follow keeps reading."
    )


def passed_over_note(names: list[str]) -> str:
    """What is said of files that are not read.

    >>> print(passed_over_note(["_a.csv (hidden)", "b.parquet (empty)"]))
      2 files not read: _a.csv (hidden), b.parquet (empty)
    """
    shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    return f"  {counted(len(names), 'file')} not read: {printable_cell(shown)}"


def unreadable_note(files: Mapping[str, str]) -> str:
    """What is said of files that are skipped because they cannot be read.

    >>> print(unreadable_note({"in/1.csv": "cannot read `in/1.csv` as csv: it is cut off"}))
      1 file skipped: cannot read `in/1.csv` as csv: it is cut off
    """
    shown = [_short(reason) for reason in list(files.values())[:3]]
    return "\n    ".join([f"  {counted(len(files), 'file')} skipped: {shown[0]}", *shown[1:]]) + (
        "\n    …" if len(files) > len(shown) else ""
    )


def reasons_of(counts: StreamCounts) -> dict[str, int]:
    """Malformed rows by reason, the most frequent first."""
    found = dict(sorted(counts.reasons.items(), key=lambda item: (-item[1], item[0])))
    rest = counts.malformed - sum(found.values())
    return {**found, "unknown: Spark only counted them": rest} if rest > 0 else found


def _short(text: str) -> str:
    return printable_cell(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")


def stream_summary(stream: Stream, status: StreamStatus) -> dict[str, Any]:
    """How far a stream has come, and what became of its rows."""
    counts = status.counts
    return {
        "bound": bound_as_json(status.bound),
        "last_arrival": status.last_arrival,
        "rows": counts.rows,
        "late": counts.late,
        "late_passed": counts.passed,
        "late_closed": counts.closed,
        "malformed": counts.malformed,
        "ahead": counts.ahead,
        "lateness": counts.lateness,
        "suggested_slack": suggested_slack(stream, counts.lateness) if counts.late else None,
        **({"late_by_pipeline": dict(each)} if len(each := counts.late_by_pipeline) > 1 else {}),
        "total": {
            "rows": counts.total.rows,
            "late": counts.total.late,
            "late_passed": counts.total.passed,
            "malformed": counts.total.malformed,
        },
        "rejected": {"reasons": reasons_of(counts), "samples": counts.samples},
        "rejected_kept": status.rejected_kept,
        "rejected_dropped": status.rejected_dropped,
        "unreadable": dict(status.unreadable),
    }


def since_the_beginning(now: int, total: int) -> str:
    """What earlier runs add to a count; nothing, if there were none.

    >>> since_the_beginning(10, 40)
    ' (40 since its checkpoint began)'
    """
    return "" if now == total else f" ({total:,} since its checkpoint began)"
