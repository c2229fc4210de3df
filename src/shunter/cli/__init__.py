"""The command line, built on the SDK. `main` is the entry; `commands` lists what there is; one module per family."""
