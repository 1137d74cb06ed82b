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

`window` says what every kind can answer, `context` what the classes mean.
"""

from penstock.windows.bands import Band, JoinBand, TumblingBand, sliding_band
from penstock.windows.context import WindowContext
from penstock.windows.cumulating import Cumulating
from penstock.windows.landmark import Landmark
from penstock.windows.partitioned import Partitioned
from penstock.windows.session import Session
from penstock.windows.slide_by_tuple import EndedByRows, SlideByRank, SlideByRowNumber, SlideByTuple
from penstock.windows.sliding import Sliding, ends_with, origin_for_aligned_starts, tumbling
from penstock.windows.tagged import Tagged
from penstock.windows.window import Row, Unit, Wid, Window

__all__ = [
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
    "Wid",
    "Window",
    "WindowContext",
    "ends_with",
    "origin_for_aligned_starts",
    "sliding_band",
    "tumbling",
]
