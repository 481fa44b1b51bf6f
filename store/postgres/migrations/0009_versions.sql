-- The newest version that was applied of each entity.
CREATE TABLE {{schema}}.headrace_versions (
    scope      text COLLATE "C" NOT NULL,
    entity     text COLLATE "C" NOT NULL CHECK (entity <> '' AND octet_length(entity) <= 512),
    version    bigint NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (scope, entity)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
