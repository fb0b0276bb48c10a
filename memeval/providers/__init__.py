"""Memory systems under test. Hosted systems need only a YAML file (`http`), and local systems are classes."""
