"""Sequences in FROM.

    FROM SEQ(cases AS c, products AS p) MODE RECENT PARTITION BY line WITHIN 5 SECONDS

The clauses behind the steps may come in any order, each once.
"""

from __future__ import annotations

from typing import Any

from sqlglot.tokenizer_core import TokenType

from penstock.model.schema import suggest
from penstock.model.sequences import SequenceMode
from penstock.sql.parse.grammar_match import MatchParser
from penstock.sql.parse.positions import cover
from penstock.sql.parse.syntax import Relation, StreamSequence

SEQUENCE = "SEQ"
_WRITTEN = "it is written SEQ(a, b, …) [MODE RECENT] [PARTITION BY column] [WITHIN 5 SECONDS]"


class SequenceParser(MatchParser):
    """Reads SEQ and what stands behind it."""

    def relation(self, nested: bool = False) -> Relation:
        """One input of FROM."""
        raise NotImplementedError

    def sequence(self) -> StreamSequence:
        """`SEQ(…)` with its clauses; the name is the current word."""
        start = self._curr
        self._advance(2)
        steps = [self.relation(nested=True)]
        while self._match(TokenType.COMMA):
            steps.append(self.relation(nested=True))
        self._close()
        if len(steps) < 2:
            self.refuse("a sequence has two steps or more", self.span_since(start), hint=_WRITTEN)
        given: dict[str, Any] = {}
        while (name := self._clause()) is not None:
            if name in given:
                self.refuse(f"{name.upper()} is there twice", self._prev, hint=_WRITTEN)
            given[name] = self._given(name)
        node = StreamSequence(
            expressions=steps,
            mode=given.get("mode", SequenceMode.UNRESTRICTED),
            partition=given.get("partition", ()),
            within=given.get("within"),
        )
        cover(node, self.span_since(start))
        return node

    def _clause(self) -> str | None:
        """The clause that follows, read as far as its own words."""
        if self._match(TokenType.PARTITION_BY):
            return "partition"
        for name in ("mode", "within"):
            if self._match_text_seq(name.upper()):
                return name
        return None

    def _given(self, name: str) -> Any:
        if name == "within":
            return self.length()
        if name == "partition":
            return self._attributes()
        modes = {mode.name: mode for mode in SequenceMode}
        word = self._curr.text.upper()
        if word not in modes:
            self.refuse(f"no mode `{self._curr.text}`", hint=suggest(word, modes))
        self._advance()
        return modes[word]
