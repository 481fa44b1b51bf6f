-- Whether the server writes, and whether this role may take and settle messages, and publish; no row if there is no queue table.
SELECT current_setting('transaction_read_only') = 'off',
       has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE'),
       has_table_privilege(c.oid, 'INSERT')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relname = 'headrace_queue'
