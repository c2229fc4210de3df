"""Health checks of running tasks, and the monitor that runs them. Used by the worker for every runtime."""
