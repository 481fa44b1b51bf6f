-- Effects without a record of it, and records without an effect, in one snapshot.
SELECT (SELECT count(*) FROM effects e WHERE NOT EXISTS (SELECT 1 FROM headrace_inbox i WHERE i.key = e.msg_id AND i.state = 'done'))
     + (SELECT count(*) FROM headrace_inbox i WHERE i.state = 'done' AND NOT i.stale AND NOT EXISTS (SELECT 1 FROM effects e WHERE e.msg_id = i.key))
