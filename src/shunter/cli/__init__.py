"""The command line, built on the SDK. `main` is the entry point; `registry` lists the commands."""
