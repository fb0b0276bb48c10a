"""Compare memoryd with other memory systems on the same turns and questions, through their public interfaces, in one run."""
