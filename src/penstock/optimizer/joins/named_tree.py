"""Named trees: a shape of a join as a user writes it, `SET join_order = '((a, b), c, d)'`.

Names are those of the inputs, as FROM has them; one that is not a plain word stands in backquotes.
An input that is itself several things (a stream with a table, an outer join) goes by the name of
any of them, and is shown by the first. So what EXPLAIN shows can be set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from penstock.errors import BadSetting, NotExecutable
from penstock.model.types import quoted
from penstock.optimizer.joins.join_tree import Branch, JoinTree
from penstock.optimizer.joins.ordered_trees import Shape
from penstock.plan.nodes import Join

NamedTree: TypeAlias = "str | tuple[NamedTree, ...]"

_TOKEN = re.compile(r"\s*([(),]|`(?:[^`]|``)+`|[^\s(),]+)")


def named_tree(text: str) -> NamedTree:
    """A tree of names; BadSetting if the text is not one.

    >>> named_tree("((a, b), c)")
    (('a', 'b'), 'c')
    """
    reader = _Reader(text, _TOKEN.findall(text))
    tree = reader.tree()
    if reader.rest or isinstance(tree, str):
        raise reader.refused()
    names = [name.lower() for name in _names(tree)]
    again = next((name for name in names if names.count(name) > 1), None)
    if again is not None:
        raise BadSetting(
            f"`join_order` has `{again}` twice: {text}", hint="name every input of the join once"
        )
    return tree


@dataclass
class _Reader:
    """Reads a tree from words, brackets and commas."""

    text: str
    rest: list[str]

    def tree(self) -> NamedTree:
        word = self._next()
        if word in (")", ","):
            raise self.refused()
        if word != "(":
            return word[1:-1].replace("``", "`") if word[0] == word[-1] == "`" else word
        parts = [self.tree()]
        while (word := self._next()) == ",":
            parts.append(self.tree())
        if word != ")" or len(parts) < 2:
            raise self.refused()
        return tuple(parts)

    def _next(self) -> str:
        if not self.rest:
            raise self.refused()
        return self.rest.pop(0)

    def refused(self) -> BadSetting:
        return BadSetting(
            f"`join_order` cannot be `{self.text}`: it is not a tree of inputs",
            hint="write the inputs that meet in one operator in brackets, two or more, such as "
            "'((a, b), c)'; or auto, written",
        )


def tree_text(tree: NamedTree | JoinTree | Shape, names: Sequence[str] = ()) -> str:
    """A tree as text; where it is one of numbers, with the names of the inputs.

    >>> tree_text((("a", "b"), "c")), tree_text(Branch((Branch((2, 0)), 1)), "abc")
    ('((a, b), c)', '((c, a), b)')
    """
    if isinstance(tree, str):
        return quoted(tree)
    if isinstance(tree, int):
        return quoted(names[tree])
    parts = tree.inputs if isinstance(tree, Branch) else tree
    return f"({', '.join(tree_text(part, names) for part in parts)})"


def tree_names(join: Join) -> tuple[str, ...]:
    """What the inputs of a join are called in its trees."""
    return tuple(names[0] for names in join.names_within)


def is_over(tree: NamedTree, join: Join) -> bool:
    """Whether a tree names every input of a join, and nothing else."""
    numbers = [number_of(name, join) for name in _names(tree)]
    return len(numbers) == len(join.inputs) and {*numbers} == {*range(len(numbers))}


def numbered(tree: NamedTree, join: Join) -> JoinTree:
    """A tree over the numbers of a join's inputs."""
    if isinstance(tree, str):
        found = number_of(tree, join)
        assert found is not None
        return found
    return Branch(tuple(numbered(each, join) for each in tree))


def not_over(tree: NamedTree, join: Join) -> NotExecutable:
    """Why a tree is not one of the join's inputs."""
    named = {number_of(name, join): name for name in _names(tree)}
    unknown = [name for name in _names(tree) if number_of(name, join) is None]
    missing = [title for n, title in enumerate(join.titles) if n not in named]
    if unknown:
        reason = f"`{unknown[0]}` is not an input of the join of {_listed(join.titles)}"
    elif missing:
        reason = f"`{missing[0]}` is an input of the join, too"
    else:
        reason = "it names an input twice"
    return NotExecutable(
        f"cannot join in the order {tree_text(tree)}: {reason}",
        hint="SET join_order = auto, or name every input as FROM does",
    )


def number_of(name: str, join: Join) -> int | None:
    """The input that goes by a name."""
    found = enumerate(join.names_within)
    return next((n for n, own in found if name.lower() in map(str.lower, own)), None)


def _names(tree: NamedTree) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    else:
        for each in tree:
            yield from _names(each)


def _listed(titles: Sequence[str]) -> str:
    return ", ".join(f"`{title}`" for title in titles)
