"""Spark's failures become ours: one sentence, the way out, and the cause attached."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import AnalysisException, StreamingQueryException

from penstock.errors import HostError, UnknownName
from penstock.spark.failures import failure, reason_in, translated

WORKER = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in main
    process()
  File "x.py", line 7, in process
    raise OSError(28, "No space left on device")
OSError: [Errno 28] No space left on device

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
SQLSTATE: XXKST"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (WORKER, "OSError: [Errno 28] No space left on device"),
        (
            "[PATH_NOT_FOUND] Path does not exist: x. SQLSTATE: 42K03\n;\n'Plan",
            "Path does not exist",
        ),
        ("\n\n  plain words \nmore", "plain words"),
        ("", "no reason given"),
        ("Traceback (most recent call last):\n  cut off", "Traceback (most recent call last):"),
    ],
)
def test_the_reason_is_the_line_that_says_what_went_wrong(text: str, reason: str) -> None:
    assert reason_in(text).startswith(reason)
    assert "\n" not in reason_in(text)


def test_the_last_of_nested_tracebacks_counts() -> None:
    inner = "Traceback (most recent call last):\n  a\nValueError: first\n"
    outer = (
        "Traceback (most recent call last):\n  b\npenstock.errors.HostError: second\n  way out\n"
    )
    assert reason_in(f"x\n{inner}\nDuring handling …\n{outer}") == "second"


JAVA = """Traceback (most recent call last):
  File "pipeline.py", line 84, in _hand_out
py4j.protocol.Py4JJavaError: An error occurred while calling o726.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:1)
{causes}
\tat java.base/java.lang.Thread.run(Thread.java:840)
"""
READING = (
    "Caused by: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Cannot read 3.parquet"
)
FOOTER = "Caused by: java.lang.RuntimeException: no magic number"


@pytest.mark.parametrize(
    ("causes", "reason"),
    [((READING, FOOTER), "Cannot read 3.parquet"), ((FOOTER,), "no magic number")],
)
def test_what_failed_in_java_while_python_waited_is_the_reason(
    causes: tuple[str, ...], reason: str
) -> None:
    assert reason_in(JAVA.format(causes="\n\tat x.Y.z(Y.scala:1)\n".join(causes))) == reason


def test_a_failed_query_says_why_and_what_to_do() -> None:
    found = failure(StreamingQueryException(WORKER))
    assert found.message == (
        "the query failed on Spark: OSError: [Errno 28] No space left on device"
    )
    assert found.hint is not None
    assert "free some" in found.hint


def test_a_java_process_that_is_gone_is_said_to_be() -> None:
    assert "Java process is gone" in failure(Py4JNetworkError("Error while sending")).message


@pytest.mark.parametrize("cause", [AnalysisException("[X] bad"), Py4JError("bad")])
def test_what_spark_raises_is_attached_as_the_cause(cause: Exception) -> None:
    with pytest.raises(HostError, match="bad") as caught, translated():
        raise cause
    assert caught.value.__cause__ is cause


@pytest.mark.parametrize("error", [UnknownName("no stream `x`"), KeyError("x")])
def test_other_errors_pass_as_they_are(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, translated():
        raise error
    assert caught.value is error


def test_state_that_cannot_be_loaded_is_a_damaged_checkpoint() -> None:
    said = str(failure(StreamingQueryException("An error occurred during loading state.")))
    assert "the checkpoint is damaged" in said
    assert "start over" in said
