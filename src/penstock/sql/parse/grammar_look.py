"""Statements by which users look: SHOW and DESCRIBE.

SHOW QUERIES | STREAMS | TABLES | VIEWS | FUNCTIONS | SETTINGS
DESCRIBE | DESC name
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token

from penstock.model.schema import suggest
from penstock.sql.parse.grammar_setting import SettingParser
from penstock.sql.parse.statements import LISTED, DescribeStatement, ShowStatement

_KINDS = ("STREAM", "TABLE", "VIEW", "QUERY")


class LookParser(SettingParser):
    """Reads what is to be shown."""

    def show(self, start: Token) -> ShowStatement:
        for what in LISTED:
            if self._match_text_seq(what.upper()):
                return ShowStatement(self.position_since(start), what)
        words = [what.upper() for what in LISTED]
        self.refuse(
            f"expected {', '.join(words[:-1])} or {words[-1]} after SHOW, not {self.found()}",
            hint=suggest(self._curr.text.upper() if self._curr else "", words),
        )

    def describe(self, start: Token) -> DescribeStatement:
        place = self._curr
        name = self.word("the name of a stream, table, view or query")
        if name.upper() in _KINDS and self._curr:
            self.refuse(
                f"unexpected {self.found()}",
                hint=f"a name says what it is: write DESCRIBE {self._curr.text}",
            )
        return DescribeStatement(self.position_since(start), name, self.position_since(place))
