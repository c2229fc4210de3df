-- Finished jobs, their tasks, and deleted Schedulings.
--
-- PostgreSQL checks uniqueness within a partition only. So a narrow table, not partitioned, says which jobs history has:
-- it carries the constraints, and what lists and counts filter by. What takes the space (summaries, labels, tasks) is in
-- tables partitioned by month, found through the narrow row's ended_at. Retention deletes narrow rows, and drops a month
-- as a whole once it has none. A wide row without a narrow one is invisible.

CREATE TABLE jobs (
    id        bigint PRIMARY KEY,
    namespace text COLLATE "C" NOT NULL,
    name      text COLLATE "C" NOT NULL,
    run       bigint NOT NULL,
    state     text COLLATE "C" NOT NULL,
    ended_at  float8 NOT NULL
);
-- The name comes first because a name may be asked for in all namespaces.
CREATE UNIQUE INDEX jobs_by_name ON jobs (name, namespace, run) INCLUDE (id, state);
CREATE INDEX jobs_by_namespace ON jobs (namespace, id);
CREATE INDEX jobs_by_end ON jobs (ended_at, id);

CREATE TRIGGER finished_jobs_never_change BEFORE UPDATE ON jobs FOR EACH ROW
EXECUTE FUNCTION refuse_change('a finished job never changes');

CREATE TABLE job_details (
    job          bigint NOT NULL,
    ended_at     float8 NOT NULL,
    submitted_at float8 NOT NULL,
    labels       text,  -- as JSON; NULL if there are none
    summary      bytea NOT NULL,
    PRIMARY KEY (job, ended_at)
) PARTITION BY RANGE (ended_at);

CREATE TABLE job_tasks (
    job      bigint NOT NULL,
    ended_at float8 NOT NULL,
    grp      bigint NOT NULL,
    first    bigint NOT NULL,
    count    bigint NOT NULL,
    body     bytea NOT NULL,
    PRIMARY KEY (job, grp, first, ended_at)
) PARTITION BY RANGE (ended_at);

-- Derived from the labels in job_details.
CREATE TABLE job_labels (
    key      text COLLATE "C" NOT NULL,
    value    text COLLATE "C" NOT NULL,
    job      bigint NOT NULL,
    ended_at float8 NOT NULL,
    PRIMARY KEY (key, value, job, ended_at)
) PARTITION BY RANGE (ended_at);

CREATE TABLE history_months (
    starts_at float8 PRIMARY KEY,
    ends_at   float8 NOT NULL UNIQUE
);

-- How many finished jobs there are, so that a list's total needs no scan. Counted once a commit, not row by row.
CREATE TABLE job_counts (
    namespace text COLLATE "C" NOT NULL,
    state     text COLLATE "C" NOT NULL,
    jobs      bigint NOT NULL CHECK (jobs >= 0),
    PRIMARY KEY (namespace, state)
) WITH (fillfactor = 50);

CREATE TABLE past_schedulings (
    uid        bigint PRIMARY KEY,
    namespace  text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    deleted_at float8 NOT NULL,
    body       bytea NOT NULL
);
CREATE INDEX past_schedulings_by_name ON past_schedulings (name, namespace, uid);
CREATE INDEX past_schedulings_by_end ON past_schedulings (deleted_at, uid);

-- ---- months ----

