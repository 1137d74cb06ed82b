"""When `penstock run` stops watching."""

from __future__ import annotations

from typing import Any

from penstock.cli.watch import watch


class Idle:
    """An engine whose files are all read."""

    queries: tuple[Any, ...] = ()

    def is_finite(self) -> bool:
        return True

    def is_idle(self) -> bool:
        return True

    def check(self) -> None:
        pass


def test_finite_inputs_are_over_when_all_is_read_unless_they_are_followed() -> None:
    engine: Any = Idle()
    assert watch(engine)
    assert not watch(engine, 0.01, follow=True)
