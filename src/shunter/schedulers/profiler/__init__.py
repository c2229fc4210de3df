"""The profiling scheduler: measures how BatchJobs interfere with each other, and schedules by the results."""
