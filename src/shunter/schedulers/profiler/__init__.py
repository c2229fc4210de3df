"""The profiling scheduler of document 001: it measures how BatchJobs bear one another, and schedules by that."""
