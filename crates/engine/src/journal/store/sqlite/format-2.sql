-- How often each check of a run has run, and what came of it: the sum of what its events tell.
CREATE TABLE checks (
    run INTEGER NOT NULL,
    digest TEXT NOT NULL,
    name TEXT NOT NULL,
    runs INTEGER NOT NULL,
    passes INTEGER NOT NULL,
    flakes INTEGER NOT NULL,
    took INTEGER NOT NULL,
    PRIMARY KEY (run, digest)
) STRICT, WITHOUT ROWID;
