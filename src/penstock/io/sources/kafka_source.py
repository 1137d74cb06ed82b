"""FROM kafka 'host:port': topics of JSON or CSV, read by Spark's connector.

    OPTIONS (topic 'bids')          the topic, or several: 'bids, asks'
    subscribePattern 'bids-.*'      instead: every topic of such a name, also later ones
    lines 'csv'                     how values are written, unless as JSON objects
    startingOffsets 'latest'        where a new checkpoint begins, unless with the first message
    maxOffsetsPerTrigger '100000'   messages of a micro-batch, at the most
    kafka.…                         options of the client (Java's); kafka.sasl.username and
                                    kafka.sasl.password as in INTO kafka

and all others that the connector has; it is not asked to do anything but what it does by itself.
Without a path, options reach Spark as they are, and the columns are the connector's.

Offsets of partitions are logged before a batch reads them, so a batch that is repeated has the same
messages. What the connector says when they are gone is translated here (`lost_messages`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from penstock.errors import HostError, NotExecutable
from penstock.io.address import plain_cause
from penstock.io.kafka_address import CLIENT, brokers_of, check_topic
from penstock.io.sources.source_kind import LINES, SourceKind
from penstock.model.streams import Stream

_WHAT = "FROM kafka"
#: Which topics are read; the last three are Spark's.
_WHICH = ("topic", "subscribe", "subscribepattern", "assign")
_BROKERS = "kafka.bootstrap.servers"
#: How librdkafka is told who we are, and Java's client.
_USER, _PASSWORD = f"{CLIENT}sasl.username", f"{CLIENT}sasl.password"
_JAAS = f"{CLIENT}sasl.jaas.config"
#: What holds unless the stream says otherwise: all that is there, not all of it at once.
_USUAL = {LINES: "json", "startingOffsets": "earliest", "maxOffsetsPerTrigger": "1000000"}
#: How brokers are asked before a query starts: once, and so many milliseconds are waited for them.
_PROBE = {
    "fetchOffset.numRetries": "1",
    f"{CLIENT}default.api.timeout.ms": "20000",
    f"{CLIENT}request.timeout.ms": "20000",
}

#: Options that only a stream has.
_FOR_STREAMS = (
    *(LINES, "startingoffsets", "maxoffsetspertrigger", "minoffsetspertrigger", "maxtriggerdelay"),
    *("startingtimestamp", "startingoffsetsbytimestamp", "startingoffsetsbytimestampstrategy"),
)

_LOST = re.compile(
    r"not available in Kafka any more;.*?Reason:\s*(.+?)"
    r"(?:\.?\s*(?:with consumer group|SQLSTATE|\n\s*at |\n===|\Z))",
    re.DOTALL,
)
_WAY_ON = (
    "what is gone cannot be read any more. With the option failOnDataLoss 'false' of the stream "
    "the same checkpoint goes on with the oldest messages that are there. Have the topic keep them "
    "for longer than a query may stand still (retention.ms)"
)


class KafkaSource(SourceKind):
    """Topics, by the names of brokers; without a path, by the connector's own options."""

    package = "org.apache.spark:spark-sql-kafka-0-10_2.13"

    def spark_stream(self, stream: Stream) -> Stream:
        origin = stream.origin
        if origin.path is None:
            return stream
        given = origin.lowercase_options
        which = [name for name in _WHICH if name in given]
        if len(which) != 1:
            raise NotExecutable(
                f"stream `{stream.name}`: {_WHAT} "
                + (f"takes one of {', '.join(which)}" if which else "needs the name of a topic"),
                hint="OPTIONS (topic 'name'), or subscribePattern 'a regular expression'",
            )
        if _BROKERS in given:
            raise NotExecutable(
                f"stream `{stream.name}`: brokers stand after {_WHAT} and in `{_BROKERS}`",
                hint="leave the option out",
            )
        options = {name: value for name, value in origin.options if name.lower() != "topic"}
        options |= {name: value for name, value in _USUAL.items() if name.lower() not in given}
        if "topic" in given:
            names = [check_topic(each.strip(), _WHAT) for each in given["topic"].split(",")]
            options["subscribe"] = ",".join(names)
        options[_BROKERS] = brokers_of(origin, _WHAT)
        if (login := _login(given)) is not None:
            options = {n: v for n, v in options.items() if n.lower() not in (_USER, _PASSWORD)}
            options[_JAAS] = login
        return replace(stream, origin=replace(origin, path=None, options=tuple(options.items())))

    def probe_options(self, stream: Stream) -> Mapping[str, str] | None:
        if stream.origin.path is None:
            return None
        given = stream.origin.lowercase_options
        options = self.spark_stream(stream).origin.options
        probe = {name: value for name, value in options if name.lower() not in _FOR_STREAMS}
        return probe | {name: value for name, value in _PROBE.items() if name.lower() not in given}

    def explain_failure(self, stream: Stream, text: str) -> HostError | None:
        given, brokers = stream.origin.lowercase_options, stream.origin.path
        if "UnknownTopicOrPartition" in text:
            topics = given.get("topic") or given.get("subscribe") or given.get("assign")
            first = str(topics).split(",")[0].strip()
            return HostError(
                f"stream `{stream.name}`: kafka `{brokers}` has no topic `{topics}`",
                hint=f"create it: kafka-topics.sh --bootstrap-server {brokers} --create --topic "
                f"{first}; or read topics that come later by subscribePattern '{first}.*'",
            )
        causes = re.findall(r"org\.apache\.kafka\.common\.[\w.$]+: ([^\n]+)", text)
        if not causes:
            return None
        said, _ = plain_cause(Exception(causes[-1]), stream.origin)
        return HostError(
            f"stream `{stream.name}`: cannot read from kafka `{brokers}`: {said}",
            hint="is a broker running there, and are the options kafka.… for security right?",
        )


