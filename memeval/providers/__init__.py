"""Memory systems under test. Hosted systems only need a YAML file (`http`). Local systems are classes."""
