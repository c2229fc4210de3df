"""The Python client: a sans-IO core (`core`, `following`) and two transports that carry its conversations out."""
