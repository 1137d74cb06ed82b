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
from penstock.io.sources.kafka_source import lost_messages
from penstock.io.sources.redis_source import PASS_OVER
from penstock.io.unreadable import WAY_OUT
from penstock.spark.state.spark_files import DAMAGED

#: What the last line of a Python worker's traceback looks like.
_PYTHON_REASON = re.compile(r"^(?:[\w.]+\.)?(?:\w*Error|\w*Exception|\w+): .+$", re.M)
#: An error of ours that was raised in a worker speaks for itself.
_OURS = re.compile(r"^penstock\.errors\.\w+: ")
#: How py4j hands on an exception: which call it was, then its class.
_CALL = re.compile(r"^An error occurred while calling ")
_JAVA_CLASS = re.compile(r"^: (?:\w+\.)+\w+: ")
#: What a Java exception was caused by, without its class.
_JAVA_CAUSE = re.compile(r"^Caused by: (?:[\w$]+\.)+[\w$]+: (.+)$", re.M)
#: How Spark's own messages begin.
_ERROR_CLASS = re.compile(r"^\s*\[[A-Z0-9_.]+\]\s*")

#: What Spark says of a Python that took too long to start.
_SLOW_WORKER = "Python worker failed to connect back"

_NO_ROOM = "No space left on device"

_WAYS_OUT = (
    (
        ": cannot write into ",
        "with a checkpoint, a restart repeats the batch, which is then written once",
    ),
    (
        ": cannot read from ",
        "with a checkpoint, a restart continues behind the last entry that was read",
    ),
    (" were removed before they were read", PASS_OVER),
    (
        _SLOW_WORKER,
        "the machine is too busy, or packages are not compiled: `python -m compileall` on "
        "site-packages makes their import faster. A restart continues where it stopped",
    ),
    (_NO_ROOM, "free some disk space; a restart continues where it stopped"),
    (
        "UnknownTopicOrPartition",
        "a topic of Kafka was deleted, or never made: make it, and start again",
    ),
    (
        "org.apache.kafka.common.errors.TimeoutException",
        "are Kafka's brokers running, and reachable from here? A restart continues behind the last "
        "message that was read",
    ),
    ("Connection refused", "is the master running, and reachable from here?"),
    (
        "Cannot run program",
        "executors start the driver's Python under the same path; set PYSPARK_PYTHON to one that "
        "all machines have: docs/cluster.md",
    ),
    (
        "PYTHON_VERSION_MISMATCH",
        "set PYSPARK_PYTHON to the same release of Python for driver and executors",
    ),
    ("No module named", "the executors need the packages of requirements.lock"),
    ("as parquet: ", WAY_OUT),
    ("as csv: ", WAY_OUT),
    ("as json: ", WAY_OUT),
    ("FAILED_READ_FILE", "fix or remove the file, and start again: none of its rows were counted"),
    ("Unable to infer schema", "declare the columns, or look at what the path holds"),
)


#: A file that Spark keeps in a checkpoint of ours.
_CHECKPOINT_FILE = re.compile(
    r"(/[^\s'\"`,:()\[\]]*/spark/(?:offsets|commits|sources|state|metadata)[^\s'\"`,:()\[\]]*)"
)
#: How Spark, Hadoop and RocksDB speak of files that are not what they were.
_DAMAGE = re.compile(
    r"Checksum|CHECKSUM|CANNOT_LOAD_STATE_STORE|FileNotFoundException|does not exist|doesn't exist|"
    r"not found|Incomplete log|malformed|Malformed|EOFException|UTFDataFormatException|"
    r"ZipException|JsonParseException|JsonMappingException|MismatchedInput|NumberFormatException|"
    r"MappingException|Corruption|orrupt|nexpected|null"
)
#: What Spark says of a checkpoint whose files are not what they were, if it names none of them.
_IS_DAMAGED = ("An error occurred during loading state", "is in an inconsistent state")
_NOT_DAMAGE = (_NO_ROOM, _SLOW_WORKER, "Permission denied")


