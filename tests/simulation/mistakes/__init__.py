"""Deliberate mistakes in the engine: what each one patches, the violation that a checker must report, and a seed whose
world shows it.

Used by `test_checkers`, one file for each subject."""
