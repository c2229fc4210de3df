"""The audit log: its records, the chain of their hashes, and what REST shows of them."""
