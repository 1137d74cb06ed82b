"""Where things are: the project's own files, and what set-up makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class SetupFailed(Exception):
    """Set-up cannot go on. The message says why and what to do, for a person at a terminal."""


@dataclass(frozen=True)
class Places:
    """The paths that the docstring of this package draws."""

    root: Path
    home: Path

    @property
    def lock(self) -> Path:
        return self.root / "requirements.lock"

    @property
    def java_lock(self) -> Path:
        return self.root / "requirements-java.lock"

    @property
    def env(self) -> Path:
        return self.home / "env"

    @property
    def env_python(self) -> Path:
        return self.env / "bin" / "python"

    @property
    def env_stamp(self) -> Path:
        return self.env / "requirements.lock"

    @property
    def made_with(self) -> Path:
        return self.env / "made-with"

    @property
    def java(self) -> Path:
        return self.home / "java"

    @property
    def java_stamp(self) -> Path:
        return self.java / "requirements-java.lock"

    @property
    def java_choice(self) -> Path:
        return self.home / "java.choice"

    @property
    def java_classes(self) -> Path:
        return self.home / "java-classes"

    @property
    def setup_lock(self) -> Path:
        return self.home / "setup.lock"

    @property
    def log(self) -> Path:
        return self.home / "setup.log"
