"""The engine that performs runs: settings, plan, phases, checkpoints, progress, merging and results."""
