-- Whose turn it is to prune, and how far that has come: one round for each consumer,
-- shared by its processes. Old rows of the inbox are found by a walk over the table,
-- so that an insert pays for no index on their age.
CREATE TABLE {{schema}}.headrace_prunes (
    consumer TEXT NOT NULL PRIMARY KEY,
    position TEXT NOT NULL, -- '' is the start
    due_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
