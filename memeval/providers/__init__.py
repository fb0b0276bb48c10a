"""Memory systems under test: hosted ones by YAML alone (`http`), local ones as classes."""
