-- Drop finished jobs of these namespaces beyond a number, those that ended first before the rest. What is dropped of each
-- is what drop_jobs drops.
CREATE FUNCTION drop_jobs_of(my_epoch bigint, share text[], jobs_max bigint, whole_until float8, slice integer)
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
    SELECT coalesce(sum(jobs), 0) - jobs_max INTO surplus FROM job_counts WHERE namespace = ANY (share);
    IF surplus <= 0 THEN
        RETURN;
    END IF;
    SELECT array_agg(old.id), array_agg(old.ended_at) INTO gone, gone_ends FROM (
        SELECT id, ended_at FROM jobs WHERE namespace = ANY (share) ORDER BY ended_at, id LIMIT least(surplus, slice)
    ) AS old;
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
