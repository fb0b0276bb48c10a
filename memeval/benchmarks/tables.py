"""Rows of tables: CSV, and Parquet, the form in which the hub keeps some data sets. The only importer of pyarrow."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from memeval.benchmarks.fields import MISSING, Field
from memeval.benchmarks.reading import open_data
from memeval.core.errors import DataError, DependencyError

_LONGEST_CELL = 1 << 28


def csv_records(path: Path) -> Iterator[Field]:
    """The rows of a CSV file with a header (.csv or .csv.gz), numbered from 1. Raises DataError."""
    csv.field_size_limit(_LONGEST_CELL)
    with open_data(path) as file:
        reader = csv.DictReader(io.TextIOWrapper(file, encoding="utf-8-sig", newline=""))
        try:
            for number, row in enumerate(reader, start=1):
                named = {key: MISSING if value is None else value for key, value in row.items() if key}
                yield Field(named, str(path), str(number))
        except (csv.Error, UnicodeDecodeError, EOFError, OSError) as error:
            raise DataError(f"{path}: line {reader.line_num}: no valid CSV: {error}.", fix="Download the file again.") from error


def parquet_records(path: Path) -> Iterator[Field]:
    """The rows, a few at a time, numbered from 1. Raises DependencyError without pyarrow, DataError for a broken file."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DependencyError(
            f"{path} is a Parquet file, which needs pyarrow.", fix="pip install pyarrow, or convert the file to .jsonl."
        ) from None
    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=16):
                for row in batch.to_pylist():
                    number += 1
                    yield Field(row, str(path), str(number))
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path}: row {number + 1} can't be read: {error}.", fix="Download the file again.") from error
