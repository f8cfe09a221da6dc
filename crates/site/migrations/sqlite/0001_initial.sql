-- Times are milliseconds since 1970 (UTC). Ids of users and runs are UUIDs as text.

CREATE TABLE users (
    id          TEXT    NOT NULL PRIMARY KEY,
    handle      TEXT    NOT NULL UNIQUE,
    role        TEXT    NOT NULL CHECK (role IN ('publisher', 'moderator', 'admin')),
    created_at  INTEGER NOT NULL,
    disabled_at INTEGER
);

-- Of a token only its public part and a hash are kept.
CREATE TABLE tokens (
    id           TEXT    NOT NULL PRIMARY KEY,
    user_id      TEXT    NOT NULL REFERENCES users (id),
    hash         BLOB    NOT NULL,
    scopes       TEXT    NOT NULL,
    label        TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    last_used_at INTEGER,
    revoked_at   INTEGER
);
CREATE INDEX tokens_by_user ON tokens (user_id);

CREATE TABLE sessions (
    hash       BLOB    NOT NULL PRIMARY KEY,
    user_id    TEXT    NOT NULL REFERENCES users (id),
    form_key   TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
);

CREATE TABLE invitations (
    hash       BLOB    NOT NULL PRIMARY KEY,
    role       TEXT    NOT NULL CHECK (role IN ('publisher', 'moderator', 'admin')),
    note       TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER,
    user_id    TEXT    REFERENCES users (id)
);

-- One row a run: what lists, facets and rankings need. The documents are in `revisions`.
CREATE TABLE runs (
    id                   TEXT    NOT NULL PRIMARY KEY,
    user_id              TEXT    NOT NULL REFERENCES users (id),
    handle               TEXT    NOT NULL,
    revision             INTEGER NOT NULL,
    shelf                TEXT    NOT NULL CHECK (shelf IN ('ranked', 'reported', 'simulated', 'withdrawn')),
    measured_at          INTEGER,
    published_at         INTEGER NOT NULL,
    revised_at           INTEGER NOT NULL,
    withdrawn_reason     TEXT,
    title                TEXT    NOT NULL,
    model                TEXT    NOT NULL,
    hardware             TEXT    NOT NULL,
    accelerators         INTEGER,
    engine               TEXT    NOT NULL,
    engine_version       TEXT    NOT NULL,
    quantization         TEXT    NOT NULL,
    speculative          TEXT    NOT NULL,
    contexts             TEXT    NOT NULL,
    method               TEXT    NOT NULL,
    is_simulated         INTEGER NOT NULL,
    evidence             INTEGER NOT NULL CHECK (evidence BETWEEN 0 AND 3),
    evidence_reasons     TEXT    NOT NULL,
    own_evidence         INTEGER NOT NULL CHECK (own_evidence BETWEEN 0 AND 2),
    group_hash           TEXT    NOT NULL,
    series_hash          TEXT    NOT NULL,
    content_sha256       TEXT    NOT NULL,
    one_user             REAL,
    one_user_low         REAL,
    one_user_high        REAL,
    peak                 REAL,
    peak_low             REAL,
    peak_high            REAL,
    peak_per_accelerator REAL,
    prefill              REAL,
    users_at_limits      INTEGER,
    joules_per_token     REAL,
    valid_cells          INTEGER NOT NULL,
    all_cells            INTEGER NOT NULL,
    -- Replicates are folded: the row that stands for its group, and what the group's rows say together.
    is_lead              INTEGER NOT NULL DEFAULT 1,
    replicates           INTEGER NOT NULL DEFAULT 1,
    submitters           INTEGER NOT NULL DEFAULT 1,
    spread               TEXT    NOT NULL DEFAULT '{}'
);
CREATE INDEX runs_by_group ON runs (group_hash);
CREATE INDEX runs_by_series ON runs (series_hash);
CREATE INDEX runs_by_user ON runs (user_id);
CREATE INDEX runs_one_user ON runs (shelf, is_lead, one_user DESC, id);
CREATE INDEX runs_peak ON runs (shelf, is_lead, peak DESC, id);
CREATE INDEX runs_per_accelerator ON runs (shelf, is_lead, peak_per_accelerator DESC, id);
CREATE INDEX runs_prefill ON runs (shelf, is_lead, prefill DESC, id);
CREATE INDEX runs_users ON runs (shelf, is_lead, users_at_limits DESC, id);
CREATE INDEX runs_joules ON runs (shelf, is_lead, joules_per_token, id);
CREATE INDEX runs_newest ON runs (shelf, is_lead, published_at DESC, id);
-- All that facets count, so that counting reads nothing else.
CREATE INDEX runs_facets ON runs (shelf, is_lead, model, hardware, accelerators, engine, engine_version,
    quantization, speculative, contexts, evidence, published_at);

