"""A policy, a filter and a score for Shunter, as small as they can be."""
