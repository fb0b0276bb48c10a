"""Shared foundations: types, errors, protocols, retries and budgets, files, and text overlap metrics."""
