"""Read result files into tables, comparisons, failures, exports and regressions.

    load_run(results, "RUN")             load a run by id, folder or result file → RunResult
    compare([run, …]) → comparison_table     wins, losses, ties, p-values with Holm's correction
    failures(run) → failures_table           wrong and failed questions, and whether their evidence was found
    export(run, "csv")                   text in one of FORMATS
    regress(run, load_baseline(results, "main")).exit_code     1 on a significant drop; set_baseline names one
    metrics_table, types_table, leaderboard, ledger_table      tables with .markdown() and .csv()

Functions raise RunError (see memeval.core.errors) if a file, run, metric or format does not exist.
"""

from memeval.report.compare import (
    Regression,
    RunComparison,
    baselines,
    compare,
    comparison_table,
    load_baseline,
    regress,
    set_baseline,
)
from memeval.report.export import FORMATS, export, ledger_table, result_files
from memeval.report.failures import FailedQuestion, failures, failures_table
from memeval.report.runs import RunResult, load_run, load_runs, parse_run, primary_metric, read_run, widest_metric
from memeval.report.table import Table
from memeval.report.tables import leaderboard, metrics_table, run_heading, types_table

__all__ = [
    "FORMATS",
    "FailedQuestion",
    "Regression",
    "RunComparison",
    "RunResult",
    "Table",
    "baselines",
    "compare",
    "comparison_table",
    "export",
    "failures",
    "failures_table",
    "leaderboard",
    "ledger_table",
    "load_baseline",
    "load_run",
    "load_runs",
    "metrics_table",
    "parse_run",
    "primary_metric",
    "read_run",
    "regress",
    "result_files",
    "run_heading",
    "set_baseline",
    "types_table",
    "widest_metric",
]
