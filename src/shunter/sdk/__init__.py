"""The Python client: a sans-IO core (`core`, `calls`) and two transports that carry out its conversations."""
