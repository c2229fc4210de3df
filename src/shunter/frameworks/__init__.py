"""Apache Spark and Apache Flink on this machine: where they are, how they are installed, and the launchers that run as
tasks and start them. Of the standard library alone: a launcher is part of every application's memory."""
