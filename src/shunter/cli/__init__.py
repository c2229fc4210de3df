"""The command line, built on the SDK. `main` is the entry, `registry` lists the commands, `commands` implements them."""
