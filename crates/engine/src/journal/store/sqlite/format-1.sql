-- The truth: events, keyed by run and position (no = run << 40 | seq), so that one tree holds them in
-- order and no index is needed to find one.
CREATE TABLE events (
    no INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    task TEXT,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX events_of_task ON events (task) WHERE task IS NOT NULL;

-- Everything below is a cache of the fold, except which number a run has.
CREATE TABLE runs (
    no INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    seq INTEGER NOT NULL,
    layout INTEGER NOT NULL,
    name TEXT NOT NULL,
    plan TEXT NOT NULL,
    created INTEGER NOT NULL,
    moving TEXT NOT NULL
) STRICT;

-- What changes only with the plan, apart from what changes always: it may be long.
CREATE TABLE plans (
    run INTEGER PRIMARY KEY,
    facts TEXT NOT NULL
) STRICT;

CREATE TABLE tasks (
    run INTEGER NOT NULL,
    id TEXT NOT NULL,
    lane INTEGER,
    grp INTEGER NOT NULL,
    level INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    turn BLOB,
    decided INTEGER NOT NULL,
    since INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    spent INTEGER NOT NULL,
    budget INTEGER NOT NULL,
    transient INTEGER NOT NULL,
    conflicts INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    not_before INTEGER,
    waiting INTEGER NOT NULL,
    dead INTEGER NOT NULL,
    flags INTEGER NOT NULL,
    spec_seq INTEGER NOT NULL,
    failure_seq INTEGER,
    rest TEXT,
    -- Nothing: what a task that begins has more of goes here, so that its neighbours can stay where they are.
    room TEXT NOT NULL,
    PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX lanes ON tasks (run, lane, grp, level, priority, turn) WHERE lane IS NOT NULL;

CREATE TABLE needs (
    run INTEGER NOT NULL,
    task TEXT NOT NULL,
    pos INTEGER NOT NULL,
    need TEXT NOT NULL,
    PRIMARY KEY (run, task, pos)
) STRICT, WITHOUT ROWID;
CREATE INDEX dependents ON needs (run, need);

-- Counts per group and level, in the order of the statuses. The flags say whether the cell holds
-- others back, and are written only when they change, so the indexes rest otherwise.
CREATE TABLE cells (
    run INTEGER NOT NULL,
    grp INTEGER NOT NULL,
    level INTEGER NOT NULL,
    unmet INTEGER NOT NULL,
    unsettled INTEGER NOT NULL,
    counts TEXT NOT NULL,
    PRIMARY KEY (run, grp, level)
) STRICT, WITHOUT ROWID;
CREATE INDEX unmet_cells ON cells (run, grp, level) WHERE unmet = 1;
CREATE INDEX unsettled_cells ON cells (run, grp, level) WHERE unsettled = 1;
