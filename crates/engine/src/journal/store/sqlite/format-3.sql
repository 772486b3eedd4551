-- The trees on which a check has passed: what need not be paid for again.
CREATE TABLE passes (
    tree TEXT NOT NULL,
    digest TEXT NOT NULL,
    environment TEXT NOT NULL,
    run INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (tree, digest, environment)
) STRICT, WITHOUT ROWID;
CREATE INDEX passes_by_time ON passes (at);
