"""One memory on several machines of one user, through a git repository or a shared folder (docs/sync.md)."""
