"""Coding tasks: a checkout for each task, the agent edits it, tests decide.

- sample, sample_family: `sample-code`, five tiny repositories that come with the platform
- swe_family: `swe-bench-cl`, `swe-contextbench` and `contextbench` over their loaders
- checkout, processes: git and subprocesses with a time limit
- unittests, harness, environments: hidden tests, and where they can be run
- learning, context: what a whole cell says of learning, and of the code that was looked at
"""
