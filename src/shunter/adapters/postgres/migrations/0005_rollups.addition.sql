-- What happened in each minute and each hour, added up, for analytics. A hint: after a loss, history still has its jobs.
CREATE TABLE rollups (
    tier  bigint NOT NULL,
    start bigint NOT NULL,
    body  bytea NOT NULL,
    PRIMARY KEY (tier, start)
);

CREATE FUNCTION save_rollups(my_epoch bigint, my_tier bigint, starts bigint[], bodies bytea[], bytes_max bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM lead(my_epoch);
    INSERT INTO rollups (tier, start, body)
    SELECT my_tier, row.start, row.body FROM unnest(starts, bodies) AS row (start, body)
    ON CONFLICT (tier, start) DO UPDATE SET body = excluded.body;
    DELETE FROM rollups WHERE tier = my_tier AND start IN (
        SELECT sized.start FROM (
            SELECT each.start, sum(length(each.body)) OVER (ORDER BY each.start DESC) AS bytes
            FROM rollups AS each WHERE each.tier = my_tier
        ) AS sized WHERE sized.bytes > bytes_max
    );
END $$;
