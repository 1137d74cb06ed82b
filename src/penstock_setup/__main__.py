"""`python -I __main__.py ROOT HOME JAVA_ON_PATH`: make what is missing, one call at a time."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Isolated mode (-I) keeps the user's directory and PYTHONPATH out, and with them the way to us.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from penstock_setup import environment, java, pip
from penstock_setup.calibrate import calibrate
from penstock_setup.places import Places, SetupFailed
from penstock_setup.progress import Progress


def main(root: str, home: str, java_on_path: str) -> int:
    """Bring everything up to date; 0 if the environment is ready."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: takes pip along
    progress = Progress(sys.stderr)
    places = Places(Path(root), Path(home))
    try:
        places.home.mkdir(parents=True, exist_ok=True)
        with one_at_a_time(places, progress):
            set_up(places, java_on_path, progress)
    except SetupFailed as failure:
        progress.say(f"set-up failed: {failure}")
        return 1
    except OSError as failure:
        progress.say(f"set-up failed: {failure}")
        progress.say("PENSTOCK_HOME can name another directory to set up in")
        return 1
    except KeyboardInterrupt:
        progress.say("set-up interrupted; the next call begins it again")
        return 130
    return 0


def set_up(places: Places, java_on_path: str, progress: Progress) -> None:
    """Make what is missing. The lock may have been waited for, so look first."""
    asked = os.environ.get("PENSTOCK_PYTHON", "")
    if not environment.is_current(places, asked):
        environment.make(places, asked, progress)
        calibrate(places, progress)

    def fetch(directory: Path) -> None:
        command = environment.pip_command(places)
        pip.install(command, ["--target", str(directory)], places.java_lock, places.log, progress)

    java_home = os.environ.get("JAVA_HOME", "")
    if java_home == str(places.java):
        java_home = ""  # a call from inside a command of ours: that is our choice, not the user's
    here = java.Surroundings(java_home, java_on_path)
    java.settle(places, here, progress, fetch)


@contextmanager
def one_at_a_time(places: Places, progress: Progress) -> Iterator[None]:
    """Hold the lock. The kernel lets go of it however we end, so it is never stale."""
    with places.setup_lock.open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say("another call is setting up; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
