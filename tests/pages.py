"""The pages of the project, and the blocks of code on them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from penstock.cli.app import app

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

#: The only command that is run as a user does: in a process of its own, which starts Spark.
WHOLE = "./penstock run examples/talkers.sql"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.M | re.S)


@dataclass(frozen=True)
class Command:
    """A `$ command` of a console block, with the output shown below it."""

    text: str
    output: str

    @property
    def arguments(self) -> list[str]:
        program, *arguments = self.text.split()
        assert program == "./penstock"
        return arguments

    @property
    def on_spark(self) -> bool:
        return self.arguments[0] == "run" and "--local" not in self.arguments

    def check(self, code: int, out: str, err: str) -> None:
        # What a run says while it works is for the eye; what it says when it fails is the point.
        said = out + (err if code else "")
        assert said.rstrip() == self.output.rstrip()

    def run_here(self) -> None:
        """In this process, which has imported everything; it must be in the project's folder."""
        done = CliRunner().invoke(app, self.arguments)
        self.check(done.exit_code, done.stdout, done.stderr)


def commands() -> list[Command]:
    found = []
    for page in PAGES:
        for block in blocks(page, "console"):
            for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
                text, _, output = part.partition("\n")
                found.append(Command(text, output))
    return found


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
