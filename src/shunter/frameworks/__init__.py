"""Apache Spark and Apache Flink on this machine: finds and installs them, and has the launchers that run as tasks and
start them. Uses only the standard library, because a launcher adds to the memory of every application."""
