"""Memory injection: governance at session start, relevant memories with each prompt, and results for tools."""
