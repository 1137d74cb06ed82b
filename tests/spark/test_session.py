"""The package reaches the executors of a session, once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import uuid4

from penstock.spark.session import ship_package


def test_an_application_gets_the_package_once_however_many_engines_it_has() -> None:
    """Spark refuses a second archive with other content, such as byte code written meanwhile."""
    sent: list[str] = []
    name = f"test-{uuid4()}"
    context = SimpleNamespace(applicationId=name, addPyFile=sent.append)
    session: Any = SimpleNamespace(sparkContext=context)
    ship_package(session)
    ship_package(session)
    assert len(sent) == 1
    context.applicationId = f"another-{name}"
    ship_package(session)
    assert len(sent) == 2
