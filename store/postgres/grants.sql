-- The five roles of headrace, to be granted to logins. Run it as the owner of the tables, with
-- the right to create roles; again after each migration. A login that works on the requests
-- needs one of the roles from then on: others see no request.
DO $headrace$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['{{role}}_publisher', '{{role}}_consumer', '{{role}}_operator', '{{role}}_admin', '{{role}}_viewer'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = name) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', name);
        END IF;
    END LOOP;
END
$headrace$;
GRANT USAGE ON SCHEMA {{schema}} TO {{role}}_publisher, {{role}}_consumer, {{role}}_operator, {{role}}_admin, {{role}}_viewer;
GRANT SELECT ON {{schema}}.headrace_meta TO {{role}}_publisher, {{role}}_consumer, {{role}}_operator, {{role}}_admin, {{role}}_viewer;

-- The publisher writes events, and waits for answers to its intents.
GRANT SELECT ON {{schema}}.headrace_subscriptions, {{schema}}.headrace_inbox, {{schema}}.headrace_answers TO {{role}}_publisher;
GRANT INSERT ON {{schema}}.headrace_outbox, {{schema}}.headrace_outbox_held TO {{role}}_publisher;
GRANT USAGE ON SEQUENCE {{schema}}.headrace_outbox_id TO {{role}}_publisher;

-- The consumer does the work, and changes no table. The admin may do it in its place (--direct).
GRANT USAGE ON SEQUENCE {{schema}}.headrace_backlog_id, {{schema}}.headrace_outbox_id, {{schema}}.headrace_dead_letters_id
TO {{role}}_consumer, {{role}}_admin;
GRANT SELECT, INSERT, UPDATE, DELETE ON
    {{schema}}.headrace_answers,
    {{schema}}.headrace_attempts,
    {{schema}}.headrace_backlog,
    {{schema}}.headrace_builds,
    {{schema}}.headrace_conditions,
    {{schema}}.headrace_dead_letters,
    {{schema}}.headrace_group_hours,
    {{schema}}.headrace_groups,
    {{schema}}.headrace_inbox,
    {{schema}}.headrace_instances,
    {{schema}}.headrace_letter_changes,
    {{schema}}.headrace_marks,
    {{schema}}.headrace_memos,
    {{schema}}.headrace_outbox,
    {{schema}}.headrace_outbox_held,
    {{schema}}.headrace_outbox_owners,
    {{schema}}.headrace_pauses,
    {{schema}}.headrace_prunes,
    {{schema}}.headrace_redrive_letters,
    {{schema}}.headrace_redrives,
    {{schema}}.headrace_relays,
    {{schema}}.headrace_schedules,
    {{schema}}.headrace_sends,
    {{schema}}.headrace_steps,
    {{schema}}.headrace_subscriptions,
    {{schema}}.headrace_suspects,
    {{schema}}.headrace_systems,
    {{schema}}.headrace_versions,
    {{schema}}.headrace_watches
TO {{role}}_consumer, {{role}}_admin;
-- It takes requests, and makes none. The audit is append-only for every role but this one: its
-- retention removes letters and edits that are old, and the rows of the audit about those letters.
GRANT SELECT, DELETE, UPDATE (args, state, instance, taken_by, answer, error) ON {{schema}}.headrace_requests TO {{role}}_consumer;
GRANT SELECT, DELETE, INSERT (subject_kind, subject, action, by_whom, reason, redrive_id, detail) ON {{schema}}.headrace_audit TO {{role}}_consumer;
GRANT SELECT, DELETE, INSERT ON {{schema}}.headrace_letter_edits TO {{role}}_consumer;

-- The operator sees everything, and decides what is no message.
GRANT SELECT ON
    {{schema}}.headrace_answers,
    {{schema}}.headrace_attempts,
    {{schema}}.headrace_audit,
    {{schema}}.headrace_backlog,
    {{schema}}.headrace_builds,
    {{schema}}.headrace_conditions,
    {{schema}}.headrace_dead_letters,
    {{schema}}.headrace_group_hours,
    {{schema}}.headrace_groups,
    {{schema}}.headrace_inbox,
    {{schema}}.headrace_instances,
    {{schema}}.headrace_letter_changes,
    {{schema}}.headrace_letter_edits,
    {{schema}}.headrace_marks,
    {{schema}}.headrace_memos,
    {{schema}}.headrace_outbox,
    {{schema}}.headrace_outbox_held,
    {{schema}}.headrace_outbox_owners,
    {{schema}}.headrace_pauses,
    {{schema}}.headrace_prunes,
    {{schema}}.headrace_redrive_letters,
    {{schema}}.headrace_redrives,
    {{schema}}.headrace_relays,
    {{schema}}.headrace_requests,
    {{schema}}.headrace_schedules,
    {{schema}}.headrace_sends,
    {{schema}}.headrace_steps,
    {{schema}}.headrace_subscriptions,
    {{schema}}.headrace_suspects,
    {{schema}}.headrace_systems,
    {{schema}}.headrace_versions,
    {{schema}}.headrace_watches
TO {{role}}_operator;
GRANT INSERT (kind, consumer, build, host, args, by_whom, reason, until, once) ON {{schema}}.headrace_requests TO {{role}}_operator;
GRANT INSERT (subject_kind, subject, action, by_whom, reason, redrive_id, detail) ON {{schema}}.headrace_audit TO {{role}}_operator;
GRANT INSERT, UPDATE ON {{schema}}.headrace_pauses, {{schema}}.headrace_systems TO {{role}}_operator;
GRANT UPDATE (
    state, state_at, resolved_at, resolved_by, resolved_build, muted_until, muted_count, muted_by, muted_anyway, assignee, note, link
) ON {{schema}}.headrace_groups TO {{role}}_operator;
-- headrace ui tells of a consumer that is gone.
GRANT INSERT, UPDATE, DELETE ON {{schema}}.headrace_conditions, {{schema}}.headrace_sends, {{schema}}.headrace_watches TO {{role}}_operator;
GRANT UPDATE (fired_at, fired_by) ON {{schema}}.headrace_schedules TO {{role}}_operator;
GRANT UPDATE (reason, due_at, attempts) ON {{schema}}.headrace_outbox_held TO {{role}}_operator;

