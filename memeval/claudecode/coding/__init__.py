"""Coding tasks. The agent edits a checkout for each task, and tests decide whether the task is resolved.

- sample, sample_family: `sample-code`, five tiny repositories that come with the platform
- swe_family: `swe-bench-cl`, `swe-contextbench` and `contextbench` over their loaders
- checkout, processes: git and subprocesses with a time limit
- unittests, harness, environments: hidden tests, and where they can be run
- learning, context: metrics of a whole cell on learning, and on the code that the agent read
"""
