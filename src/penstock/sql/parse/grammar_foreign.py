"""Statements of other systems that are read only to say what to write instead.

INSERT INTO sink SELECT …               CREATE QUERY sink_rows AS SELECT …
CREATE TABLE t AS SELECT …              CREATE QUERY t AS SELECT …
CREATE TABLE t (…) WITH (…)             CREATE STREAM t (…) FROM …
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NoReturn

from sqlglot.tokenizer_core import Token, TokenType

from penstock.sql.parse.grammar_look import LookParser

_PAIRS = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}
_CONNECTORS = {
    "kafka": ("kafka", "properties.bootstrap.servers", "topic"),
    "filesystem": ("parquet", "path", None),
}


class ForeignParser(LookParser):
    """Reads what other systems write."""

    def insert(self, start: Token) -> NoReturn:
        """`INSERT INTO sink SELECT …`, behind INSERT."""
        place = self.span_since(start)
        for word in ("INTO", "OVERWRITE", "TABLE"):
            self._match_text_seq(word)
        name = self.word("a name")
        behind = self._next.text.upper() if self._next else ""
        if self._match(TokenType.L_PAREN, advance=False) and behind != "SELECT":
            self._advance(self._closing(self._index) - self._index + 1)
        if self._curr and self._curr.text.upper() in ("SELECT", "WITH", "("):
            self.refuse(
                "INSERT cannot be run in this release: a query says itself where its results go",
                place,
                hint="declare the query, with INTO parquet 'path' in front of AS if results go to "
                f"files: CREATE QUERY {name}_rows AS {self._rest_of_statement()}",
            )
        self.refuse(
            "INSERT cannot be run in this release: rows come from a stream's source",
            place,
            hint=f"in Python, engine.push('{name}', rows) puts rows into a stream",
        )

    def refuse_foreign_table(self, start: Token) -> None:
        """Refuse `CREATE TABLE name AS SELECT` and `CREATE TABLE name (…) WITH (…)`."""
        if not self._curr or not self._next:
            return
        before = self._index
        name = self._curr.text if self._curr else ""
        self._advance()
        if self._match_text_seq("AS"):
            self.refuse(
                "CREATE TABLE … AS cannot be run in this release: a query goes on for ever",
                self.span_since(start),
                hint="declare a continuous query: "
                f"CREATE QUERY {name} AS {self._rest_of_statement()}",
            )
        if self._match(TokenType.L_PAREN, advance=False):
            closing = self._closing(self._index)
            columns = self._tokens[self._index + 1 : closing]
            self._advance(closing - self._index + 1)
            if self._match_text_seq("WITH") and self._match(TokenType.L_PAREN, advance=False):
                options = self._text_of(self._tokens[self._index : self._closing(self._index) + 1])
                self.refuse(
                    "CREATE TABLE … WITH cannot be run in this release",
                    self.span_since(start),
                    hint="declare a stream: "
                    f"CREATE STREAM {name} ({self._kept_columns(columns)}){_source(options)}",
                )
        self._retreat(before)

    def _closing(self, index: int) -> int:
        """Where the parenthesis closes that opens there; the last token if it never does."""
        depth = 0
        for place in range(index, len(self._tokens)):
            depth += _PAIRS.get(self._tokens[place].token_type, 0)
            if depth == 0:
                return place
        return len(self._tokens) - 1

    def _kept_columns(self, tokens: Sequence[Token]) -> str:
        """Columns without keys and metadata, times in our precision."""
        parts: list[list[Token]] = [[]]
        depth = 0
        for token in tokens:
            depth += _PAIRS.get(token.token_type, 0)
            if token.token_type == TokenType.COMMA and depth == 0:
                parts.append([])
            else:
                parts[-1].append(token)
        texts = [self._text_of(part) for part in parts if part]
        kept = [
            re.sub(r"TIMESTAMP(_LTZ)?\s*\(\d\)", "TIMESTAMP", text, flags=re.I)
            for text in texts
            if not re.match(r"(PRIMARY\s+KEY|CONSTRAINT)\b|.*\b(METADATA|PROCTIME)\b", text, re.I)
        ]
        return ", ".join(re.sub(r"\s+NOT\s+NULL\b", "", text, flags=re.I) for text in kept)

    def _rest_of_statement(self) -> str:
        """The statement from here on."""
        return self._text_of(self._tokens[self._index :])

    def _text_of(self, tokens: Sequence[Token]) -> str:
        return " ".join(self.sql[tokens[0].start : tokens[-1].end + 1].split())


def _source(options: str) -> str:
    """Where rows come from, as far as we have such a source; else they are pushed."""
    found = {key.lower(): value for key, value in re.findall(r"'([^']*)'\s*=\s*'([^']*)'", options)}
    form, place, topic = _CONNECTORS.get(found.get("connector", ""), ("", "", None))
    if not form or place not in found:
        return ""
    form = found.get("format", form) if form == "parquet" else form
    of = f" OPTIONS (topic '{found[topic]}')" if topic is not None and topic in found else ""
    return f" FROM {form} '{found[place]}'{of}"
