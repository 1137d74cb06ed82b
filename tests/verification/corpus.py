"""Every query of the specification, and of the query files, as files for `penstock verify`."""

from __future__ import annotations

from tests.sql.declared import LINKS, PACKETS
from tests.sql.test_specification_queries import QUERIES


def specification() -> str:
    """The streams that the queries of the specification read, and all of them."""
    promises = {"S0": "SLACK 5 SECONDS", "S1": "PUNCTUATED"}
    streams = [
        f"CREATE STREAM {name} ({PACKETS}) TIMESTAMP BY ts {promises.get(name, 'SLACK 20 SECONDS')}"
        for name in (*LINKS, *promises)
    ]
    queries = [f"CREATE QUERY {name.replace('-', '_')} AS {c.sql}" for name, c in QUERIES.items()]
    return ";\n".join([*streams, "SET n = 3 SECONDS", *queries])
