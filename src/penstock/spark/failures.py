"""The border at which Spark's exceptions become ours.

Spark reports a failure as a chain of Java and Python exceptions with pages of stack. What a user
needs is the innermost reason; everything else stays attached as the cause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException, StreamingQueryException

from penstock.errors import HostError

#: What the last line of a Python worker's traceback looks like.
_PYTHON_REASON = re.compile(r"^(?:[\w.]+\.)?(?:\w*Error|\w*Exception|\w+): .+$", re.M)
#: How py4j hands on an exception: which call it was, then its class.
_CALL = re.compile(r"^An error occurred while calling ")
_JAVA_CLASS = re.compile(r"^: (?:\w+\.)+\w+: ")
#: How Spark's own messages begin.
_ERROR_CLASS = re.compile(r"^\s*\[[A-Z0-9_.]+\]\s*")

_WAYS_OUT = (
    ("No space left on device", "make room on the disk; a restart continues where it stopped"),
    ("Connection refused", "is the master running, and reachable from here?"),
    ("No module named", "the executors need the packages of requirements.lock"),
    ("Unable to infer schema", "declare the columns, or look at what the path holds"),
)


@contextmanager
def translated() -> Iterator[None]:
    """Turn what Spark raises inside into a HostError."""
    try:
        yield
    except (PySparkException, Py4JError) as cause:
        raise failure(cause) from cause


def failure(cause: BaseException) -> HostError:
    """Spark's failure in one sentence."""
    text = str(cause)
    reason = reason_in(text)
    hint = next((way for sign, way in _WAYS_OUT if sign in text), None)
    if isinstance(cause, Py4JNetworkError):
        return HostError(
            "Spark's Java process is gone", hint="start again; results that are out stay"
        )
    if isinstance(cause, StreamingQueryException):
        return HostError(f"the query failed on Spark: {reason}", hint=hint)
    if isinstance(cause, Py4JJavaError):
        return HostError(f"Spark failed: {reason}", hint=hint)
    return HostError(reason, hint=hint)


def reason_in(text: str) -> str:
    """The line that says what went wrong.

    >>> reason_in("Aborted\\nTraceback (most recent call last):\\n  File x\\nValueError: bad\\n")
    'ValueError: bad'
    >>> reason_in("[PATH_NOT_FOUND] Path does not exist: x. SQLSTATE: 42K03")
    'Path does not exist: x. SQLSTATE: 42K03'
    >>> reason_in("An error occurred while calling o1.load.\\n: java.io.IOException: bad\\n\\tat x")
    'bad'
    """
    if "Traceback (most recent call last)" in text:
        reasons = _PYTHON_REASON.findall(text.split("Traceback (most recent call last)")[-1])
        if reasons:
            return str(reasons[0])
    lines = (line for line in text.splitlines() if not _CALL.match(line))
    first = _JAVA_CLASS.sub("", next((line for line in lines if line.strip()), "no reason given"))
    return _ERROR_CLASS.sub("", first).strip()
