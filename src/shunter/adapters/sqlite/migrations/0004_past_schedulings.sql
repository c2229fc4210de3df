-- Schedulings that were deleted, and what they did.
CREATE TABLE past_schedulings (
    uid INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    deleted_at REAL NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE INDEX past_schedulings_by_name ON past_schedulings (name, namespace, uid);
CREATE INDEX past_schedulings_by_end ON past_schedulings (deleted_at, uid);
