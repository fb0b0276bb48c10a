"""`make demo`: three sample sessions are remembered, and questions about them are answered."""
