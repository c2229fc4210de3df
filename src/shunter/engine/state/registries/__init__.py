"""Parts of the state that are no jobs, tasks or nodes. Each book keeps one subject, with its own changes."""
