-- Finished jobs, their tasks, and what makes questions about them cheap.

CREATE TABLE jobs (
    id           INTEGER PRIMARY KEY,
    namespace    TEXT NOT NULL,
    name         TEXT NOT NULL,
    run          INTEGER NOT NULL,
    state        TEXT NOT NULL,
    submitted_at REAL NOT NULL,
    ended_at     REAL NOT NULL,
    labels       TEXT NOT NULL,
    summary      BLOB NOT NULL
);

-- Lists are filtered in an index alone and read a row only when it is shown. The name comes first because a name may
-- be asked for in all namespaces.
CREATE UNIQUE INDEX jobs_by_name ON jobs (name, namespace, run);
CREATE INDEX jobs_by_namespace ON jobs (namespace, id, state);
CREATE INDEX jobs_by_end ON jobs (ended_at, id, namespace, state);

-- Not WITHOUT ROWID: there a search reads the whole body of each row that it compares.
CREATE TABLE job_tasks (
    id    INTEGER PRIMARY KEY,
    job   INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    grp   INTEGER NOT NULL,
    first INTEGER NOT NULL,
    count INTEGER NOT NULL,
    body  BLOB NOT NULL,
    UNIQUE (job, grp, first)
);

-- Derived from jobs.labels by the triggers below.
CREATE TABLE job_labels (
    key   TEXT NOT NULL,
    value TEXT NOT NULL,
    job   INTEGER NOT NULL,
    PRIMARY KEY (key, value, job)
) WITHOUT ROWID;

-- How many finished jobs there are, so that a list's total needs no scan. Kept by the triggers below.
CREATE TABLE job_counts (
    namespace TEXT NOT NULL,
    state     TEXT NOT NULL,
    jobs      INTEGER NOT NULL CHECK (jobs >= 0),
    PRIMARY KEY (namespace, state)
) WITHOUT ROWID;

CREATE TRIGGER jobs_are_counted AFTER INSERT ON jobs BEGIN
    INSERT INTO job_counts (namespace, state, jobs) VALUES (NEW.namespace, NEW.state, 1)
    ON CONFLICT (namespace, state) DO UPDATE SET jobs = jobs + 1;
END;

CREATE TRIGGER jobs_are_uncounted AFTER DELETE ON jobs BEGIN
    UPDATE job_counts SET jobs = jobs - 1 WHERE namespace = OLD.namespace AND state = OLD.state;
END;

CREATE TRIGGER jobs_are_labelled AFTER INSERT ON jobs WHEN NEW.labels <> '{}' BEGIN
    INSERT INTO job_labels (key, value, job) SELECT key, value, NEW.id FROM json_each(NEW.labels);
END;

CREATE TRIGGER jobs_are_unlabelled AFTER DELETE ON jobs WHEN OLD.labels <> '{}' BEGIN
    DELETE FROM job_labels WHERE (key, value, job) IN (SELECT key, value, OLD.id FROM json_each(OLD.labels));
END;

CREATE TRIGGER finished_jobs_never_change BEFORE UPDATE ON jobs BEGIN
    SELECT RAISE(ABORT, 'a finished job never changes');
END;
