-- The message's inbox row: until the end of the transaction it stays as it is.
SELECT i.state FROM {{schema}}.headrace_inbox AS i WHERE i.scope = $1 AND i.key = $2
