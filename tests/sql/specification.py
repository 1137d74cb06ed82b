"""The query texts of the specification, by the names it gives them."""

from __future__ import annotations

from tests.sql.golden import cases

QUERIES = {case.title: case for case in cases("specification.txt")}
