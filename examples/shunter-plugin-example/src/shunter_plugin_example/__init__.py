"""A policy, a filter, a score, a health check and a runtime for Shunter, as small as they can be."""