-- Never changed and never deleted.
CREATE TABLE revisions (
    run_id         TEXT    NOT NULL REFERENCES runs (id),
    revision       INTEGER NOT NULL,
    user_id        TEXT    NOT NULL REFERENCES users (id),
    created_at     INTEGER NOT NULL,
    note           TEXT,
    content_sha256 TEXT    NOT NULL,
    document       BLOB    NOT NULL,
    verification   BLOB    NOT NULL,
    PRIMARY KEY (run_id, revision)
);

CREATE TABLE cells (
    run_id              TEXT    NOT NULL REFERENCES runs (id),
    name                TEXT    NOT NULL,
    phase               TEXT    NOT NULL CHECK (phase IN ('prefill', 'decode')),
    context             INTEGER NOT NULL,
    concurrency         INTEGER NOT NULL,
    status              TEXT    NOT NULL,
    total               REAL,
    total_low           REAL,
    total_high          REAL,
    prefill_rate        REAL,
    ttft_p50            REAL,
    per_request_p50     REAL,
    joules_per_token    REAL,
    acceptance_length   REAL,
    PRIMARY KEY (run_id, name)
) WITHOUT ROWID;
CREATE INDEX cells_by_place ON cells (phase, context, concurrency, run_id);

-- Files by hash. `user_id` and `created_at` tell who brought one, so that what no run names can be cleared away.
CREATE TABLE artefacts (
    sha256     TEXT    NOT NULL PRIMARY KEY,
    bytes      INTEGER NOT NULL,
    user_id    TEXT    NOT NULL REFERENCES users (id),
    created_at INTEGER NOT NULL
);
CREATE TABLE run_artefacts (
    run_id TEXT NOT NULL REFERENCES runs (id),
    name   TEXT NOT NULL,
    sha256 TEXT NOT NULL REFERENCES artefacts (sha256),
    PRIMARY KEY (run_id, name)
) WITHOUT ROWID;
CREATE INDEX run_artefacts_by_hash ON run_artefacts (sha256);

-- What a trace holds, whatever run it is said to be of: the same events can be published once.
CREATE TABLE trace_prints (
    print  TEXT NOT NULL PRIMARY KEY,
    run_id TEXT NOT NULL REFERENCES runs (id)
) WITHOUT ROWID;

CREATE TABLE idempotency (
    user_id     TEXT    NOT NULL REFERENCES users (id),
    key         TEXT    NOT NULL,
    body_sha256 TEXT    NOT NULL,
    run_id      TEXT    NOT NULL REFERENCES runs (id),
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (user_id, key)
) WITHOUT ROWID;

-- Public.
CREATE TABLE moderation (
    id     INTEGER NOT NULL PRIMARY KEY,
    at     INTEGER NOT NULL,
    actor  TEXT    NOT NULL,
    action TEXT    NOT NULL,
    run_id TEXT,
    reason TEXT    NOT NULL
);
CREATE INDEX moderation_by_run ON moderation (run_id);

CREATE TABLE problems (
    id         INTEGER NOT NULL PRIMARY KEY,
    run_id     TEXT    NOT NULL REFERENCES runs (id),
    cell       TEXT,
    at         INTEGER NOT NULL,
    reporter   TEXT,
    kind       TEXT    NOT NULL,
    text       TEXT    NOT NULL,
    closed_at  INTEGER,
    closed_by  TEXT,
    resolution TEXT
);
CREATE INDEX problems_by_run ON problems (run_id);
CREATE INDEX problems_open ON problems (closed_at, at);

-- Counts every change of what lists show, so that what was computed from them can be kept until the next.
CREATE TABLE generation (
    id    INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    value INTEGER NOT NULL
);
INSERT INTO generation (id, value) VALUES (1, 0);
