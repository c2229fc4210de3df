"""Registries: the parts of the state that are not jobs, tasks or nodes. Each holds one subject, with its own
changes."""
