"""What transports tell the audit log: where a request comes from, and what was refused."""
