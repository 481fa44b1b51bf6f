-- The newest version that was applied of each entity.
CREATE TABLE {{schema}}.headrace_versions (
    scope      TEXT NOT NULL,
    entity     TEXT NOT NULL CHECK (entity <> '' AND octet_length(entity) <= 512),
    version    INTEGER NOT NULL,
    changed_at INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000),
    PRIMARY KEY (scope, entity)
) STRICT, WITHOUT ROWID;
