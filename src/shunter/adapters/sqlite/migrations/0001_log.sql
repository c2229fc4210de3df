-- The log of committed rounds, the epoch that leads, and the snapshot.

CREATE TABLE leadership (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    epoch INTEGER NOT NULL
);
INSERT INTO leadership (one, epoch) VALUES (1, 0);

CREATE TRIGGER epochs_never_go_back BEFORE UPDATE ON leadership WHEN NEW.epoch < OLD.epoch BEGIN
    SELECT RAISE(ABORT, 'epochs never go back');
END;

CREATE TABLE rounds (
    version INTEGER PRIMARY KEY CHECK (version > 0),
    epoch   INTEGER NOT NULL,
    at      REAL NOT NULL,
    body    BLOB NOT NULL
);

-- A body may be larger than is good for one transaction, so it is saved in parts, and `save` says which parts count.
CREATE TABLE snapshot (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    version INTEGER NOT NULL CHECK (version >= 0),
    save    INTEGER NOT NULL
);

CREATE TABLE snapshot_parts (
    id   INTEGER PRIMARY KEY,
    save INTEGER NOT NULL,
    part INTEGER NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (save, part)
);

-- Retention may have cut every round; then the snapshot tells where the log ends.
CREATE VIEW log_end AS
SELECT max(ifnull((SELECT max(version) FROM rounds), 0), ifnull((SELECT version FROM snapshot), 0)) AS version;

CREATE TRIGGER rounds_follow_one_another BEFORE INSERT ON rounds BEGIN
    SELECT RAISE(ABORT, 'an older epoch may not write') FROM leadership WHERE NEW.epoch < epoch;
    SELECT RAISE(ABORT, 'the version is not the last one plus 1') FROM log_end WHERE NEW.version <> log_end.version + 1;
END;

CREATE TRIGGER rounds_never_change BEFORE UPDATE ON rounds BEGIN
    SELECT RAISE(ABORT, 'a committed round never changes');
END;

CREATE TRIGGER rounds_are_cut_behind_the_snapshot BEFORE DELETE ON rounds
WHEN OLD.version > ifnull((SELECT version FROM snapshot), 0) BEGIN
    SELECT RAISE(ABORT, 'only rounds behind the snapshot may be cut');
END;

CREATE TRIGGER snapshots_are_of_committed_rounds BEFORE INSERT ON snapshot BEGIN
    SELECT RAISE(ABORT, 'the snapshot is ahead of the log') FROM log_end WHERE NEW.version > log_end.version;
END;

CREATE TRIGGER snapshots_never_go_back BEFORE UPDATE ON snapshot WHEN NEW.version < OLD.version BEGIN
    SELECT RAISE(ABORT, 'the snapshot would go back');
END;
