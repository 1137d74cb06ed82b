"""Window semantics: pure functions from a specification and values to sets of rows.

    kind                        ids                 class
    Sliding, tumbling           integers            CF
    Cumulating                  integers            CF
    Partitioned                 (integer, values)   FCF
    Landmark                    integers            FCF
    Session                     (start, values)     FCA
    SlideByTuple                values of RATTR     FCA
    SlideByRowNumber            values of RATTR     FCA
    SlideByRank                 values of RATTR     FCA

    Band, TumblingBand          which pairs of rows may join

`window` says what every kind can answer. The class says what must be known besides a row to tell
which windows it belongs to; each includes the one above it, and it decides how a kind can be run:

    CF    context-free: specification and row are enough. No state is needed to number rows.
    FCF   forward-context-free: ids are known when the row comes, from rows before it (a count per
          partition), or have no upper end (landmark), so that they cannot be enumerated.
    FCA   forward-context-aware: which ids exist depends on rows to come, only the range they fall
          in is known.
Spec: window-queries 2.5.
"""

from penstock.windows.bands import Band, JoinBand, TumblingBand, sliding_band
from penstock.windows.cumulating import Cumulating
from penstock.windows.landmark import Landmark
from penstock.windows.partitioned import Partitioned
from penstock.windows.session import Session
from penstock.windows.slide_by_tuple import EndedByRows, SlideByRank, SlideByRowNumber, SlideByTuple
from penstock.windows.sliding import Sliding, ends_with, origin_for_aligned_starts, tumbling
from penstock.windows.tagged import Tagged
from penstock.windows.window import MOST_OPEN, Row, Unit, Window, format_length

__all__ = [
    "MOST_OPEN",
    "Band",
    "Cumulating",
    "EndedByRows",
    "JoinBand",
    "Landmark",
    "Partitioned",
    "Row",
    "Session",
    "SlideByRank",
    "SlideByRowNumber",
    "SlideByTuple",
    "Sliding",
    "Tagged",
    "TumblingBand",
    "Unit",
    "Window",
    "ends_with",
    "format_length",
    "origin_for_aligned_starts",
    "sliding_band",
    "tumbling",
]
