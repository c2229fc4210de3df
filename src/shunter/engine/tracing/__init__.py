"""Spans of what rounds do, for jobs that have a trace."""
