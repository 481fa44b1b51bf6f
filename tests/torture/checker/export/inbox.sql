SELECT scope, key, state, CASE WHEN stale THEN 1 ELSE 0 END FROM headrace_inbox