def _login(given: Mapping[str, str]) -> str | None:
    """A user and a password as Java's client takes them; None: there are none to translate."""
    user, password = given.get(_USER), given.get(_PASSWORD)
    if _JAAS in given or user is None or password is None:
        return None
    scram = given.get(f"{CLIENT}sasl.mechanism", "").upper().startswith("SCRAM")
    module = "scram.ScramLoginModule" if scram else "plain.PlainLoginModule"
    name, secret = (re.sub(r'(["\\])', r"\\\1", each) for each in (user, password))
    return (
        f'org.apache.kafka.common.security.{module} required username="{name}" password="{secret}";'
    )


def lost_messages(text: str) -> HostError | None:
    """What a query failed with that was to read messages which are gone; None: something else.

    >>> print(lost_messages("not available in Kafka any more; Reason: Partitions Set(a-0, a-1) "
    ...     "have been deleted. SQLSTATE: XXKST").message)
    Kafka has lost messages that were not read yet: partitions a-0, a-1 have been deleted
    """
    found = _LOST.search(text)
    if found is None:
        return None
    said = " ".join(found[1].split())
    if gone := re.search(r"offset \[(\d+), (\d+)\) for topic partition (.+)-(\d+)$", said):
        first, end, topic, partition = gone.groups()
        what = f"topic `{topic}`, partition {partition}: of the offsets {first} to {int(end) - 1}"
        what += " that were to be read, some or all have been deleted"
    elif again := re.search(r"Partition (.+)-(\d+) offset was changed from (\d+) to (\d+)", said):
        topic, partition, before, now = again.groups()
        what = f"topic `{topic}`, partition {partition}: it was read up to offset {before} and "
        what += f"ends at {now} now, so it was deleted and made again"
    else:
        said = re.sub(r"Set\(([^)]*)\)", r"\1", said)
        what = said[:1].lower() + said[1:]
    return HostError(f"Kafka has lost messages that were not read yet: {what}", hint=_WAY_ON)
