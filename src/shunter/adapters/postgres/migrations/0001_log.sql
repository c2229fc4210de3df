-- The epoch that leads, the log of committed rounds, and the snapshot.

-- The server on which the last epoch began is recorded, because a server that lost commits in a fail-over looks intact.
CREATE TABLE leadership (
    one               boolean PRIMARY KEY DEFAULT true CHECK (one),
    epoch             bigint NOT NULL DEFAULT 0,
    term              bigint NOT NULL DEFAULT 0,
    system_identifier bigint,
    timeline          bigint
);
INSERT INTO leadership DEFAULT VALUES;

CREATE TABLE rounds (
    version bigint PRIMARY KEY CHECK (version > 0),
    epoch   bigint NOT NULL,
    at      float8 NOT NULL,
    body    bytea NOT NULL
);
-- Compressing a body would cost the server more than writing it.
ALTER TABLE rounds ALTER COLUMN body SET STORAGE EXTERNAL;

-- A body is saved in parts, and `save` says which parts count.
CREATE TABLE snapshot (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    version bigint NOT NULL CHECK (version >= 0),
    save    bigint NOT NULL
);

CREATE TABLE snapshot_parts (
    save bigint NOT NULL,
    part integer NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (save, part)
);
ALTER TABLE snapshot_parts ALTER COLUMN body SET STORAGE EXTERNAL;

-- Retention may have cut every round; then the snapshot tells where the log ends.
CREATE VIEW log_end AS
SELECT coalesce((SELECT max(version) FROM rounds), (SELECT version FROM snapshot), 0) AS version;

-- ---- rules that no statement can break ----

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0];
END $$;

CREATE TRIGGER epochs_never_go_back BEFORE UPDATE ON leadership FOR EACH ROW
WHEN (NEW.epoch < OLD.epoch) EXECUTE FUNCTION refuse_change('epochs never go back');

CREATE TRIGGER rounds_never_change BEFORE UPDATE ON rounds FOR EACH ROW
EXECUTE FUNCTION refuse_change('a committed round never changes');

CREATE TRIGGER snapshots_never_go_back BEFORE UPDATE ON snapshot FOR EACH ROW
WHEN (NEW.version < OLD.version) EXECUTE FUNCTION refuse_change('the snapshot would go back');

-- ---- the fence ----
-- Whoever writes as leader holds the fence's lock shared until its transaction has ended, and begin_epoch takes it
-- alone. So begin_epoch waits for a commit in flight, even if its client is gone, and a commit that comes later finds the
-- new epoch. The lock is taken before the statement that reads the epoch, because each statement of a function sees what
-- was committed when that statement began. A single statement could not do both: it would read the epoch as of before
-- its wait for the lock.

CREATE FUNCTION lead(my_epoch bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    newest bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'the fence needs the isolation level read committed';
    END IF;
    PERFORM pg_advisory_xact_lock_shared(1397247566, 'leadership'::regclass::oid::integer);
    SELECT epoch INTO newest FROM leadership;
    IF my_epoch < newest THEN
        RAISE EXCEPTION 'epoch % may no longer write: epoch % leads', my_epoch, newest USING ERRCODE = 'SH001';
    ELSIF my_epoch > newest THEN
        RAISE EXCEPTION 'epoch % was never begun: epoch % leads', my_epoch, newest USING ERRCODE = 'SH002';
    END IF;
END $$;

CREATE FUNCTION begin_epoch(my_term bigint, server bigint, server_timeline bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    newest bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'the fence needs the isolation level read committed';
    END IF;
    PERFORM pg_advisory_xact_lock(1397247566, 'leadership'::regclass::oid::integer);
    SELECT term INTO newest FROM leadership;
    IF my_term < newest THEN
        RAISE EXCEPTION 'term % may no longer lead: term % has begun', my_term, newest USING ERRCODE = 'SH001';
    END IF;
    UPDATE leadership
    SET epoch = epoch + 1, term = my_term, system_identifier = server, timeline = server_timeline
    RETURNING epoch INTO newest;
    RETURN newest;
END $$;

-- ---- the snapshot, written in short transactions of the leader ----

CREATE FUNCTION begin_save(my_epoch bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    PERFORM lead(my_epoch);
    RETURN greatest((SELECT max(save) FROM snapshot_parts), (SELECT save FROM snapshot), 0) + 1;
END $$;

CREATE FUNCTION save_part(my_epoch bigint, my_save bigint, my_part integer, my_body bytea) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM lead(my_epoch);
    INSERT INTO snapshot_parts (save, part, body) VALUES (my_save, my_part, my_body);
END $$;

CREATE FUNCTION end_save(my_epoch bigint, my_save bigint, my_version bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM lead(my_epoch);
    IF my_version > (SELECT version FROM log_end) THEN
        RAISE EXCEPTION 'the snapshot of version % is ahead of the log', my_version USING ERRCODE = 'SH002';
    END IF;
    INSERT INTO snapshot (version, save) VALUES (my_version, my_save)
    ON CONFLICT (one) DO UPDATE SET version = excluded.version, save = excluded.save;
    DELETE FROM snapshot_parts WHERE save < my_save;
END $$;

-- ---- retention of rounds ----

-- Drop the oldest rounds, only before the snapshot and never leaving a gap; returns how many.
CREATE FUNCTION drop_rounds(my_epoch bigint, rounds_max bigint, oldest float8, slice integer) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    retained_from bigint;
    first_kept bigint;
    dropped bigint;
BEGIN
    PERFORM lead(my_epoch);
    SELECT version - rounds_max + 1 INTO retained_from FROM log_end;
    SELECT min(old.version) INTO first_kept FROM (
        SELECT version, at FROM rounds ORDER BY version LIMIT slice
    ) AS old WHERE old.version >= retained_from AND old.at > oldest;
    DELETE FROM rounds WHERE version IN (
        SELECT version FROM rounds WHERE version <= (SELECT version FROM snapshot) ORDER BY version LIMIT slice
    ) AND (first_kept IS NULL OR version < first_kept);
    GET DIAGNOSTICS dropped = ROW_COUNT;
    RETURN dropped;
END $$;
