"""The engine of all runs, with settings, plan, phases, checkpoints, progress, merging and results."""
