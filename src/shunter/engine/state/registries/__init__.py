"""Parts of the state that are no jobs, tasks or nodes. Each registry keeps one subject, with its own changes."""
