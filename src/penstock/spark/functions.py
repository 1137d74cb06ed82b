"""Functions of Spark's, as queries may use them: what type an expression has, and whether it may be
computed twice.

Spark's analyser is asked, with columns of the types that the query has. A batch may be computed
again, after a crash or because a task was lost, and must come out the same; so what is not
deterministic is refused, and so are the present time and what is no function of a single row.

Functions that the user has registered (`spark.udf.register`, CREATE TEMPORARY FUNCTION) are in
their session, and queries run in another: they are handed over when one is missed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from penstock.errors import NotExecutable, QueryError, SyntaxFault, TypeMismatch, UnknownName
from penstock.model.host_functions import HostType
from penstock.model.schema import Column
from penstock.model.zones import UTC
from penstock.spark.types import ddl, our_type
from penstock.spark.zoned_sessions import session_in

_VALUE = "penstock_value"

#: Expressions of Spark's that are the present time, whatever function made them.
_MOMENTS = frozenset(["CurrentTimestamp", "CurrentDate", "CurrentTime", "Now", "LocalTimestamp"])
_AGAIN = (
    "a batch that is repeated must give the same results; compute it before rows come here, or "
    "derive it from columns: sha2(…), xxhash64(…)"
)
_MOMENT = "use the time of arrival: TIMESTAMP INTERNAL gives rows a column arrival_ts"


class SparkFunctions:
    """Asks the session in which queries run; `own` is the user's, whose functions it gets."""

    def __init__(
        self, session: Callable[[], SparkSession], own: Callable[[], SparkSession]
    ) -> None:
        self._session = session
        self._own = own
        self._known: dict[tuple[str, tuple[Column, ...], str], HostType] = {}

    def type_of(self, sql: str, columns: Sequence[Column], zone: str) -> HostType:
        key = sql, tuple(columns), zone
        if key not in self._known:
            self._known[key] = self._analysed(sql, columns, zone)
        return self._known[key]

    def _analysed(self, sql: str, columns: Sequence[Column], zone: str) -> HostType:
        session = session_in(zone, self._session())
        try:
            return _asked(session, sql, columns, zone)
        except AnalysisException as refused:
            if not _is_unknown(refused) or not hand_over(self._own(), session):
                raise _translated(refused, sql) from None
        try:
            return _asked(session, sql, columns, zone)
        except AnalysisException as refused:
            raise _translated(refused, sql) from None


def _asked(session: SparkSession, sql: str, columns: Sequence[Column], zone: str) -> HostType:
    nothing = session.range(0)
    given = nothing.select(*(F.lit(None).cast(ddl(c.type)).alias(c.name) for c in columns))
    computed = given.select(F.expr(sql).alias(_VALUE))
    if len(computed.columns) != 1 or computed.columns[0] != _VALUE:
        raise _not_of_a_row(sql)
    analysed = computed._jdf.queryExecution().analyzed()
    below = given._jdf.queryExecution().analyzed()
    check_plan(sql, analysed, below, zone)
    found = computed.schema[0].dataType
    return HostType(found.simpleString(), our_type(found))


def check_plan(sql: str, analysed: Any, below: Any, zone: str = UTC) -> None:
    """Refuse what is not one deterministic value of each row, by Spark's plan of it."""
    is_simple = analysed.nodeName() == "Project" and analysed.children().apply(0).equals(below)
    if not is_simple:
        raise _not_of_a_row(sql)
    for expression in _walk(analysed.expressions().apply(0)):
        name = expression.getClass().getSimpleName()
        if name in _MOMENTS:
            raise NotExecutable(
                f"Spark cannot compute `{sql}`: a continuous query has no single current time",
                hint=_MOMENT,
            )
        if name == "CurrentTimeZone" and zone != UTC:
            raise NotExecutable(
                f"Spark cannot compute `{sql}` in the time zone of this query: it looks for the "
                "session's own while it runs",
                hint=f"write the zone where it is needed, as text: '{zone}'",
            )
    if not analysed.deterministic():
        raise NotExecutable(
            f"Spark cannot compute `{sql}`: it would be something else each time it is computed",
            hint=_AGAIN,
        )


def _walk(expression: Any) -> Iterator[Any]:
    yield expression
    children = expression.children()
    for number in range(children.size()):
        yield from _walk(children.apply(number))


def _not_of_a_row(sql: str) -> QueryError:
    return NotExecutable(
        f"Spark cannot compute `{sql}` in front of the exchange: it is not one value of each row",
        hint="functions of single rows can be used; aggregates are those of docs/sql.md",
    )


def _is_unknown(refused: AnalysisException) -> bool:
    return refused.getCondition() in ("UNRESOLVED_ROUTINE", "ROUTINE_NOT_FOUND")


def _translated(refused: AnalysisException, sql: str) -> QueryError:
    """Spark's refusal as ours."""
    if _is_unknown(refused):
        return UnknownName(f"neither we nor Spark have a function of `{sql}`")
    kind = SyntaxFault if isinstance(refused, ParseException) else TypeMismatch
    return kind(f"Spark cannot compute `{sql}`: {_sentence(str(refused))}")


def _sentence(message: str) -> str:
    """What Spark complains of, on one line.

    >>> _sentence('[A.B] Cannot do "x".  SQLSTATE: 42K09; line 1 pos 0;\\n' + "'Project")
    'Cannot do "x".'
    """
    first = re.split(r"\s*SQLSTATE:|; line \d+|\n'", message)[0]
    return " ".join(re.sub(r"^\[[A-Z0-9_.]+\]\s*", "", first.strip()).split())


def hand_over(own: SparkSession, session: SparkSession) -> bool:
    """Give a session the temporary functions of another; whether there were any."""
    try:
        theirs = own._jsparkSession.sessionState().functionRegistry()
        ours = session._jsparkSession.sessionState().functionRegistry()
        listed = theirs.listFunction()
        found = False
        for number in range(listed.size()):
            name = listed.apply(number)
            if ours.functionExists(name):
                continue
            info, builder = theirs.lookupFunction(name), theirs.lookupFunctionBuilder(name)
            if info.isDefined() and builder.isDefined():
                ours.registerFunction(name, info.get(), builder.get())
                found = True
        return found
    except (Py4JError, PySparkException, AttributeError):
        return False  # another Spark, or a session that is gone
