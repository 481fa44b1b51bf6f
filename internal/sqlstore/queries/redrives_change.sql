-- How far a job has come, and who has decided on it.
UPDATE {{schema}}.headrace_redrives
SET state = $2, why = $3, builds = $4, stage = $5, stage_at = $6, stage_sent = $7, stage_good = $8, recent = $9,
    sent = $10, succeeded = $11, failed_again = $12, unknown = $13, skipped = $14, tokens_at = $15,
    applied_by = $16, reason = $17, applied_at = $18, resumed_at = $19, stepped_at = $20, ended_at = $21, open_calls = $22
WHERE id = $1
