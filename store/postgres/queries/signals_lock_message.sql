-- The message's inbox row: nobody redrives the message meanwhile.
SELECT i.state FROM {{schema}}.headrace_inbox AS i WHERE i.scope = $1 AND i.key = $2 FOR SHARE
