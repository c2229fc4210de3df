"""Handlers and routes about who did what."""
