-- The role of readers; sign-in by a provider and by a device.
ALTER TABLE users DROP CONSTRAINT users_role_check;
ALTER TABLE users ADD CONSTRAINT users_role_check CHECK (role IN ('reader', 'publisher', 'moderator', 'admin'));
ALTER TABLE invitations DROP CONSTRAINT invitations_role_check;
ALTER TABLE invitations ADD CONSTRAINT invitations_role_check
    CHECK (role IN ('reader', 'publisher', 'moderator', 'admin'));

-- Who users are to a provider. No e-mail is kept.
CREATE TABLE identities (
    issuer      TEXT COLLATE "C" NOT NULL,
    subject     TEXT COLLATE "C" NOT NULL,
    user_id     TEXT    NOT NULL REFERENCES users (id),
    name        TEXT    NOT NULL,
    -- The role that the provider's groups led to at the last sign-in: what differs from it next time is a change.
    mapped_role TEXT,
    created_at  BIGINT NOT NULL,
    used_at     BIGINT NOT NULL,
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_by_user ON identities (user_id);

-- Signed in at the provider, without an account here yet; under the hash of a cookie.
CREATE TABLE newcomers (
    hash        BYTEA   NOT NULL PRIMARY KEY,
    issuer      TEXT    NOT NULL,
    subject     TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    mapped_role TEXT,
    expires_at  BIGINT NOT NULL
);

-- Devices that ask for a token. Of both codes only hashes are kept.
CREATE TABLE devices (
    hash       BYTEA   NOT NULL PRIMARY KEY,
    user_code  BYTEA   NOT NULL UNIQUE,
    program    TEXT    NOT NULL,
    host       TEXT    NOT NULL,
    address    TEXT    NOT NULL,
    scopes     TEXT    NOT NULL,
    pause      BIGINT NOT NULL,
    asked_at   BIGINT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    decided_at BIGINT,
    granted    BIGINT NOT NULL DEFAULT 0,
    user_id    TEXT    REFERENCES users (id)
);

-- A session that a token began ends with that token.
ALTER TABLE sessions ADD COLUMN token_id TEXT COLLATE "C" REFERENCES tokens (id);
