"""One engine for every run: settings, plan, phases, checkpoint, progress, merge and result."""