#: What Spark raises. Where its Java is gone, py4j is refused the connection, and says no more.
FOREIGN = (PySparkException, Py4JError, ConnectionError)


@contextmanager
def translated() -> Iterator[None]:
    """Turn what Spark raises inside into a HostError."""
    try:
        yield
    except FOREIGN as cause:
        raise failure(cause) from cause


def failure(cause: BaseException) -> HostError:
    """Spark's failure in one sentence."""
    text = str(cause)
    reason = reason_in(text)
    if _NO_ROOM in text and _NO_ROOM not in reason:
        reason = f"{reason}: {_NO_ROOM}"  # which Spark only gives as the cause of a cause
    lost = lost_messages(text)
    if lost is not None:
        return lost
    broken = damaged_file_in(text)
    if broken is not None:
        return HostError(f"the checkpoint is damaged: `{broken}`: {reason}", hint=DAMAGED)
    is_damaged = any(sign in text for sign in _IS_DAMAGED)
    if is_damaged and not any(sign in text for sign in _NOT_DAMAGE):
        return HostError(f"the checkpoint is damaged: {reason}", hint=DAMAGED)
    hint = next((way for sign, way in _WAYS_OUT if sign in text), None)
    if isinstance(cause, Py4JNetworkError | ConnectionError):
        return HostError(
            "Spark's Java process is gone", hint="start again; results that were written stay"
        )
    if isinstance(cause, StreamingQueryException):
        return HostError(f"the query failed on Spark: {reason}", hint=hint)
    if isinstance(cause, Py4JJavaError):
        return HostError(f"Spark failed: {reason}", hint=hint)
    return HostError(reason, hint=hint)


def damaged_file_in(text: str) -> str | None:
    """The file of a checkpoint that Spark could not use, if that is what it speaks of.

    >>> damaged_file_in("ChecksumException: Checksum error: file:/c/spark/offsets/4 at 0 exp: 1")
    '/c/spark/offsets/4'
    >>> damaged_file_in("No space left on device: /c/spark/offsets/4")
    >>> damaged_file_in('File "/penstock/spark/sources/direct_files.py", line 1: not found')
    """
    # A traceback names files of ours, which lie in folders of the same names.
    files = (found.rstrip(".") for found in _CHECKPOINT_FILE.findall(text))
    found = next((file for file in files if not file.endswith(".py")), None)
    if found is None or any(sign in text for sign in _NOT_DAMAGE):
        return None
    return found if _DAMAGE.search(text) else None


def is_slow_worker(text: str) -> bool:
    """Whether a failure is that of a Python that took too long to start."""
    return _SLOW_WORKER in text


def reason_in(text: str) -> str:
    """The line that says what went wrong.

    >>> reason_in("Aborted\\nTraceback (most recent call last):\\n  File x\\nValueError: bad\\n")
    'ValueError: bad'
    >>> reason_in("[PATH_NOT_FOUND] Path does not exist: x. SQLSTATE: 42K03")
    'Path does not exist: x. SQLSTATE: 42K03'
    >>> reason_in("An error occurred while calling o1.load.\\n: java.io.IOException: bad\\n\\tat x")
    'bad'
    """
    if is_slow_worker(text):
        return "a Python worker took more than 10 s to start, which is Spark's limit"
    if "Traceback (most recent call last)" in text:
        last = text.split("Traceback (most recent call last)")[-1]
        reasons = _PYTHON_REASON.findall(last)
        if reasons and "Py4JJavaError" in reasons[0] and (causes := _JAVA_CAUSE.findall(last)):
            # Python only waited for it. Spark's own words name files and columns; the innermost
            # cause often does not.
            spoken = [cause for cause in causes if _ERROR_CLASS.match(cause)]
            return _ERROR_CLASS.sub("", (spoken or causes)[-1]).strip()
        if reasons:
            return _OURS.sub("", str(reasons[0]))
    lines = (line for line in text.splitlines() if not _CALL.match(line))
    first = _JAVA_CLASS.sub("", next((line for line in lines if line.strip()), "no reason given"))
    return _ERROR_CLASS.sub("", first).strip()
