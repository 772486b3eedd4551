-- What completed tasks made for others, by the place in the journal where they were completed: newcomers read the newest of
-- it. `has` has a bit for each section of an orientation in which the task has a line.
CREATE TABLE made (
    run INTEGER NOT NULL,
    no INTEGER NOT NULL,
    task TEXT NOT NULL,
    has INTEGER NOT NULL,
    lines TEXT NOT NULL,
    PRIMARY KEY (run, no)
) STRICT, WITHOUT ROWID;
-- Few tasks may have a line in these sections.
CREATE INDEX made_exports ON made (run, no) WHERE has & 4 > 0;
CREATE INDEX made_decisions ON made (run, no) WHERE has & 8 > 0;
CREATE INDEX made_patterns ON made (run, no) WHERE has & 16 > 0;
CREATE INDEX made_notes ON made (run, no) WHERE has & 32 > 0;
-- The files among it, each with every completed task that lists it. Only the last one is shown.
CREATE TABLE made_files (
    run INTEGER NOT NULL,
    file TEXT NOT NULL,
    no INTEGER NOT NULL,
    nth INTEGER NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY (run, file, no)
) STRICT, WITHOUT ROWID;
CREATE INDEX made_files_last ON made_files (run, no, nth) WHERE last = 1;
-- How many lines each of these sections has. Beside the facts that every change writes anyway.
ALTER TABLE runs ADD COLUMN made TEXT NOT NULL DEFAULT '[]';
-- Where guardrails stand in the journal, and entries for later readers.
CREATE TABLE remarks (
    run INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    no INTEGER NOT NULL,
    PRIMARY KEY (run, kind, no)
) STRICT, WITHOUT ROWID;
-- What tries have used, summed up by all that costs are sorted by.
CREATE TABLE costs (
    run INTEGER NOT NULL,
    sorted_by INTEGER NOT NULL,
    name TEXT NOT NULL,
    cost TEXT NOT NULL,
    PRIMARY KEY (run, sorted_by, name)
) STRICT, WITHOUT ROWID;
-- Tasks that have a worktree, or may have one.
CREATE TABLE worktrees (
    run INTEGER NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;
