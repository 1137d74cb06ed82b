"""Kafka topics as places: what source and sink have in common.

    … kafka 'host:9092, other:9092' OPTIONS (topic 'bids', kafka.security.protocol 'SSL')

The path names brokers to begin with. Options that begin with `kafka.` are those of the client.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from penstock.errors import NotExecutable
from penstock.model.streams import Place

#: How options of the client begin.
CLIENT = "kafka."

_BROKERS = re.compile(r"\s*(?:[\w.-]+|\[[0-9a-fA-F:.]+\]):\d{1,5}\s*")
_TOPIC = re.compile(r"[\w.-]{1,249}")


def brokers_of(place: Place, what: str) -> str:
    """The brokers as clients take them; `what` is INTO kafka, or FROM."""
    if place.path is None:
        raise NotExecutable(
            f"{what} needs the address of a broker", hint=f"{what} 'host:9092' OPTIONS (topic 'x')"
        )
    brokers = place.path.split(",")
    if not all(map(_BROKERS.fullmatch, brokers)):
        # Not shown: what is written like an address elsewhere may hold a password.
        raise NotExecutable(
            f"what stands after {what} is not a list of brokers",
            hint=f"{what} 'host:9092', or 'one:9092,two:9092'; a user and a password are options: "
            "kafka.sasl.username, kafka.sasl.password",
        )
    return ",".join(broker.strip() for broker in brokers)


def kafka_options(place: Place, what: str, known: Sequence[str]) -> dict[str, str]:
    """Options that are not the client's, by their names in lower case; others are refused."""
    given = {n.lower(): v for n, v in place.options if not n.lower().startswith(CLIENT)}
    for name in given:
        if name not in known:
            raise NotExecutable(
                f"{what} has no option `{name}`",
                hint=f"its options are: {', '.join(known)}; and kafka.… for those of the client",
            )
    return given


def client_options(place: Place) -> dict[str, str]:
    """Options of the client, without what they begin with."""
    return {n[len(CLIENT) :]: v for n, v in place.options if n.lower().startswith(CLIENT)}


def check_topic(name: str | None, what: str) -> str:
    """The name of one topic; refused if there is none."""
    if name is None:
        raise NotExecutable(
            f"{what} needs the name of a topic", hint=f"{what} '…' OPTIONS (topic 'name')"
        )
    if not _TOPIC.fullmatch(name) or name in (".", ".."):
        raise NotExecutable(
            f"{what}: `{name}` cannot be the name of a topic",
            hint="it has letters, digits, `.`, `_` and `-`, at most 249",
        )
    return name
