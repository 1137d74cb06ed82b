"""Golden files: texts of SQL, each with what becomes of it.

    # a title
    SELECT len FROM M
    ---
    Project len
      Source M (by ts, ordered)

Cases are parted by empty lines. `PENSTOCK_REWRITE=1 pytest tests/sql` writes the answers anew; the
diff is what the reviewer reads.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from penstock.catalog.catalog import Catalog
from penstock.errors import QueryError
from penstock.plan.explain import explain
from penstock.runtime.declarations import apply
from penstock.sql.bind.query import bind_query
from penstock.sql.parse.parser import parse
from penstock.sql.parse.statements import BareSelect
from tests.sql.declared import declared

FOLDER = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class Case:
    file: str
    title: str
    sql: str
    expected: str


def cases(file: str) -> list[Case]:
    """The cases of a golden file."""
    found = []
    for block in (FOLDER / file).read_text().strip().split("\n\n"):
        head, _, expected = block.partition("\n---")
        title, _, sql = head.partition("\n")
        found.append(Case(file, title.removeprefix("# "), sql, expected.strip("\n")))
    return found


def outcome(sql: str) -> str:
    """What becomes of a text: its plans and their columns, or its error."""
    catalog = declared()
    try:
        return "\n".join(_outcome_of(sql, catalog))
    except QueryError as error:
        assert error.position is not None, error
        return f"{type(error).__name__}: {error}"


def _outcome_of(sql: str, catalog: Catalog) -> list[str]:
    lines = []
    for statement in parse(sql, catalog.parameters):
        if isinstance(statement, BareSelect):
            plan = bind_query(statement.select, catalog)
            lines += [explain(plan), f"=> {plan.schema}"]
        else:
            apply(statement, catalog)
    return lines


def compared(case: Case) -> tuple[str, str]:
    """What became of the case, and what should; when rewriting, both are the new answer."""
    found = outcome(case.sql)
    if os.environ.get("PENSTOCK_REWRITE"):
        _rewrite(case, found)
        return found, found
    return found, case.expected


def _rewrite(case: Case, found: str) -> None:
    blocks = [
        Case(c.file, c.title, c.sql, found) if (c.title, c.sql) == (case.title, case.sql) else c
        for c in cases(case.file)
    ]
    texts = (f"# {c.title}\n{c.sql}\n---\n{c.expected}" for c in blocks)
    (FOLDER / case.file).write_text("\n\n".join(texts) + "\n")
