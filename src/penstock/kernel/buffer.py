"""Buffer: a FIFO of blocks and punctuation, with one cursor per reader.

A producer appends at the tail. Every reader has its own cursor; an item is kept until the slowest
cursor has passed it. A plain queue between two operators is a buffer with one cursor, and the
dummy buffers of a Fork are further cursors on the same buffer: rows are never copied.

How much waits for a reader is the difference of two counters, so asking costs nothing however long
the queue is.  Spec: execution-model 1, 3.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

from penstock.errors import PenstockBug
from penstock.kernel.block import Block, concat
from penstock.model.punctuation import Punctuation

Item: TypeAlias = Block | Punctuation


class Buffer:
    """Items between one producer and its readers."""

    def __init__(self) -> None:
        self._items: deque[Item] = deque()
        self._first = 0  # number of the item at the front; items are numbered from 0, forever
        self._cursors: list[Cursor] = []
        self._at_front = 0  # how many of them have not passed the first item
        self.rows_in = 0  # rows and punctuation appended so far …
        self.rows_before = 0  # … and of these, before it was refilled
        self._punctuation_in = 0
        #: Who looks at all that is appended, and keeps nothing of it from anybody.
        self.taps: list[Callable[[Item], None]] = []
        #: What is worth appending of a punctuation (None: nothing); unless set, all of it.
        self.describe: Callable[[Punctuation], Punctuation | None] = lambda punctuation: punctuation

    def batch(self, block: Block) -> None:
        """Append rows; an empty block says nothing and is not kept."""
        if len(block):
            self.rows_in += len(block)
            self._append(block)

    def punctuation(self, punctuation: Punctuation) -> None:
        """Append punctuation, as far as readers have a use for it."""
        described = self.describe(punctuation)
        if described is not None:
            self.append_as_is(described)

    def append_as_is(self, punctuation: Punctuation) -> None:
        """Append punctuation as it is."""
        self._punctuation_in += 1
        self._append(punctuation)

    def _append(self, item: Item) -> None:
        for tap in self.taps:
            tap(item)
        if self._cursors:
            self._items.append(item)
        else:
            self._first += 1  # nobody reads: gone at once

    def reader(self, name: str = "") -> Cursor:
        """A new cursor at the tail: it sees what comes from now on. Its place is saved by name."""
        cursor = Cursor(self, name)
        self._cursors.append(cursor)
        # It is behind nobody, so what is kept stays as it is.
        self._at_front += cursor.item == self._first
        return cursor

    def release(self, cursor: Cursor) -> None:
        """Forget a reader, and what was kept for it alone; it finds nothing any more."""
        self._cursors.remove(cursor)
        self._trim()
        cursor.start(Buffer())

    @property
    def empty(self) -> bool:
        """Whether every reader has read everything."""
        return not self._items

    @property
    def rows(self) -> int:
        """Rows kept, that is, not yet passed by the slowest reader."""
        return max((cursor.rows for cursor in self._cursors), default=0)

    @property
    def length(self) -> int:
        """Rows and punctuation kept."""
        return max((cursor.length for cursor in self._cursors), default=0)

    @property
    def items(self) -> list[Item]:
        """What is kept, oldest first."""
        return list(self._items)

    def places(self) -> dict[str, tuple[int, int]]:
        """Where each reader is: items passed since the front, and rows read of the next one."""
        return {cursor.name: (cursor.item - self._first, cursor.row) for cursor in self._cursors}

    def refill(self, items: list[Item], places: Mapping[str, Sequence[int]]) -> None:
        """Take over what another buffer kept; a reader that it did not have begins at the tail."""
        self._items, self._first = deque(items), 0
        self.rows_in, self._punctuation_in = _count(items)
        self.rows_before = self.rows_in
        for cursor in self._cursors:
            item, row = places.get(cursor.name, (len(items), 0))
            cursor.item, cursor.row = item, row
            passed_rows, cursor.punctuation_read = _count(items[:item])
            cursor.rows_read = cursor.rows_before = passed_rows + row
        self._trim()

    def _passed(self, item: int) -> None:
        """A reader has gone on from this item."""
        if item == self._first:
            # Of many readers only the last one looks where the others are.
            self._at_front -= 1
            if not self._at_front:
                self._trim()

    def _trim(self) -> None:
        tail = self._first + len(self._items)
        slowest = min((cursor.item for cursor in self._cursors), default=tail)
        while self._first < slowest:
            self._items.popleft()
            self._first += 1
        self._at_front = sum(cursor.item == self._first for cursor in self._cursors)


class Cursor:
    """One reader's place in a buffer: an item, and how many of its rows are already read."""

    def __init__(self, buffer: Buffer, name: str = "") -> None:
        self.name = name
        self.start(buffer)

    def start(self, buffer: Buffer) -> None:
        """Read at the tail of a buffer from now on."""
        self.buffer = buffer
        self.item = buffer._first + len(buffer._items)
        self.row = 0
        self.rows_read = self.rows_before = buffer.rows_in  # of all rows of the buffer
        self.punctuation_read = buffer._punctuation_in

    @property
    def empty(self) -> bool:
        buffer = self.buffer
        return self.item >= buffer._first + len(buffer._items)

    def peek(self) -> Item | None:
        """What is next, without taking it: the unread rest of a block, or a punctuation."""
        items, place = self.buffer._items, self.item - self.buffer._first
        if place >= len(items):
            return None
        item = items[place]
        return item.slice(self.row) if self.row and isinstance(item, Block) else item

    def unread(self) -> Iterator[Item]:
        """All items that are not taken yet."""
        first = self.peek()
        if first is not None:
            yield first
            yield from islice(self.buffer._items, self.item - self.buffer._first + 1, None)

    @property
    def rows(self) -> int:
        """Unread rows."""
        return self.buffer.rows_in - self.rows_read

    @property
    def length(self) -> int:
        """Unread rows and punctuation."""
        return self.rows + self.buffer._punctuation_in - self.punctuation_read

    def pass_by(self) -> None:
        """Leave out what is there, which is meant for other readers; nor does it count as read."""
        self.rows_before += self.rows
        while not self.empty:
            self.take()

    def take(self, limit: int | None = None) -> Item:
        """The next punctuation, or the next rows: at most `limit`, up to the next punctuation."""
        if self.empty:
            raise PenstockBug("nothing to take: the buffer is empty")
        items, base = self.buffer._items, self.buffer._first
        item = items[self.item - base]
        if isinstance(item, Punctuation):
            self.item += 1
            self.punctuation_read += 1
            self.buffer._passed(self.item - 1)
            return item
        taken: list[Block] = []
        count, before = 0, self.item
        while not self.empty and (limit is None or count < limit):
            item = items[self.item - base]
            if isinstance(item, Punctuation):
                break
            left = len(item) - self.row
            wanted = left if limit is None else min(left, limit - count)
            taken.append(item if wanted == len(item) else item.slice(self.row, wanted))
            count += wanted
            if wanted == left:
                self.item += 1
                self.row = 0
            else:
                self.row += wanted
        self.rows_read += count
        if self.item > before:
            self.buffer._passed(before)
        return concat(taken)


def _count(items: list[Item]) -> tuple[int, int]:
    """Rows and punctuation among the items."""
    blocks = [item for item in items if isinstance(item, Block)]
    return sum(map(len, blocks)), len(items) - len(blocks)
