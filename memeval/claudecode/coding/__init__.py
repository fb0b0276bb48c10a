"""Coding tasks. The agent edits a checkout for each task, and tests decide whether the task is resolved.

- sample, sample_family: `sample-code`, five tiny repositories shipped with the platform
- swe_family: `swe-bench-cl`, `swe-contextbench` and `contextbench` over their loaders
- checkout, processes: git and subprocesses with a time limit
- unittests, harness, environments: hidden tests, and the environments that can run them
- learning, context: metrics of a whole cell: learning, and the code read by the agent
"""
