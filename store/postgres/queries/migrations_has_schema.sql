-- Looked for apart: CREATE SCHEMA IF NOT EXISTS asks for a right even where it is there.
SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1)
