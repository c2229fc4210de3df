"""Whether running tasks are well: the checks, and who looks regularly. Used by the worker for every runtime."""
