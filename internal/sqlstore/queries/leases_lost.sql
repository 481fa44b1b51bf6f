-- How many leases of a message were lost after attempt $3.
SELECT count(*) FROM {{schema}}.headrace_attempts WHERE scope = $1 AND key = $2 AND n > $3 AND class = 'lost'
