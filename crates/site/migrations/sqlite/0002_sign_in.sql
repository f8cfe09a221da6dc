-- The role of readers; sign-in by a provider and by a device. SQLite can't change a CHECK: the table is made anew.
CREATE TABLE users_new (
    id          TEXT    NOT NULL PRIMARY KEY,
    handle      TEXT    NOT NULL UNIQUE,
    role        TEXT    NOT NULL CHECK (role IN ('reader', 'publisher', 'moderator', 'admin')),
    created_at  INTEGER NOT NULL,
    disabled_at INTEGER
);
INSERT INTO users_new (id, handle, role, created_at, disabled_at)
    SELECT id, handle, role, created_at, disabled_at FROM users;
DROP TABLE users;
ALTER TABLE users_new RENAME TO users;

CREATE TABLE invitations_new (
    hash       BLOB    NOT NULL PRIMARY KEY,
    role       TEXT    NOT NULL CHECK (role IN ('reader', 'publisher', 'moderator', 'admin')),
    note       TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER,
    user_id    TEXT    REFERENCES users (id)
);
INSERT INTO invitations_new (hash, role, note, created_at, expires_at, used_at, user_id)
    SELECT hash, role, note, created_at, expires_at, used_at, user_id FROM invitations;
DROP TABLE invitations;
ALTER TABLE invitations_new RENAME TO invitations;

-- Who users are to a provider. No e-mail is kept.
CREATE TABLE identities (
    issuer      TEXT    NOT NULL,
    subject     TEXT    NOT NULL,
    user_id     TEXT    NOT NULL REFERENCES users (id),
    name        TEXT    NOT NULL,
    -- The role that the provider's groups led to at the last sign-in: what differs from it next time is a change.
    mapped_role TEXT,
    created_at  INTEGER NOT NULL,
    used_at     INTEGER NOT NULL,
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_by_user ON identities (user_id);

-- Signed in at the provider, without an account here yet; under the hash of a cookie.
CREATE TABLE newcomers (
    hash        BLOB    NOT NULL PRIMARY KEY,
    issuer      TEXT    NOT NULL,
    subject     TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    mapped_role TEXT,
    expires_at  INTEGER NOT NULL
);

-- Devices that ask for a token. Of both codes only hashes are kept.
CREATE TABLE devices (
    hash       BLOB    NOT NULL PRIMARY KEY,
    user_code  BLOB    NOT NULL UNIQUE,
    program    TEXT    NOT NULL,
    host       TEXT    NOT NULL,
    address    TEXT    NOT NULL,
    scopes     TEXT    NOT NULL,
    pause      INTEGER NOT NULL,
    asked_at   INTEGER,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    decided_at INTEGER,
    granted    INTEGER NOT NULL DEFAULT 0,
    user_id    TEXT    REFERENCES users (id)
);

-- A session that a token began ends with that token.
ALTER TABLE sessions ADD COLUMN token_id TEXT REFERENCES tokens (id);