CREATE FUNCTION month_start(moment float8) RETURNS float8 LANGUAGE sql STABLE AS $$
    SELECT extract(epoch FROM date_trunc('month', to_timestamp(moment) AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')::float8
$$;

-- Make the partitions of these moments where they are missing. Another transaction may be making the same.
CREATE FUNCTION add_months(moments float8[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    month float8;
    following float8;
    parent text;
BEGIN
    FOR month IN
        SELECT DISTINCT month_start(moment) FROM unnest(moments) AS moment
        WHERE NOT EXISTS (SELECT FROM history_months WHERE starts_at <= moment AND moment < ends_at) ORDER BY 1
    LOOP
        PERFORM pg_advisory_xact_lock(1397247566, 'history_months'::regclass::oid::integer);
        CONTINUE WHEN EXISTS (SELECT FROM history_months WHERE starts_at = month);
        following := month_start(month + 32 * 86400);
        INSERT INTO history_months (starts_at, ends_at) VALUES (month, following);
        FOREACH parent IN ARRAY ARRAY['job_details', 'job_tasks', 'job_labels'] LOOP
            -- Made apart and then attached, which waits neither for readers nor for commits.
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', partition_name(parent, month), parent);
            EXECUTE format(
                'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                parent, partition_name(parent, month), month, following
            );
        END LOOP;
    END LOOP;
END $$;

CREATE FUNCTION partition_name(parent text, month float8) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT parent || '_' || to_char(to_timestamp(month) AT TIME ZONE 'UTC', 'YYYY_MM')
$$;

-- Drop the months before this moment that have no jobs any more; returns how many. Dropping waits for readers of these
-- tables, and commits wait behind it: so it gives up soon, and the next purge tries again.
CREATE FUNCTION drop_months(my_epoch bigint, until float8) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    month record;
    parent text;
    dropped bigint := 0;
BEGIN
    PERFORM lead(my_epoch);
    PERFORM set_config('lock_timeout', '250ms', true);
    PERFORM pg_advisory_xact_lock(1397247566, 'history_months'::regclass::oid::integer);
    FOR month IN SELECT * FROM history_months WHERE ends_at <= until ORDER BY starts_at LOOP
        CONTINUE WHEN EXISTS (SELECT FROM jobs WHERE ended_at >= month.starts_at AND ended_at < month.ends_at);
        FOREACH parent IN ARRAY ARRAY['job_details', 'job_tasks', 'job_labels'] LOOP
            EXECUTE format('LOCK TABLE %I', partition_name(parent, month.starts_at));
        END LOOP;
        -- Once more, because a commit that was in flight may have added a job.
        CONTINUE WHEN EXISTS (SELECT FROM jobs WHERE ended_at >= month.starts_at AND ended_at < month.ends_at);
        FOREACH parent IN ARRAY ARRAY['job_details', 'job_tasks', 'job_labels'] LOOP
            EXECUTE format('DROP TABLE %I', partition_name(parent, month.starts_at));
        END LOOP;
        DELETE FROM history_months WHERE starts_at = month.starts_at;
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END $$;

-- ---- a commit ----

-- One call is one transaction and one round trip. The arrays are the columns of the rows to insert, NULL if there are
-- none (`labels` also if no job has any). It is a function, because the fence's lock must be taken before the epoch is read (see `lead`), and because
-- several statements in one round trip would otherwise need a client that pipelines.
CREATE FUNCTION commit_round(
    my_epoch bigint, my_version bigint, my_at float8, my_body bytea,
    ids bigint[], namespaces text[], names text[], runs bigint[], states text[], submitted float8[], ended float8[],
    labels text[], summaries bytea[],
    task_jobs bigint[], task_ends float8[], task_groups bigint[], task_firsts bigint[], task_counts bigint[],
    task_bodies bytea[],
    past_uids bigint[], past_namespaces text[], past_names text[], past_deleted float8[], past_bodies bytea[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    last_version bigint;
    first_end float8;
    last_end float8;
BEGIN
    PERFORM lead(my_epoch);
    SELECT version INTO last_version FROM log_end;
    IF my_version <> last_version + 1 THEN
        RAISE EXCEPTION 'version % does not follow %', my_version, last_version USING ERRCODE = 'SH002';
    END IF;
    INSERT INTO rounds (version, epoch, at, body) VALUES (my_version, my_epoch, my_at, my_body);
    IF ids IS NOT NULL THEN
        SELECT min(moment), max(moment) INTO first_end, last_end FROM unnest(ended) AS moment;
        IF NOT EXISTS (SELECT FROM history_months WHERE starts_at <= first_end AND last_end < ends_at) THEN
            PERFORM add_months(ended);
        END IF;
        INSERT INTO jobs (id, namespace, name, run, state, ended_at)
        SELECT * FROM unnest(ids, namespaces, names, runs, states, ended);
        INSERT INTO job_details (job, ended_at, submitted_at, labels, summary)
        SELECT * FROM unnest(ids, ended, submitted, labels, summaries);
        IF labels IS NOT NULL THEN
            INSERT INTO job_labels (job, ended_at, key, value)
            SELECT job.id, job.ended_at, label.key, label.value
            FROM unnest(ids, ended, labels) AS job (id, ended_at, labels), json_each_text(job.labels::json) AS label
            WHERE job.labels IS NOT NULL;
        END IF;
        -- In one order everywhere, so that no two transactions wait for each other.
        INSERT INTO job_counts AS known (namespace, state, jobs)
        SELECT job.namespace, job.state, count(*) FROM unnest(namespaces, states) AS job (namespace, state)
        GROUP BY 1, 2 ORDER BY 1, 2
        ON CONFLICT (namespace, state) DO UPDATE SET jobs = known.jobs + excluded.jobs;
    END IF;
    IF task_jobs IS NOT NULL THEN
        INSERT INTO job_tasks (job, ended_at, grp, first, count, body)
        SELECT * FROM unnest(task_jobs, task_ends, task_groups, task_firsts, task_counts, task_bodies);
    END IF;
    IF past_uids IS NOT NULL THEN
        INSERT INTO past_schedulings (uid, namespace, name, deleted_at, body)
        SELECT * FROM unnest(past_uids, past_namespaces, past_names, past_deleted, past_bodies);
    END IF;
    -- A hint for other managers that a round is there. They find it without, only later.
    PERFORM pg_notify('shunter_' || 'leadership'::regclass::oid, my_version::text);
END $$;

-- ---- retention of history ----

-- When the first job ended that retention keeps; NULL if it keeps none.
CREATE FUNCTION first_kept_end(jobs_max bigint, oldest float8) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    surplus bigint;
    found float8;
BEGIN
    SELECT greatest(0, coalesce(sum(jobs), 0) - jobs_max) INTO surplus FROM job_counts;
    SELECT ended_at INTO found FROM jobs ORDER BY ended_at, id OFFSET surplus LIMIT 1;
    IF found <= oldest THEN
        SELECT min(ended_at) INTO found FROM jobs WHERE ended_at > oldest;
    END IF;
    RETURN found;
END $$;

-- Drop the jobs that ended first, at most `slice` of them, and return them. Wide rows of months that are dropped as a
-- whole, those before `whole_until`, are left for drop_months.
CREATE FUNCTION drop_jobs(my_epoch bigint, jobs_max bigint, oldest float8, whole_until float8, slice integer)
RETURNS TABLE (namespace text, name text, run bigint, id bigint, state text, is_newest boolean)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    surplus bigint;
    gone bigint[];
    gone_ends float8[];
    keys text[];
    label_values text[];
    label_jobs bigint[];
    label_ends float8[];
BEGIN
    PERFORM lead(my_epoch);
    SELECT coalesce(sum(jobs), 0) - jobs_max INTO surplus FROM job_counts;
    SELECT array_agg(old.id), array_agg(old.ended_at) INTO gone, gone_ends FROM (
        SELECT id, ended_at, row_number() OVER (ORDER BY ended_at, id) AS number
        FROM (SELECT id, ended_at FROM jobs ORDER BY ended_at, id LIMIT slice) AS first
    ) AS old WHERE old.number <= surplus OR old.ended_at <= oldest;
    IF gone IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
        SELECT job.namespace, job.name, job.run, job.id, job.state, NOT EXISTS (
            SELECT FROM jobs AS newer
            WHERE newer.name = job.name AND newer.namespace = job.namespace AND newer.run > job.run
        )
        FROM jobs AS job WHERE job.id = ANY (gone);
    PERFORM FROM job_counts AS counted WHERE (counted.namespace, counted.state) IN (
        SELECT job.namespace, job.state FROM jobs AS job WHERE job.id = ANY (gone)
    ) ORDER BY counted.namespace, counted.state FOR UPDATE;
    WITH deleted AS (DELETE FROM jobs AS job WHERE job.id = ANY (gone) RETURNING job.namespace, job.state),
    counts AS (SELECT deleted.namespace, deleted.state, count(*) AS jobs FROM deleted GROUP BY 1, 2)
    UPDATE job_counts AS counted SET jobs = counted.jobs - counts.jobs
    FROM counts WHERE counted.namespace = counts.namespace AND counted.state = counts.state;
    WITH wide AS (
        SELECT job, ended_at FROM unnest(gone, gone_ends) AS wide (job, ended_at) WHERE ended_at >= whole_until
    ), deleted AS (
        DELETE FROM job_details AS detail USING wide
        WHERE detail.job = wide.job AND detail.ended_at = wide.ended_at
        RETURNING detail.job, detail.ended_at, detail.labels
    ), tasks AS (
        DELETE FROM job_tasks AS task USING wide WHERE task.job = wide.job AND task.ended_at = wide.ended_at
    )
    SELECT array_agg(label.key), array_agg(label.value), array_agg(deleted.job), array_agg(deleted.ended_at)
    INTO keys, label_values, label_jobs, label_ends
    FROM deleted, json_each_text(deleted.labels::json) AS label;
    -- Of one list, so that the server looks each label up by the whole key.
    DELETE FROM job_labels AS old
    USING unnest(keys, label_values, label_jobs, label_ends) AS label (key, value, job, ended_at)
    WHERE old.key = label.key AND old.value = label.value AND old.job = label.job AND old.ended_at = label.ended_at;
END $$;

CREATE FUNCTION drop_past(my_epoch bigint, past_max bigint, oldest float8, slice integer) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    dropped bigint;
BEGIN
    PERFORM lead(my_epoch);
    DELETE FROM past_schedulings WHERE uid IN (
        SELECT uid FROM past_schedulings WHERE deleted_at <= oldest OR uid IN (
            SELECT uid FROM past_schedulings ORDER BY uid DESC OFFSET past_max
        ) LIMIT slice
    );
    GET DIAGNOSTICS dropped = ROW_COUNT;
    RETURN dropped;
END $$;
