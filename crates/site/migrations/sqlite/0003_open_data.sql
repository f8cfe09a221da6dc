-- A dump of the public tables, one a day (UTC). Who makes it claims the day; `files` is JSON.
CREATE TABLE dumps (
    day        TEXT    NOT NULL PRIMARY KEY,
    claimed_at INTEGER NOT NULL,
    made_at    INTEGER,
    files      TEXT    NOT NULL DEFAULT '[]'
);

-- What makes a run worth a moderator's look. It hides nothing, and is shown to moderators alone.
CREATE TABLE suspicions (
    id         INTEGER NOT NULL PRIMARY KEY,
    run_id     TEXT    NOT NULL REFERENCES runs (id),
    kind       TEXT    NOT NULL,
    other_id   TEXT,
    text       TEXT    NOT NULL,
    found_at   INTEGER NOT NULL,
    closed_at  INTEGER,
    closed_by  TEXT,
    resolution TEXT
);
CREATE INDEX suspicions_by_run ON suspicions (run_id);
CREATE INDEX suspicions_open ON suspicions (closed_at, found_at);
-- Runs with a cell of the same median TTFT, to the last digit.
CREATE INDEX cells_by_ttft ON cells (ttft_p50, name) WHERE ttft_p50 IS NOT NULL;
