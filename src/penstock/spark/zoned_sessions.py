"""Spark's functions in the time zone of a query.

Spark puts the zone of a session into expressions when it analyses them, and there they stay. Our
queries run in a session whose zone is UTC, several of them in one DataFrame. So what Spark computes
for a query that was declared in another zone is analysed in a session of that zone, and taken back.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from pyspark import RDD
from pyspark.sql import DataFrame, SparkSession

from penstock.model.zones import UTC

_ZONE = "spark.sql.session.timeZone"
_LOCK = Lock()
_SESSIONS: WeakKeyDictionary[SparkSession, dict[str, SparkSession]] = WeakKeyDictionary()


def session_in(zone: str, session: SparkSession) -> SparkSession:
    """A session like this one, in another time zone; always the same one."""
    if zone == UTC:
        return session
    with _LOCK:
        known = _SESSIONS.setdefault(session, {})
        if zone not in known:
            known[zone] = _like(session)
            known[zone].conf.set(_ZONE, zone)
        return known[zone]


def _like(session: SparkSession) -> SparkSession:
    """A session with the same settings and functions."""
    # PySpark gives `rdd.toDF()` to the session that was made last; that is the user's to use.
    before = RDD.__dict__.get("toDF")
    found = SparkSession(session.sparkContext, session._jsparkSession.cloneSession())
    if before is not None:
        RDD.toDF = before  # type: ignore[method-assign]
    return found


def analysed_in(zone: str, frame: DataFrame, change: Callable[[DataFrame], DataFrame]) -> DataFrame:
    """What a change makes of a DataFrame in a time zone, in the frame's own session."""
    own = frame.sparkSession
    if zone == UTC:
        return change(frame)
    other = session_in(zone, own)
    return _moved(change(_moved(frame, other)), own)


def _moved(frame: DataFrame, session: SparkSession) -> DataFrame:
    """The plan of a DataFrame, as analysed, in another session."""
    jvm: Any = session._jvm
    rows = jvm.org.apache.spark.sql.classic.Dataset.ofRows
    return DataFrame(rows(session._jsparkSession, frame._jdf.queryExecution().analyzed()), session)
