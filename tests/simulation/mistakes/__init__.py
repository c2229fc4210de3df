"""Mistakes, put into the engine on purpose: what each one patches, and what a checker must say of it.

Used by `test_checkers`, one file for each subject.
"""
