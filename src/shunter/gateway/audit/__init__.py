"""The sub-gateway of the audit log."""
