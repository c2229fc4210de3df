-- The audit log: the lines of each round that has records, chained by hash. Nobody writes it before all managers know it.
CREATE TABLE audit (
    first bigint NOT NULL CHECK (first > 0 AND first <= last),
    last  bigint PRIMARY KEY,
    at    float8 NOT NULL,
    body  bytea NOT NULL
);

CREATE TRIGGER audit_records_never_change BEFORE UPDATE ON audit FOR EACH ROW
EXECUTE FUNCTION refuse_change('a record of the audit log never changes');

-- A round with records. All arguments before `audit_first` are those of commit_round.
CREATE FUNCTION commit_audited_round(
    my_epoch bigint, my_version bigint, my_at float8, my_body bytea,
    ids bigint[], namespaces text[], names text[], runs bigint[], states text[], submitted float8[], ended float8[],
    labels text[], summaries bytea[],
    task_jobs bigint[], task_ends float8[], task_groups bigint[], task_firsts bigint[], task_counts bigint[],
    task_bodies bytea[],
    past_uids bigint[], past_namespaces text[], past_names text[], past_deleted float8[], past_bodies bytea[],
    audit_first bigint, audit_last bigint, audit_body bytea
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM commit_round(
        my_epoch, my_version, my_at, my_body, ids, namespaces, names, runs, states, submitted, ended, labels, summaries,
        task_jobs, task_ends, task_groups, task_firsts, task_counts, task_bodies,
        past_uids, past_namespaces, past_names, past_deleted, past_bodies
    );
    IF audit_first <= (SELECT coalesce(max(last), 0) FROM audit) THEN
        RAISE EXCEPTION 'record % of the audit log exists already', audit_first USING ERRCODE = 'SH002';
    END IF;
    INSERT INTO audit (first, last, at, body) VALUES (audit_first, audit_last, my_at, audit_body);
END $$;

CREATE FUNCTION drop_audit(my_epoch bigint, through bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM lead(my_epoch);
    DELETE FROM audit WHERE last <= through;
END $$;
