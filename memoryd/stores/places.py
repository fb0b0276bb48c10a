"""Which rows of the vectors' matrix can pass a filter: kept for the next search, and brought up to date after a write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from memoryd.db import Database
from memoryd.stores.matrix import VectorMatrix

FILTERS_KEPT = 32
# Changed rows that are looked at for each filter; more of them, and the filter is asked anew.
MOST_CHANGED = 2_000


@dataclass(frozen=True, slots=True)
class _Filter:
    condition: str
    parameters: tuple[Any, ...]
    places: NDArray[np.intp]


class Places:
    """Places in one matrix by filter. The caller's lock guards it.

    Rows that are deleted stay, so whoever asks looks them up in the table.
    """

    def __init__(self, db: Database, table: str, passing: str, changed: str, row: str) -> None:
        """`passing` and `changed` are what SQL selects from, as in VectorSource; `row` is the alias of the vectors' rows."""
        self._db = db
        self._table = table
        self._row = row
        self._passing = f"SELECT {row}.rowid FROM {passing} WHERE"
        self._changed = f"SELECT {row}.rowid FROM {changed} WHERE {row}.version > ? AND"
        self._matrix: VectorMatrix | None = None
        self._version = -1
        self._known: dict[str, _Filter] = {}

    def of(self, matrix: VectorMatrix, condition: str, parameters: Sequence[Any]) -> NDArray[np.intp]:
        """Places of the rows whose memory (`m` in SQL) passes a condition, in growing order."""
        self._bring_up(matrix)
        key = orjson.dumps([condition, *parameters]).decode()
        if key not in self._known:
            if len(self._known) >= FILTERS_KEPT:
                self._known.clear()
            places = matrix.places(self._rows(f"{self._passing} {condition}", *parameters))
            self._known[key] = _Filter(condition, tuple(parameters), places)
        return self._known[key].places

    def _bring_up(self, matrix: VectorMatrix) -> None:
        """Take in what was written since; a matrix that was made anew has other places."""
        version, self._version = self._version, matrix.version
        if matrix is not self._matrix:
            self._matrix = matrix
            self._known.clear()
        elif version != matrix.version and self._known:
            changed = self._rows(f"SELECT rowid FROM {self._table} WHERE version > ? LIMIT ?", version, MOST_CHANGED + 1)
            if len(changed) > MOST_CHANGED:
                self._known.clear()
            else:
                self._known = {key: self._renewed(one, matrix, changed, version) for key, one in self._known.items()}

    def _renewed(self, one: _Filter, matrix: VectorMatrix, changed: Sequence[int], version: int) -> _Filter:
        if not changed:
            return one
        passing = self._rows(f"{self._changed} {one.condition}", version, *one.parameters)
        others = np.setdiff1d(one.places, matrix.places(changed), assume_unique=True)
        return _Filter(one.condition, one.parameters, np.union1d(others, matrix.places(passing)))

    def _rows(self, sql: str, *parameters: Any) -> list[int]:
        return [row for (row,) in self._db.execute(sql, parameters)]
