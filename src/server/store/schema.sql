-- The first version of a room's database. Moments are milliseconds since 1970, UTC.

-- Which database this is: watchers come back with it.
CREATE TABLE room (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    epoch TEXT NOT NULL
) STRICT;

-- Written by whoever makes and revokes keys; the room itself only notes their use.

CREATE TABLE owners (
    id      INTEGER PRIMARY KEY,
    slug    TEXT NOT NULL UNIQUE,
    made_at INTEGER NOT NULL
) STRICT;

CREATE TABLE agents (
    id      INTEGER PRIMARY KEY,
    owner   INTEGER NOT NULL REFERENCES owners,
    name    TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    UNIQUE (owner, name)
) STRICT;

CREATE TABLE projects (
    id      INTEGER PRIMARY KEY,
    slug    TEXT NOT NULL UNIQUE,
    made_at INTEGER NOT NULL
) STRICT;

CREATE TABLE credentials (
    id           INTEGER PRIMARY KEY AUTOINCREMENT, -- an id that was revoked never comes back
    hash         BLOB NOT NULL UNIQUE,              -- SHA-256 of the token, which is kept nowhere
    kind         TEXT NOT NULL,
    owner        INTEGER NOT NULL REFERENCES owners,
    agent        INTEGER REFERENCES agents,
    task         TEXT,
    all_projects INTEGER NOT NULL,
    label        TEXT,
    made_at      INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at   INTEGER,
    CHECK ((kind = 'person') = (agent IS NULL)),
    CHECK ((kind = 'execution') = (task IS NOT NULL))
) STRICT;

CREATE TABLE credential_projects (
    credential INTEGER NOT NULL REFERENCES credentials,
    project    INTEGER NOT NULL REFERENCES projects,
    PRIMARY KEY (credential, project)
) STRICT, WITHOUT ROWID;

-- Written by the room alone.

-- A table of its own: the numbers go on when old events are pruned.
CREATE TABLE sequences (
    project INTEGER PRIMARY KEY REFERENCES projects,
    seq     INTEGER NOT NULL
) STRICT;

CREATE TABLE pulses (
    project      INTEGER NOT NULL REFERENCES projects,
    agent        INTEGER NOT NULL REFERENCES agents,
    pulse        TEXT NOT NULL, -- as it is sent
    failure_task TEXT,          -- never sent
    failure_at   INTEGER,
    PRIMARY KEY (project, agent)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    project INTEGER NOT NULL REFERENCES projects,
    seq     INTEGER NOT NULL,
    frame   TEXT NOT NULL, -- as it was sent
    PRIMARY KEY (project, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
    id            INTEGER PRIMARY KEY AUTOINCREMENT, -- the order of arrival, whatever the clock said
    run_id        TEXT NOT NULL UNIQUE,
    owner         INTEGER NOT NULL REFERENCES owners,
    agent         INTEGER NOT NULL REFERENCES agents,
    project       INTEGER NOT NULL REFERENCES projects,
    task          TEXT NOT NULL,
    input_tokens  INTEGER, -- null is not known, here and below; it is never 0
    output_tokens INTEGER,
    turns         INTEGER,
    duration_ms   INTEGER,
    exit_code     INTEGER,
    reported_at   INTEGER NOT NULL
) STRICT;

CREATE INDEX runs_of_owner ON runs (owner, id);
