-- Whether a message that was acknowledged is known.
SELECT count(*) FROM headrace_inbox WHERE key = $1
