"""The audit log: what each round records of the requests that changed something."""
