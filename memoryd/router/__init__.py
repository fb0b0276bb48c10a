"""Router."""
