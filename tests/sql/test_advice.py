"""Advice works: whoever follows the hint of an error gets an answer, or at least another error.

A hint that says what to write in which place is followed by the test itself. What else it says has
to be done by somebody: for such errors `golden/followed.txt` holds the text that whoever reads the
hint would write, under the title of the error, and that one must be accepted. And where a hint ends
with a whole query, that query is accepted as it stands.
"""

from __future__ import annotations

import re

import pytest

from penstock.errors import QueryError
from penstock.optimizer.optimize import optimize
from penstock.runtime.declarations import apply
from penstock.sql.bind.query import bind_query
from penstock.sql.parse.parser import parse
from penstock.sql.parse.statements import BareSelect
from tests.sql.declared import declared
from tests.sql.golden import FOLDER, Case, cases, outcome

ERRORS = cases("errors.txt")

#: A query at the end of a hint; one with … in it has to be completed by somebody.
QUERY = re.compile(r"\b(SELECT|CREATE (?:STREAM|QUERY|VIEW|TABLE)) [^…]*$")


def by_hand() -> dict[str, str]:
    blocks = (FOLDER / "followed.txt").read_text().strip().split("\n\n")
    found = {}
    for block in blocks:
        title, _, sql = block.partition("\n")
        found[title.removeprefix("# ")] = sql
    assert len(found) == len(blocks), "a title twice"
    return found


FOLLOWED = by_hand()


def error_of(sql: str) -> QueryError | None:
    catalog = declared()
    try:
        for statement in parse(sql, catalog.parameters):
            if isinstance(statement, BareSelect):
                plan = bind_query(statement.select, catalog)
                optimize({"q": plan}, catalog.settings.options)
            else:
                apply(statement, catalog)
    except QueryError as error:
        return error
    return None


def followed(error: QueryError) -> str | None:
    """The text with what the hint says done; None: it takes a human."""
    hint, place = error.hint or "", error.position
    assert place is not None
    before, there, after = (
        place.text[: place.start],
        place.text[place.start : place.end],
        place.text[place.end :],
    )
    if found := re.match(r"did you mean `(\w+)` instead of `(\w+)`\?", hint):
        head, _, tail = before.rpartition(found[2])
        return f"{head}{found[1]}{tail}{there}{after}"
    if found := re.match(r"did you mean `(\w+)`", hint):
        wrong = re.search(r"`([\w.]+)`", error.message)
        names = [wrong[1]] if wrong and wrong[1] in there else re.findall(r"[\w.]+", there)[:1]
        words = [name for name in names if name] or [there]
        return f"{before}{there.replace(words[0], found[1])}{after}"
    if hint.startswith("a statement ends with `;`"):
        return f"{before};{there}{after}"
    if found := re.match(r"write (ORDER BY \w+)", hint):
        return f"{before}{found[1]}{after}"
    if hint.startswith("leave it out") and len(there) < len(place.text):
        return f"{before}{after}"
    return None


def query_in(error: QueryError) -> str | None:
    """The query that a hint says to write."""
    found = QUERY.search(error.hint or "")
    return found[0] if found else None


@pytest.mark.parametrize("case", ERRORS, ids=lambda case: case.title)
def test_following_the_hint_leads_on(case: Case) -> None:
    error = error_of(case.sql)
    assert error is not None
    if case.title in FOLLOWED:
        next_ = outcome(FOLLOWED[case.title])
        assert FOLLOWED[case.title] != case.sql
        assert "^" not in next_, next_
        return
    text = followed(error)
    if text is None and query_in(error) is not None:
        return  # see below
    assert text is not None, f"say in golden/followed.txt what to write instead: {error}"
    assert text != case.sql
    then = error_of(text)
    assert then is None or then.message != error.message, text


@pytest.mark.parametrize("file", ["errors.txt", "joins.txt", "matches.txt", "explodes.txt"])
def test_a_query_in_a_hint_is_accepted(file: str) -> None:
    found = {}
    for case in cases(file):
        error = error_of(case.sql)
        query = query_in(error) if error is not None else None
        if query is not None:
            found[case.title] = error_of(query)
            assert query != case.sql
    assert {title: error for title, error in found.items() if error is not None} == {}
    if file == "errors.txt":
        assert len(found) > 50, "hints have lost their queries"


def test_everything_that_was_followed_by_hand_is_an_error_of_ours() -> None:
    assert {case.title for case in ERRORS} >= FOLLOWED.keys()