-- The admin is an operator, and decides about the messages themselves. It is no member of the
-- consumer, so that it removes nothing from the audit, and answers no request.
GRANT {{role}}_operator TO {{role}}_admin;
GRANT INSERT ON {{schema}}.headrace_letter_edits TO {{role}}_admin;
GRANT UPDATE ON {{schema}}.headrace_meta TO {{role}}_admin;

-- The viewer sees where messages are, and not what they say.
GRANT SELECT ON
    {{schema}}.headrace_attempts,
    {{schema}}.headrace_audit,
    {{schema}}.headrace_builds,
    {{schema}}.headrace_conditions,
    {{schema}}.headrace_group_hours,
    {{schema}}.headrace_groups,
    {{schema}}.headrace_inbox,
    {{schema}}.headrace_instances,
    {{schema}}.headrace_letter_changes,
    {{schema}}.headrace_marks,
    {{schema}}.headrace_outbox_owners,
    {{schema}}.headrace_pauses,
    {{schema}}.headrace_prunes,
    {{schema}}.headrace_redrive_letters,
    {{schema}}.headrace_redrives,
    {{schema}}.headrace_relays,
    {{schema}}.headrace_schedules,
    {{schema}}.headrace_sends,
    {{schema}}.headrace_subscriptions,
    {{schema}}.headrace_suspects,
    {{schema}}.headrace_systems,
    {{schema}}.headrace_versions,
    {{schema}}.headrace_watches
TO {{role}}_viewer;
GRANT SELECT (scope, key, answered_at) ON {{schema}}.headrace_answers TO {{role}}_viewer;
GRANT SELECT (
    id, place, consumer, shard, status, due_at, handler, scope, key, order_key, strict, fingerprint, message_id, topic, coordinates,
    trace_parent, trace_state, attempt, spent, reruns, postponed_at, reason, error_fingerprint, letter_id, redrives, ready_at,
    reply_topic, token, starts
) ON {{schema}}.headrace_backlog TO {{role}}_viewer;
GRANT SELECT (
    id, state, class, consumer, handler, scope, key, order_key, strict, fingerprint, first_fingerprint, message_id, topic, coordinates,
    trace_parent, trace_state, error, error_fingerprint, chain, stack, attempts, first_failure, last_failure, previous_id, redrives,
    host, build, environment, reply_topic, deliveries, rev, created_at, changed_at
) ON {{schema}}.headrace_dead_letters TO {{role}}_viewer;
GRANT SELECT (letter_id, rev, by_whom, db_user, reason, at) ON {{schema}}.headrace_letter_edits TO {{role}}_viewer;
GRANT SELECT (system, step, input, token, until_at) ON {{schema}}.headrace_memos TO {{role}}_viewer;
GRANT SELECT (
    outbox, shard, id, message_id, topic, order_key, trace_parent, trace_state, created_at, copied
) ON {{schema}}.headrace_outbox TO {{role}}_viewer;
GRANT SELECT (
    outbox, shard, id, reason, due_at, attempts, error, message_id, topic, order_key, trace_parent, trace_state, created_at, copied
) ON {{schema}}.headrace_outbox_held TO {{role}}_viewer;
GRANT SELECT (
    id, kind, consumer, build, host, by_whom, db_user, reason, until, state, instance, taken_by, error, once, at
) ON {{schema}}.headrace_requests TO {{role}}_viewer;
GRANT SELECT (
    scope, key, step, system, state, generation, calls, call_id, input_hash, external_id, other_id, via, error, by_whom, reason,
    first_call_at, last_call_at, settled_at, changed_at
) ON {{schema}}.headrace_steps TO {{role}}_viewer;

-- Which requests a role may make. What only stops has a day, and nothing has more.
ALTER TABLE {{schema}}.headrace_requests ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS headrace_look ON {{schema}}.headrace_requests;
CREATE POLICY headrace_look ON {{schema}}.headrace_requests FOR SELECT
    TO {{role}}_consumer, {{role}}_operator, {{role}}_admin, {{role}}_viewer USING (true);
DROP POLICY IF EXISTS headrace_take ON {{schema}}.headrace_requests;
CREATE POLICY headrace_take ON {{schema}}.headrace_requests FOR UPDATE TO {{role}}_consumer USING (true);
DROP POLICY IF EXISTS headrace_forget ON {{schema}}.headrace_requests;
CREATE POLICY headrace_forget ON {{schema}}.headrace_requests FOR DELETE TO {{role}}_consumer USING (true);
DROP POLICY IF EXISTS headrace_ask ON {{schema}}.headrace_requests;
CREATE POLICY headrace_ask ON {{schema}}.headrace_requests FOR INSERT TO {{role}}_operator
    WITH CHECK (kind IN ('plan', 'apply', 'pause', 'resume', 'cancel', 'rehearse', 'restore', 'retry', 'alert')
        AND until < {{schema}}.headrace_now() + interval '25 hours');
DROP POLICY IF EXISTS headrace_ask_all ON {{schema}}.headrace_requests;
CREATE POLICY headrace_ask_all ON {{schema}}.headrace_requests FOR INSERT TO {{role}}_admin
    WITH CHECK (until < {{schema}}.headrace_now() + interval '25 hours');
