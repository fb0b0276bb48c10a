"""memoryd beside other memory systems: the same turns and questions through their public interfaces, in one run."""
