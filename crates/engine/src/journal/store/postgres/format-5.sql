-- The tables of SQLite's format 5, with the same names and the same meaning; they are explained there. Numbers are all of
-- one type, and texts are compared byte by byte, as SQLite does it.
CREATE SCHEMA IF NOT EXISTS piton;
SET search_path = piton;

-- One row. Whoever makes a run holds it, as whoever changes a run holds that.
CREATE TABLE format (number BIGINT NOT NULL);
INSERT INTO format VALUES (0);

-- The last commits: one whose answer was lost is looked for here.
CREATE TABLE commits (
    id BYTEA PRIMARY KEY,
    at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX commits_by_time ON commits (at);

-- Who leads a run, and until when unless that is renewed. In a file, the lock of the run says it.
CREATE TABLE leads (
    run TEXT COLLATE "C" PRIMARY KEY,
    home TEXT NOT NULL,
    host TEXT NOT NULL,
    path TEXT NOT NULL,
    fence BIGINT NOT NULL,
    until BIGINT NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE events (
    no BIGINT PRIMARY KEY,
    at BIGINT NOT NULL,
    task TEXT COLLATE "C",
    body TEXT NOT NULL
);
CREATE INDEX events_of_task ON events (task, no) WHERE task IS NOT NULL;
CREATE INDEX events_of_no_task ON events (no) WHERE task IS NULL;

CREATE TABLE runs (
    no BIGINT PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    seq BIGINT NOT NULL,
    layout BIGINT NOT NULL,
    name TEXT NOT NULL,
    plan TEXT NOT NULL,
    created BIGINT NOT NULL,
    moving TEXT NOT NULL,
    made TEXT NOT NULL DEFAULT '[]'
) WITH (fillfactor = 50);

CREATE TABLE plans (
    run BIGINT PRIMARY KEY,
    facts TEXT NOT NULL
);

CREATE TABLE tasks (
    run BIGINT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    lane BIGINT,
    grp BIGINT NOT NULL,
    level BIGINT NOT NULL,
    priority BIGINT NOT NULL,
    turn BYTEA,
    decided BIGINT NOT NULL,
    since BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    spent BIGINT NOT NULL,
    budget BIGINT NOT NULL,
    transient BIGINT NOT NULL,
    conflicts BIGINT NOT NULL,
    fence BIGINT NOT NULL,
    not_before BIGINT,
    waiting BIGINT NOT NULL,
    dead BIGINT NOT NULL,
    flags BIGINT NOT NULL,
    spec_seq BIGINT NOT NULL,
    failure_seq BIGINT,
    rest TEXT,
    room TEXT NOT NULL,
    PRIMARY KEY (run, id)
) WITH (fillfactor = 80);
CREATE INDEX lanes ON tasks (run, lane, grp, level, priority, turn) WHERE lane IS NOT NULL;

CREATE TABLE needs (
    run BIGINT NOT NULL,
    task TEXT COLLATE "C" NOT NULL,
    pos BIGINT NOT NULL,
    need TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (run, task, pos)
);
CREATE INDEX dependents ON needs (run, need);

CREATE TABLE cells (
    run BIGINT NOT NULL,
    grp BIGINT NOT NULL,
    level BIGINT NOT NULL,
    unmet BIGINT NOT NULL,
    unsettled BIGINT NOT NULL,
    counts TEXT NOT NULL,
    PRIMARY KEY (run, grp, level)
) WITH (fillfactor = 50);
CREATE INDEX unmet_cells ON cells (run, grp, level) WHERE unmet = 1;
CREATE INDEX unsettled_cells ON cells (run, grp, level) WHERE unsettled = 1;

CREATE TABLE checks (
    run BIGINT NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    runs BIGINT NOT NULL,
    passes BIGINT NOT NULL,
    flakes BIGINT NOT NULL,
    took BIGINT NOT NULL,
    PRIMARY KEY (run, digest)
);

CREATE TABLE passes (
    tree TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    run BIGINT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (tree, digest, environment)
);
CREATE INDEX passes_by_time ON passes (at);

CREATE TABLE made (
    run BIGINT NOT NULL,
    no BIGINT NOT NULL,
    task TEXT COLLATE "C" NOT NULL,
    has BIGINT NOT NULL,
    lines TEXT NOT NULL,
    PRIMARY KEY (run, no)
);
CREATE INDEX made_exports ON made (run, no) WHERE has & 4 > 0;
CREATE INDEX made_decisions ON made (run, no) WHERE has & 8 > 0;
CREATE INDEX made_patterns ON made (run, no) WHERE has & 16 > 0;
CREATE INDEX made_notes ON made (run, no) WHERE has & 32 > 0;

CREATE TABLE made_files (
    run BIGINT NOT NULL,
    file TEXT COLLATE "C" NOT NULL,
    no BIGINT NOT NULL,
    nth BIGINT NOT NULL,
    last BIGINT NOT NULL,
    PRIMARY KEY (run, file, no)
);
CREATE INDEX made_files_last ON made_files (run, no, nth) WHERE last = 1;

CREATE TABLE remarks (
    run BIGINT NOT NULL,
    kind BIGINT NOT NULL,
    no BIGINT NOT NULL,
    PRIMARY KEY (run, kind, no)
);

CREATE TABLE costs (
    run BIGINT NOT NULL,
    sorted_by BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    cost TEXT NOT NULL,
    PRIMARY KEY (run, sorted_by, name)
);

CREATE TABLE worktrees (
    run BIGINT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (run, id)
);
