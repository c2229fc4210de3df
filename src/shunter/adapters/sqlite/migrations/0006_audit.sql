-- The audit log: the lines of each round that has records, chained by hash.
CREATE TABLE audit (
    last  INTEGER PRIMARY KEY,
    first INTEGER NOT NULL CHECK (first > 0 AND first <= last),
    at    REAL NOT NULL,
    body  BLOB NOT NULL
) STRICT;

CREATE TRIGGER audit_records_never_change BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'a record of the audit log never changes');
END;

CREATE TRIGGER audit_records_follow_one_another BEFORE INSERT ON audit BEGIN
    SELECT RAISE(ABORT, 'a record of the audit log exists already')
    WHERE NEW.first <= (SELECT ifnull(max(last), 0) FROM audit);
END;
