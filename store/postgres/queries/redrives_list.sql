-- The newest redrives of a consumer, or of all.
SELECT r.id, r.kind, r.state, r.why, r.consumer, r.filter, r.handler, r.error_fingerprint, r.count, r.survey, r.builds, r.stages, r.max_running, r.rate, r.pause_at, r.stage_timeout_us,
    r.stage, r.stage_at, r.stage_sent, r.stage_good, r.recent, r.sent, r.succeeded, r.failed_again, r.unknown, r.skipped, r.tokens_at,
    r.planned_by, r.planned_at, r.expires_at, r.applied_by, r.reason, r.open_calls, r.applied_at, r.resumed_at, r.stepped_at, r.ended_at, {{now}}
FROM {{schema}}.headrace_redrives AS r
WHERE ($1::text = '' OR r.consumer = $1::text)
ORDER BY r.id DESC
LIMIT $2
