-- How the newest run of every name ended is read at each start: from the index alone, not from rows with their history.
CREATE INDEX jobs_by_name_and_state ON jobs (name, namespace, run, state);
