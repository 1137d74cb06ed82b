"""The pages of the project, and the blocks of code on them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.M | re.S)


@dataclass(frozen=True)
class Program:
    """A block of Python on a page."""

    page: str
    code: str

    @property
    def on_spark(self) -> bool:
        return "import Engine" in self.code

    def run(self) -> None:
        exec(compile(self.code, self.page, "exec"), {})


def programs() -> list[Program]:
    return [Program(page.name, block) for page in PAGES for block in blocks(page, "python")]
