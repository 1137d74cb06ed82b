"""The lock files fit what pyproject.toml declares, and name no machine and no registry."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

ROOT = Path(__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DECLARED = {
    "requirements.lock": [
        *PROJECT["project"]["dependencies"],
        *PROJECT["project"]["optional-dependencies"]["dev"],
    ],
    "requirements-java.lock": PROJECT["dependency-groups"]["java"],
}
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")


def locked(lock: str, python: str) -> dict[str, str]:
    """Name and version of everything the lock installs for this Python on Linux."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    pinned = map(Requirement, re.findall(r"^([a-z].*?)(?: \\)?$", text, re.MULTILINE))
    return {
        canonicalize_name(pin.name): str(pin.specifier).removeprefix("==")
        for pin in pinned
        if is_for(pin, python)
    }


def is_for(requirement: Requirement, python: str) -> bool:
    here = {
        "python_full_version": f"{python}.0",
        "python_version": python,
        "sys_platform": "linux",
        "platform_python_implementation": "CPython",
    }
    return requirement.marker is None or requirement.marker.evaluate(here)


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("lock", DECLARED)
def test_every_dependency_is_locked_to_a_version_that_fits(lock: str, python: str) -> None:
    found = locked(lock, python)
    for declared in map(Requirement, DECLARED[lock]):
        if not is_for(declared, python):
            continue
        name = canonicalize_name(declared.name)
        assert name in found, f"{name} is not in {lock}: see CONTRIBUTING.md, 'The lock files'"
        assert declared.specifier.contains(found[name]), f"{name} {found[name]} in {lock}"


def test_developers_have_every_extra() -> None:
    extras = dict(PROJECT["project"]["optional-dependencies"])
    dev = extras.pop("dev")
    assert {need for needs in extras.values() for need in needs} <= set(dev)


@pytest.mark.parametrize("lock", DECLARED)
def test_every_locked_package_has_hashes(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    entries = re.split(r"^(?=[a-z])", text, flags=re.MULTILINE)[1:]
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize("lock", DECLARED)
def test_a_lock_names_no_registry_and_no_path(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert re.findall(r"https?:|file:|--\S*index|--find-links|(?<= )/\S+", text) == []
