"""Control characters of data and names never reach a terminal."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

import pytest

from penstock.cli.run import run
from penstock.errors import PenstockError
from penstock.local.engine import LocalEngine
from penstock.printable import printable, printable_cell

#: Sets the clipboard and the title, turns writing around, overwrites a line, ends one.
HOSTILE = "a\x1b]52;c;aGk=\x07\x1b]0;t\x07\u202eb\rc\x9b2Jd\u2028e"
#: The same in names; Python reads a carriage return in a file as the end of a line.
NAME = HOSTILE.replace("\r", "")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def test_control_characters_are_spelt_out_and_all_others_stay() -> None:
    for code in range(0x110000):
        shown = printable(chr(code))
        assert not CONTROL.search(shown)
        assert shown.isascii() or shown == chr(code)
        assert shown == chr(code) or eval(f'"{shown}"') == chr(code)
    assert printable("ä\t\n日本👍") == "ä\t\n日本👍"
    assert printable_cell("a\tb\n") == r"a\tb\n"


def script(folder: Path) -> str:
    rows = [{"k": HOSTILE, "v": 1, "ts": "2026-01-01"}, {"k": "b", "v": HOSTILE, "ts": HOSTILE}]
    lines = [*map(json.dumps, rows), f"no row {HOSTILE}"]
    (folder / "in").mkdir()
    (folder / "in" / "rows.json").write_text("\n".join(lines))
    (folder / "in" / f".hidden{HOSTILE}.json").write_text("{}")
    columns = "k STRING, v INT, ts TIMESTAMP"
    return (
        f"CREATE STREAM `s{NAME}` ({columns}) FROM json '{folder / 'in'}' TIMESTAMP BY ts;\n"
        f"CREATE QUERY `q{NAME}` AS SELECT k AS `c{NAME}` FROM `s{NAME}`;\n"
        f"CREATE QUERY shown INTO console AS SELECT k AS `c{NAME}` FROM `s{NAME}`;\n"
        f"SHOW QUERIES; SHOW STREAMS; DESCRIBE `s{NAME}`; EXPLAIN `q{NAME}`;\n"
        f"EXPLAIN LIVE `q{NAME}`;"
    )


def test_run_shows_no_control_characters_and_json_holds_the_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "queries.sql"
    file.write_text(script(tmp_path))
    run(file, local=True)
    out, err = capsys.readouterr()
    assert r"\x1b]52;c;aGk=" in out and "no row" in out
    assert not CONTROL.search(out + err)
    run(file, local=True, as_json=True)
    out, err = capsys.readouterr()
    [row] = json.loads(out)["queries"][f"q{NAME}"]["results"]
    assert row == {f"c{NAME}": HOSTILE}
    assert not CONTROL.search(out + err)  # JSON spells them out as well


def test_errors_logs_and_handles_show_no_control_characters(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine = LocalEngine()
    shown = [engine.sql(text) for text in script(tmp_path).split(";\n")]
    engine.finish()
    for text in (f"SELECT `{HOSTILE}` FROM x", f"SELECT '{HOSTILE}' + FROM x", HOSTILE):
        with pytest.raises(PenstockError) as raised:
            engine.sql(text)
        shown += [str(raised.value)]
    with caplog.at_level(logging.WARNING, logger="penstock"):
        logging.getLogger("penstock").warning("%s", HOSTILE)
    query = engine.queries[0]
    shown += [*caplog.messages, query.explain(), query.why(), engine.status(), query, engine]
    for each in (query, engine, engine.status()):
        shown.append(each._repr_html_())
    for each in shown:
        assert not CONTROL.search(str(each))
