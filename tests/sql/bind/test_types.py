"""Types as declarations write them."""

from __future__ import annotations

import pytest

from penstock.errors import TypeMismatch
from penstock.local.engine import LocalEngine


@pytest.mark.parametrize("of", ["DECIMAL(lately, 2)", "DECIMAL(2, x)", "ARRAY<DECIMAL(lately)>"])
def test_a_decimal_of_no_size_is_no_type(of: str) -> None:
    with pytest.raises(TypeMismatch, match="there is no type"):
        LocalEngine().sql(f"CREATE STREAM s (d {of})")
