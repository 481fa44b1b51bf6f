-- A concurrent build may wait for long, and blocks no other statement meanwhile. If it is
-- cut off, it leaves an invalid index.
SELECT set_config('lock_timeout', '0', false), set_config('statement_timeout', '0', false)
