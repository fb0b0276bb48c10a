"""What is read from result files: comparisons, failures, exports, regressions, tables."""
