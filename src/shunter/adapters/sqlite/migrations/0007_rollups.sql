-- What happened in each minute and each hour, added up, for analytics. A hint: after a loss, history still has its jobs.
CREATE TABLE rollups (
    tier  INTEGER NOT NULL,
    start INTEGER NOT NULL,
    body  BLOB NOT NULL,
    PRIMARY KEY (tier, start)
) STRICT;
