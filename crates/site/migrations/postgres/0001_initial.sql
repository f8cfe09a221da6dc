-- As the tables of SQLite, column by column. Text sorts by its bytes, as it does there.
-- Times are milliseconds since 1970 (UTC). Ids of users and runs are UUIDs as text.

CREATE TABLE users (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    handle      TEXT COLLATE "C" NOT NULL UNIQUE,
    role        TEXT COLLATE "C" NOT NULL CHECK (role IN ('publisher', 'moderator', 'admin')),
    created_at  BIGINT NOT NULL,
    disabled_at BIGINT
);

-- Of a token only its public part and a hash are kept.
CREATE TABLE tokens (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id      TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    hash         BYTEA NOT NULL,
    scopes       TEXT COLLATE "C" NOT NULL,
    label        TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT,
    last_used_at BIGINT,
    revoked_at   BIGINT
);
CREATE INDEX tokens_by_user ON tokens (user_id);

CREATE TABLE sessions (
    hash       BYTEA NOT NULL PRIMARY KEY,
    user_id    TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    form_key   TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE TABLE invitations (
    hash       BYTEA NOT NULL PRIMARY KEY,
    role       TEXT COLLATE "C" NOT NULL CHECK (role IN ('publisher', 'moderator', 'admin')),
    note       TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at    BIGINT,
    user_id    TEXT COLLATE "C" REFERENCES users (id)
);

-- One row a run: what lists, facets and rankings need. The documents are in `revisions`.
CREATE TABLE runs (
    id                   TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id              TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    handle               TEXT COLLATE "C" NOT NULL,
    revision             BIGINT NOT NULL,
    shelf                TEXT COLLATE "C" NOT NULL CHECK (shelf IN ('ranked', 'reported', 'simulated', 'withdrawn')),
    measured_at          BIGINT,
    published_at         BIGINT NOT NULL,
    revised_at           BIGINT NOT NULL,
    withdrawn_reason     TEXT COLLATE "C",
    title                TEXT COLLATE "C" NOT NULL,
    model                TEXT COLLATE "C" NOT NULL,
    hardware             TEXT COLLATE "C" NOT NULL,
    accelerators         BIGINT,
    engine               TEXT COLLATE "C" NOT NULL,
    engine_version       TEXT COLLATE "C" NOT NULL,
    quantization         TEXT COLLATE "C" NOT NULL,
    speculative          TEXT COLLATE "C" NOT NULL,
    contexts             TEXT COLLATE "C" NOT NULL,
    method               TEXT COLLATE "C" NOT NULL,
    is_simulated         BIGINT NOT NULL,
    evidence             BIGINT NOT NULL CHECK (evidence BETWEEN 0 AND 3),
    evidence_reasons     TEXT COLLATE "C" NOT NULL,
    own_evidence         BIGINT NOT NULL CHECK (own_evidence BETWEEN 0 AND 2),
    group_hash           TEXT COLLATE "C" NOT NULL,
    series_hash          TEXT COLLATE "C" NOT NULL,
    content_sha256       TEXT COLLATE "C" NOT NULL,
    one_user             DOUBLE PRECISION,
    one_user_low         DOUBLE PRECISION,
    one_user_high        DOUBLE PRECISION,
    peak                 DOUBLE PRECISION,
    peak_low             DOUBLE PRECISION,
    peak_high            DOUBLE PRECISION,
    peak_per_accelerator DOUBLE PRECISION,
    prefill              DOUBLE PRECISION,
    users_at_limits      BIGINT,
    joules_per_token     DOUBLE PRECISION,
    valid_cells          BIGINT NOT NULL,
    all_cells            BIGINT NOT NULL,
    -- Replicates are folded: the row that stands for its group, and what the group's rows say together.
    is_lead              BIGINT NOT NULL DEFAULT 1,
    replicates           BIGINT NOT NULL DEFAULT 1,
    submitters           BIGINT NOT NULL DEFAULT 1,
    spread               TEXT COLLATE "C" NOT NULL DEFAULT '{}'
);
CREATE INDEX runs_by_group ON runs (group_hash);
CREATE INDEX runs_by_series ON runs (series_hash);
CREATE INDEX runs_by_user ON runs (user_id);
CREATE INDEX runs_one_user ON runs (shelf, is_lead, one_user DESC NULLS LAST, id);
CREATE INDEX runs_peak ON runs (shelf, is_lead, peak DESC NULLS LAST, id);
CREATE INDEX runs_per_accelerator ON runs (shelf, is_lead, peak_per_accelerator DESC NULLS LAST, id);
CREATE INDEX runs_prefill ON runs (shelf, is_lead, prefill DESC NULLS LAST, id);
CREATE INDEX runs_users ON runs (shelf, is_lead, users_at_limits DESC NULLS LAST, id);
CREATE INDEX runs_joules ON runs (shelf, is_lead, joules_per_token, id);
CREATE INDEX runs_newest ON runs (shelf, is_lead, published_at DESC NULLS LAST, id);

-- Never changed and never deleted.
CREATE TABLE revisions (
    run_id         TEXT COLLATE "C" NOT NULL REFERENCES runs (id),
    revision       BIGINT NOT NULL,
    user_id        TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    created_at     BIGINT NOT NULL,
    note           TEXT COLLATE "C",
    content_sha256 TEXT COLLATE "C" NOT NULL,
    document       BYTEA NOT NULL,
    verification   BYTEA NOT NULL,
    PRIMARY KEY (run_id, revision)
);

CREATE TABLE cells (
    run_id              TEXT COLLATE "C" NOT NULL REFERENCES runs (id),
    name                TEXT COLLATE "C" NOT NULL,
    phase               TEXT COLLATE "C" NOT NULL CHECK (phase IN ('prefill', 'decode')),
    context             BIGINT NOT NULL,
    concurrency         BIGINT NOT NULL,
    status              TEXT COLLATE "C" NOT NULL,
    total               DOUBLE PRECISION,
    total_low           DOUBLE PRECISION,
    total_high          DOUBLE PRECISION,
    prefill_rate        DOUBLE PRECISION,
    ttft_p50            DOUBLE PRECISION,
    per_request_p50     DOUBLE PRECISION,
    joules_per_token    DOUBLE PRECISION,
    acceptance_length   DOUBLE PRECISION,
    PRIMARY KEY (run_id, name)
);
CREATE INDEX cells_by_place ON cells (phase, context, concurrency, run_id);

-- Files by hash. `user_id` and `created_at` tell who brought one, so that what no run names can be cleared away.
CREATE TABLE artefacts (
    sha256     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    bytes      BIGINT NOT NULL,
    user_id    TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    created_at BIGINT NOT NULL
);
CREATE TABLE run_artefacts (
    run_id TEXT COLLATE "C" NOT NULL REFERENCES runs (id),
    name   TEXT COLLATE "C" NOT NULL,
    sha256 TEXT COLLATE "C" NOT NULL REFERENCES artefacts (sha256),
    PRIMARY KEY (run_id, name)
);
CREATE INDEX run_artefacts_by_hash ON run_artefacts (sha256);

-- What a trace holds, whatever run it is said to be of: the same events can be published once.
CREATE TABLE trace_prints (
    print  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    run_id TEXT COLLATE "C" NOT NULL REFERENCES runs (id)
);

CREATE TABLE idempotency (
    user_id     TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    key         TEXT COLLATE "C" NOT NULL,
    body_sha256 TEXT COLLATE "C" NOT NULL,
    run_id      TEXT COLLATE "C" NOT NULL REFERENCES runs (id),
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (user_id, key)
);

-- Public.
CREATE TABLE moderation (
    id     BIGINT NOT NULL PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY,
    at     BIGINT NOT NULL,
    actor  TEXT COLLATE "C" NOT NULL,
    action TEXT COLLATE "C" NOT NULL,
    run_id TEXT COLLATE "C",
    reason TEXT COLLATE "C" NOT NULL
);
CREATE INDEX moderation_by_run ON moderation (run_id);

CREATE TABLE problems (
    id         BIGINT NOT NULL PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY,
    run_id     TEXT COLLATE "C" NOT NULL REFERENCES runs (id),
    cell       TEXT COLLATE "C",
    at         BIGINT NOT NULL,
    reporter   TEXT COLLATE "C",
    kind       TEXT COLLATE "C" NOT NULL,
    text       TEXT COLLATE "C" NOT NULL,
    closed_at  BIGINT,
    closed_by  TEXT COLLATE "C",
    resolution TEXT COLLATE "C"
);
CREATE INDEX problems_by_run ON problems (run_id);
CREATE INDEX problems_open ON problems (closed_at, at);

-- Counts every change of what lists show, so that what was computed from them can be kept until the next.
CREATE TABLE generation (
    id    BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    value BIGINT NOT NULL
);
INSERT INTO generation (id, value) VALUES (1, 0);
