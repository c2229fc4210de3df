"""Shunter."""
