-- All tables. States, classes and the like are words without a CHECK: the other database
-- could not widen one, and the rules in checks/ look at them.

-- The time. Every statement reads it here, so that a test can have days go by. The
-- planner puts the body in the place of the call.
CREATE FUNCTION {{schema}}.headrace_now() RETURNS timestamptz LANGUAGE sql VOLATILE
AS $headrace$ SELECT clock_timestamp() $headrace$;

-- Limits for the rest of a transaction, in milliseconds; 0 leaves the setting as it is,
-- and a statement's limit is never raised. It is noted for txn_restore, as is a role that
-- the session has taken.
CREATE FUNCTION {{schema}}.headrace_limits(idle bigint, statement bigint) RETURNS text LANGUAGE sql VOLATILE
AS $headrace$ SELECT concat(
    CASE WHEN idle > 0 THEN set_config('idle_in_transaction_session_timeout', idle::text, true) END,
    CASE WHEN statement > 0 AND (current_setting('statement_timeout') = '0'
            OR current_setting('statement_timeout')::interval > statement * interval '1 millisecond')
        THEN set_config('statement_timeout', statement::text, true)
            || set_config('headrace.statement_timeout', statement::text, true) END,
    CASE WHEN current_setting('role') <> 'none' THEN set_config('headrace.role', current_setting('role'), true) END
) $headrace$;

-- The transaction survives a crash of the server, whatever the database's default is. A
-- stronger setting stays.
CREATE FUNCTION {{schema}}.headrace_durable() RETURNS text LANGUAGE sql VOLATILE
AS $headrace$ SELECT set_config('synchronous_commit', CASE
    WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
    ELSE current_setting('synchronous_commit') END, true) $headrace$;

-- Where each message is. The hot table: one row for every message, one index.
-- Keys compare by bytes (COLLATE "C"), so that no locale joins two of them. Here and in the
-- outbox no CHECK bounds them: each statement that inserts reads it anew from its text, a tenth of a
-- claim. The store checks them, and so does headrace check.
CREATE TABLE {{schema}}.headrace_inbox (
    scope       text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL, -- 1 to 512 bytes
    state       text NOT NULL DEFAULT 'done',
    fingerprint text NOT NULL,
    stale       boolean NOT NULL DEFAULT false,
    changed_at  timestamptz NOT NULL DEFAULT {{now}},
    PRIMARY KEY (scope, key)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_vacuum_scale_factor = 0.02);
-- The few rows that are not done are looked for by checks and by operators.
CREATE INDEX headrace_inbox_open ON {{schema}}.headrace_inbox (state, scope) WHERE state <> 'done';

-- Runs that failed. Only failures pay for it.
CREATE TABLE {{schema}}.headrace_attempts (
    scope       text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    n           integer NOT NULL CHECK (n >= 1),
    class       text NOT NULL,
    error       text NOT NULL,
    error_type  text NOT NULL,
    duration_us bigint NOT NULL,
    host        text NOT NULL,
    build       text NOT NULL,
    trace_parent text NOT NULL DEFAULT '',
    trace_state  text NOT NULL DEFAULT '',
    at          timestamptz NOT NULL DEFAULT {{now}},
    PRIMARY KEY (scope, key, n)
);

-- The durable work list. A row's id never changes, and orders the rows of a strict order
-- key. Its place orders the ready rows of a shard: at first it is the id, and it is drawn
-- anew from the same sequence each time that the row becomes ready again. Ready rows have
-- an index of their own that leads with what a worker asks for, so that a look for work
-- never walks over the others.
CREATE SEQUENCE {{schema}}.headrace_backlog_id;
CREATE TABLE {{schema}}.headrace_backlog (
    id          bigint NOT NULL PRIMARY KEY,
    place       bigint NOT NULL CHECK (place >= id),
    consumer    text COLLATE "C" NOT NULL,
    shard       smallint NOT NULL CHECK (shard >= 0 AND shard < 64),
    status      text NOT NULL, -- ready, delayed, blocked, leasable, leased
    due_at      timestamptz, -- of a delayed row, or the end of a lease
    handler     text COLLATE "C" NOT NULL,
    scope       text COLLATE "C" NOT NULL,
    key         text COLLATE "C", -- NULL where it is not known yet
    order_key   text COLLATE "C" NOT NULL,
    strict      boolean NOT NULL,
    fingerprint text,
    message_id  text NOT NULL,
    topic       text NOT NULL,
    payload     bytea, -- NULL: a tombstone
    metadata    bytea NOT NULL,
    coordinates text NOT NULL, -- JSON, with the time
    trace_parent text NOT NULL,
    trace_state  text NOT NULL,
    attempt     integer NOT NULL, -- the run to come
    spent       integer NOT NULL, -- attempts before the last redrive
    reruns      integer NOT NULL, -- runs since the last attempt that cost none
    postponed_at timestamptz, -- first postponement since the last change that was none
    reason      text NOT NULL DEFAULT '', -- why the latest run cost no attempt
    error_fingerprint text COLLATE "C" NOT NULL DEFAULT '', -- of the newest failed attempt
    letter_id   bigint NOT NULL,  -- redriven from; 0 if not
    redrives    integer NOT NULL,
    ready_at    timestamptz NOT NULL DEFAULT {{now}}, -- when it last became ready
    reply_topic text NOT NULL,
    token       text NOT NULL DEFAULT '', -- of the lease
    starts      integer NOT NULL DEFAULT 0 -- leases that were given
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01);
CREATE UNIQUE INDEX headrace_backlog_key ON {{schema}}.headrace_backlog (scope, key) WHERE key IS NOT NULL;
CREATE INDEX headrace_backlog_ready ON {{schema}}.headrace_backlog (consumer, shard, place) WHERE status = 'ready';
CREATE INDEX headrace_backlog_due ON {{schema}}.headrace_backlog (consumer, due_at, id) WHERE status = 'delayed';
CREATE INDEX headrace_backlog_leasable ON {{schema}}.headrace_backlog (consumer, handler, place) WHERE status = 'leasable';
CREATE INDEX headrace_backlog_leased ON {{schema}}.headrace_backlog (consumer, handler, due_at) WHERE status = 'leased';
-- What may hold up later rows of a strict key: those that are not ready, and those that
-- became ready anew, behind later ones. A new row is in neither of these indexes.
CREATE INDEX headrace_backlog_order ON {{schema}}.headrace_backlog (scope, order_key, id NULLS FIRST)
    WHERE strict AND order_key <> '' AND (status <> 'ready' OR place <> id);
-- Rows that failed, by the reason, for a person who looks. Only failures pay for it.
CREATE INDEX headrace_backlog_failed ON {{schema}}.headrace_backlog (error_fingerprint, id NULLS FIRST) WHERE error_fingerprint <> '';
CREATE INDEX headrace_backlog_blocked ON {{schema}}.headrace_backlog (scope, order_key, id NULLS FIRST) WHERE status = 'blocked';
-- Messages that were redriven, by their letter: a group whose messages still run is not resolved.
CREATE INDEX headrace_backlog_redriven ON {{schema}}.headrace_backlog (letter_id) WHERE letter_id > 0;

-- Events to publish that are ready: one index, and rows that live shortly.
CREATE SEQUENCE {{schema}}.headrace_outbox_id;
CREATE TABLE {{schema}}.headrace_outbox (
    outbox     text COLLATE "C" NOT NULL, -- the name of the store's outbox, or of a line: see headrace_subscriptions
    shard      smallint NOT NULL, -- 0 to 63
    id         bigint NOT NULL DEFAULT nextval($headrace${{schema}}.headrace_outbox_id$headrace$),
    message_id text NOT NULL,
    topic      text NOT NULL,
    order_key  text COLLATE "C" NOT NULL,
    payload    bytea, -- NULL: a tombstone
    metadata   bytea NOT NULL,
    trace_parent text NOT NULL,
    trace_state  text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT {{now}},
    copied     boolean NOT NULL DEFAULT false, -- onto the line of each consumer that was subscribed to the topic
    PRIMARY KEY (outbox, shard, id)
) WITH (autovacuum_vacuum_scale_factor = 0.01);
-- Events held back: delayed, refused by the sink and tried again later, parked, or
-- behind one of those. A held row keeps its id, and with it its place in the order.
CREATE TABLE {{schema}}.headrace_outbox_held (
    outbox     text COLLATE "C" NOT NULL,
    shard      smallint NOT NULL CHECK (shard >= 0 AND shard < 64),
    id         bigint NOT NULL DEFAULT nextval($headrace${{schema}}.headrace_outbox_id$headrace$),
    reason     text NOT NULL, -- delayed, backoff, parked, behind
    due_at     timestamptz, -- of delayed and backoff rows
    attempts   integer NOT NULL,
    error      text NOT NULL,
    message_id text NOT NULL,
    topic      text NOT NULL,
    order_key  text COLLATE "C" NOT NULL,
    payload    bytea, -- NULL: a tombstone
    metadata   bytea NOT NULL,
    trace_parent text NOT NULL,
    trace_state  text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT {{now}},
    copied     boolean NOT NULL DEFAULT false, -- onto the line of each consumer that was subscribed to the topic
    PRIMARY KEY (outbox, shard, id)
) WITH (autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX headrace_outbox_held_due ON {{schema}}.headrace_outbox_held (outbox, shard, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX headrace_outbox_held_order ON {{schema}}.headrace_outbox_held (outbox, shard, topic, order_key, id) WHERE reason <> 'delayed' AND order_key <> '';
CREATE INDEX headrace_outbox_held_parked ON {{schema}}.headrace_outbox_held (id, outbox) WHERE reason = 'parked';

-- Topics that consumers get the events of, through lines of their own in the outbox: the
-- column outbox is 'local/' and the consumer's name there.
CREATE TABLE {{schema}}.headrace_subscriptions (
    topic      text COLLATE "C" NOT NULL,
    consumer   text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL DEFAULT {{now}},
    seen_at    timestamptz NOT NULL, -- when a running process last had a handler for it
    PRIMARY KEY (topic, consumer)
) WITH (fillfactor = 50);

-- Processes that publish an outbox, or wait while others do it with another sink.
CREATE TABLE {{schema}}.headrace_relays (
    id         text COLLATE "C" NOT NULL PRIMARY KEY,
    outbox     text COLLATE "C" NOT NULL,
    sink       text NOT NULL,
    serves     boolean NOT NULL,
    host       text NOT NULL,
    beat_at    timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Whose events an outbox holds: the consumers that publish it. It outlives their processes, so
-- that another service does not publish what waits while they are down.
CREATE TABLE {{schema}}.headrace_outbox_owners (
    outbox   text COLLATE "C" NOT NULL,
    consumer text COLLATE "C" NOT NULL, -- or the name of a relay without a consumer
    sink     text NOT NULL, -- its SinkID; '' if it has none
    PRIMARY KEY (outbox, consumer)
);

-- What leased handlers have done to other systems: a row for each step of a message. It
-- goes with the message's row in the inbox.
CREATE TABLE {{schema}}.headrace_steps (
    scope       text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    step        text COLLATE "C" NOT NULL CHECK (step <> ''), -- its name, with a slash and an item of several
    system      text COLLATE "C" NOT NULL,
    state       text NOT NULL, -- pending, done, failed, parked, skipped; of a signal awaiting, done, expired, failed
    generation  integer NOT NULL DEFAULT 0, -- idempotency keys that are used up
    calls       integer NOT NULL DEFAULT 1,
    call_id     text NOT NULL, -- random: of the latest call, or of the one that returned the result
    input_hash  text NOT NULL,
    external_id text COLLATE "C" NOT NULL DEFAULT '',
    other_id    text COLLATE "C" NOT NULL DEFAULT '', -- what a second call made that nobody wanted
    via         text NOT NULL DEFAULT '', -- call, exists, probe, memo, signal, person; '' unless done, or parked because only its result is missing
    error       text NOT NULL DEFAULT '',
    by_whom     text NOT NULL DEFAULT '', -- who has decided on it last, and why
    reason      text NOT NULL DEFAULT '',
    first_call_at timestamptz, -- of the generation; NULL before it; of a signal, when its time is over
    last_call_at  timestamptz NOT NULL,
    settled_at    timestamptz, -- until when a system may still work on a call; of a signal until when it waits for its message, else NULL
    changed_at    timestamptz NOT NULL,
    result      bytea,
    PRIMARY KEY (scope, key, step)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX headrace_steps_external_id ON {{schema}}.headrace_steps (system, external_id) WHERE external_id <> '';
CREATE INDEX headrace_steps_other_id ON {{schema}}.headrace_steps (system, other_id) WHERE other_id <> '';
CREATE INDEX headrace_steps_review ON {{schema}}.headrace_steps (state, changed_at) INCLUDE (scope) WHERE state IN ('pending', 'parked', 'skipped', 'awaiting');
CREATE INDEX headrace_steps_early ON {{schema}}.headrace_steps (settled_at) WHERE system = '' AND settled_at IS NOT NULL;
-- Without the pending ones: each call would write it.
CREATE INDEX headrace_steps_count ON {{schema}}.headrace_steps (state, scope) WHERE state IN ('parked', 'skipped', 'awaiting');

-- What handlers answered, for those who ask for it: a row for a message that is done. It
-- goes with the message's row in the inbox.
CREATE TABLE {{schema}}.headrace_answers (
    scope       text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    answered_at timestamptz NOT NULL,
    answer      text NOT NULL, -- JSON
    PRIMARY KEY (scope, key)
);

-- Messages given up, whole.
CREATE SEQUENCE {{schema}}.headrace_dead_letters_id;
CREATE TABLE {{schema}}.headrace_dead_letters (
    id          bigint NOT NULL DEFAULT nextval($headrace${{schema}}.headrace_dead_letters_id$headrace$) PRIMARY KEY,
    state       text NOT NULL DEFAULT 'open', -- open, redriven, discarded
    class       text NOT NULL,
    consumer    text COLLATE "C" NOT NULL,
    handler     text COLLATE "C" NOT NULL,
    scope       text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    order_key   text COLLATE "C" NOT NULL,
    strict      boolean NOT NULL,
    fingerprint text NOT NULL,
    first_fingerprint text NOT NULL,
    message_id  text NOT NULL,
    topic       text NOT NULL,
    payload     bytea, -- NULL: a tombstone
    metadata    bytea NOT NULL,
    coordinates text NOT NULL, -- JSON, with the time
    trace_parent text NOT NULL,
    trace_state  text NOT NULL,
    error       text NOT NULL,
    error_fingerprint text NOT NULL,
    chain       text NOT NULL, -- JSON array of strings
    stack       text NOT NULL,
    attempts    integer NOT NULL,
    first_failure timestamptz NOT NULL,
    last_failure  timestamptz NOT NULL,
    previous_id bigint NOT NULL,
    redrives    integer NOT NULL,
    host        text NOT NULL,
    build       text NOT NULL,
    environment text NOT NULL,
    reply_topic text NOT NULL DEFAULT '',
    deliveries  integer NOT NULL DEFAULT 0, -- of a message under a stand-in key
    rev         integer NOT NULL DEFAULT 0, -- how many edits it has
    created_at  timestamptz NOT NULL DEFAULT {{now}},
    changed_at  timestamptz NOT NULL DEFAULT {{now}}
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);
-- A message has one open letter; a conflict one letter for good, so that one that was
-- decided is not asked again.
CREATE UNIQUE INDEX headrace_dead_letters_open ON {{schema}}.headrace_dead_letters (scope, key, fingerprint) WHERE state = 'open' AND class <> 'conflict';
CREATE UNIQUE INDEX headrace_dead_letters_conflict ON {{schema}}.headrace_dead_letters (scope, key, fingerprint) WHERE class = 'conflict';
CREATE INDEX headrace_dead_letters_group ON {{schema}}.headrace_dead_letters (error_fingerprint, id) WHERE state = 'open';
CREATE INDEX headrace_dead_letters_open_id ON {{schema}}.headrace_dead_letters (id) WHERE state = 'open';
CREATE INDEX headrace_dead_letters_key ON {{schema}}.headrace_dead_letters (key, id);
-- From a letter to the one after it.
CREATE INDEX headrace_dead_letters_previous ON {{schema}}.headrace_dead_letters (previous_id) WHERE previous_id > 0;
-- Open letters, to be counted for gauges without a look at them: entries that are equal share one
-- key in the index, so that a million take 7 MB.
CREATE INDEX headrace_dead_letters_count ON {{schema}}.headrace_dead_letters (class, consumer, error_fingerprint, handler) WHERE state = 'open';

-- Edits of letters: what a redrive sends in place of the bytes that came, which never change.
-- Rows are only added, and go with their letter.
CREATE TABLE {{schema}}.headrace_letter_edits (
    letter_id bigint NOT NULL,
    rev       integer NOT NULL, -- from 1; the letter's rev is in force
    payload   bytea, -- NULL: a tombstone
    metadata  bytea NOT NULL,
    by_whom   text NOT NULL, -- as the person says
    db_user   text NOT NULL, -- that asked for it, as the database knows
    reason    text NOT NULL,
    at        timestamptz NOT NULL DEFAULT {{now}},
    PRIMARY KEY (letter_id, rev)
);

-- Who did what, to what, and why. Rows are only added; those of a letter go with it.
CREATE TABLE {{schema}}.headrace_audit (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    subject_kind text COLLATE "C" NOT NULL, -- letter, consumer, group, redrive, message, request, system, suspect, outbox, database
    subject      text COLLATE "C" NOT NULL, -- its id or name; '' where there is one only
    action       text NOT NULL,
    by_whom      text NOT NULL, -- as the person says
    db_user      text NOT NULL DEFAULT session_user, -- as the database knows
    reason       text NOT NULL,
    redrive_id   bigint NOT NULL DEFAULT 0,
    detail       text NOT NULL DEFAULT '',
    at           timestamptz NOT NULL DEFAULT {{now}}
);
CREATE INDEX headrace_audit_subject ON {{schema}}.headrace_audit (subject_kind, subject, id);

-- What opened and closed letters: a row for each statement, group and build, written by the
-- triggers below, so that transactions that fail at the same time never wait for each other. The
-- rows are added up into the next two tables, and go. Cancelled letters belong to no group.
CREATE TABLE {{schema}}.headrace_letter_changes (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    consumer   text COLLATE "C" NOT NULL,
    handler    text COLLATE "C" NOT NULL,
    error_fingerprint text NOT NULL,
    class      text NOT NULL,
    build      text NOT NULL,
    opened     bigint NOT NULL,
    closed     bigint NOT NULL, -- less those that were restored
    expired    bigint NOT NULL, -- of those closed: letters that were removed while they were open
    discarded  bigint NOT NULL DEFAULT 0, -- of those closed
    oldest     bigint, -- letter that was opened; NULL if none was
    newest     bigint,
    at         timestamptz NOT NULL -- of the newest
) WITH (autovacuum_vacuum_scale_factor = 0.01);

-- The letters of one handler with the same error fingerprint: how many, and what people and time
-- made of them. A view adds the rows above to it.
CREATE TABLE {{schema}}.headrace_groups (
    consumer   text COLLATE "C" NOT NULL,
    handler    text COLLATE "C" NOT NULL,
    error_fingerprint text NOT NULL,
    class      text NOT NULL, -- of the newest letter
    state      text NOT NULL, -- new, ongoing, escalating, resolved, regressed
    state_at   timestamptz NOT NULL, -- when it became that
    open       bigint NOT NULL,
    total      bigint NOT NULL, -- opened, ever
    first_at   timestamptz NOT NULL,
    last_at    timestamptz NOT NULL,
    first_build text NOT NULL,
    last_build  text NOT NULL,
    first_letter bigint NOT NULL,
    last_letter  bigint NOT NULL,
    sample     text NOT NULL, -- the error of the newest letter, cut
    resolved_at timestamptz, -- the last time
    resolved_by text NOT NULL DEFAULT '', -- '' if it was by itself
    resolved_build text NOT NULL DEFAULT '', -- '' if only time counts
    muted_until timestamptz, -- NULL: without an end
    muted_count bigint, -- the total that ends it; NULL: none does
    muted_by    text NOT NULL DEFAULT '', -- '' if it is not muted
    muted_anyway boolean NOT NULL DEFAULT false, -- also when it gets worse
    assignee   text NOT NULL DEFAULT '',
    note       text NOT NULL DEFAULT '',
    link       text NOT NULL DEFAULT '',
    PRIMARY KEY (consumer, handler, error_fingerprint)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX headrace_groups_begun ON {{schema}}.headrace_groups (consumer, state_at) WHERE state IN ('new', 'regressed', 'escalating');
-- How many letters of a group were opened in an hour, by build.
CREATE TABLE {{schema}}.headrace_group_hours (
    consumer   text COLLATE "C" NOT NULL,
    handler    text COLLATE "C" NOT NULL,
    error_fingerprint text NOT NULL,
    hour       timestamptz NOT NULL,
    build      text NOT NULL,
    n          bigint NOT NULL,
    first_at   timestamptz NOT NULL,
    PRIMARY KEY (consumer, handler, error_fingerprint, hour, build)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

-- When a consumer first started each build, which is the order of builds.
CREATE TABLE {{schema}}.headrace_builds (
    consumer   text COLLATE "C" NOT NULL,
    build      text NOT NULL,
    first_at   timestamptz NOT NULL,
    PRIMARY KEY (consumer, build)
);

-- A trigger with transition tables may have neither a column list nor two events: so there are
-- three, each with one row for a statement, a group and a build.
CREATE FUNCTION {{schema}}.headrace_letters_inserted() RETURNS trigger LANGUAGE plpgsql AS $headrace$
BEGIN
    INSERT INTO {{schema}}.headrace_letter_changes (consumer, handler, error_fingerprint, class, build, opened, closed, expired, oldest, newest, at)
    SELECT l.consumer, l.handler, l.error_fingerprint, l.class, l.build, count(*), 0, 0, min(l.id), max(l.id), max(l.created_at)
    FROM after AS l
    WHERE l.state = 'open' AND l.class <> 'cancelled'
    GROUP BY l.consumer, l.handler, l.error_fingerprint, l.class, l.build;
    RETURN NULL;
END $headrace$;
CREATE TRIGGER headrace_letters_inserted AFTER INSERT ON {{schema}}.headrace_dead_letters
    REFERENCING NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION {{schema}}.headrace_letters_inserted();

-- It writes nothing where neither the state nor the group changed. A letter that is restored is none
-- that came: it takes its discard back.
CREATE FUNCTION {{schema}}.headrace_letters_updated() RETURNS trigger LANGUAGE plpgsql AS $headrace$
BEGIN
    INSERT INTO {{schema}}.headrace_letter_changes (consumer, handler, error_fingerprint, class, build, opened, closed, expired, discarded, oldest, newest, at)
    SELECT c.consumer, c.handler, c.error_fingerprint, c.class, c.build, count(c.opened), count(c.closed) - count(c.restored), 0,
        count(c.closed) FILTER (WHERE c.becomes = 'discarded') - count(c.restored), min(c.opened), max(c.opened), max(c.changed_at)
    FROM after AS n
    JOIN before AS o ON o.id = n.id
    CROSS JOIN LATERAL (
        SELECT n.consumer, n.handler, n.error_fingerprint, n.class, n.build, CASE WHEN o.state <> 'discarded' THEN n.id END AS opened,
            NULL::bigint AS closed, CASE WHEN o.state = 'discarded' THEN n.id END AS restored, n.changed_at, n.state, n.state AS becomes
        UNION ALL
        SELECT o.consumer, o.handler, o.error_fingerprint, o.class, o.build, NULL, o.id, NULL, n.changed_at, o.state, n.state
    ) AS c
    WHERE (n.state = 'open', n.consumer, n.handler, n.error_fingerprint, n.class) IS DISTINCT FROM (o.state = 'open', o.consumer, o.handler, o.error_fingerprint, o.class)
        AND c.state = 'open' AND c.class <> 'cancelled'
    GROUP BY c.consumer, c.handler, c.error_fingerprint, c.class, c.build;
    RETURN NULL;
END $headrace$;
CREATE TRIGGER headrace_letters_updated AFTER UPDATE ON {{schema}}.headrace_dead_letters
    REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION {{schema}}.headrace_letters_updated();

CREATE FUNCTION {{schema}}.headrace_letters_deleted() RETURNS trigger LANGUAGE plpgsql AS $headrace$
BEGIN
    INSERT INTO {{schema}}.headrace_letter_changes (consumer, handler, error_fingerprint, class, build, opened, closed, expired, at)
    SELECT l.consumer, l.handler, l.error_fingerprint, l.class, l.build, 0, count(*), count(*), max(l.changed_at)
    FROM before AS l
    WHERE l.state = 'open' AND l.class <> 'cancelled'
    GROUP BY l.consumer, l.handler, l.error_fingerprint, l.class, l.build;
    RETURN NULL;
END $headrace$;
CREATE TRIGGER headrace_letters_deleted AFTER DELETE ON {{schema}}.headrace_dead_letters
    REFERENCING OLD TABLE AS before FOR EACH STATEMENT EXECUTE FUNCTION {{schema}}.headrace_letters_deleted();

-- The newest version that was applied of each entity.
CREATE TABLE {{schema}}.headrace_versions (
    scope      text COLLATE "C" NOT NULL,
    entity     text COLLATE "C" NOT NULL CHECK (entity <> '' AND octet_length(entity) <= 512),
    version    bigint NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT {{now}},
    PRIMARY KEY (scope, entity)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- Processes that run a consumer.
CREATE TABLE {{schema}}.headrace_instances (
    id            text COLLATE "C" NOT NULL PRIMARY KEY,
    consumer      text COLLATE "C" NOT NULL,
    host          text NOT NULL,
    build         text NOT NULL,
    environment   text NOT NULL,
    handlers      text NOT NULL, -- JSON array of the names of its handlers
    started_at    timestamptz NOT NULL DEFAULT {{now}},
    beat_at       timestamptz NOT NULL DEFAULT {{now}},
    counted_at    timestamptz, -- when its death was counted against its marks
    ended_at      timestamptz, -- when it ended in order
    rate          double precision NOT NULL DEFAULT 0, -- messages that it applies in a second, in its last beats
    p50_us        bigint NOT NULL DEFAULT 0 -- how long a run of a handler takes, the median
) WITH (fillfactor = 50);
CREATE INDEX headrace_instances_consumer ON {{schema}}.headrace_instances (consumer);
-- The messages that a worker of an instance is about to run, as hashes of 16 bytes one
-- after the other, and whether they are the only work of the process.
CREATE TABLE {{schema}}.headrace_marks (
    instance      text COLLATE "C" NOT NULL,
    worker        integer NOT NULL,
    messages      bytea NOT NULL CHECK (octet_length(messages) > 0 AND octet_length(messages) % 16 = 0),
    alone         boolean NOT NULL,
    at            timestamptz NOT NULL DEFAULT {{now}},
    PRIMARY KEY (instance, worker)
) WITH (fillfactor = 50);
-- Messages that ran when a process ended unexpectedly, and in how many deaths they were
-- the only work or had other work beside them.
CREATE TABLE {{schema}}.headrace_suspects (
    consumer      text COLLATE "C" NOT NULL,
    message       bytea NOT NULL CHECK (octet_length(message) = 16),
    alone         integer NOT NULL,
    beside        integer NOT NULL,
    at            timestamptz NOT NULL DEFAULT {{now}}, -- of the last death
    PRIMARY KEY (consumer, message)
);
-- Consumers that a person has paused.
CREATE TABLE {{schema}}.headrace_pauses (
    consumer   text COLLATE "C" NOT NULL PRIMARY KEY,
    by_whom    text NOT NULL,
    reason     text NOT NULL,
    at         timestamptz NOT NULL DEFAULT {{now}},
    resumed_by text NOT NULL DEFAULT '',
    resumed_at timestamptz -- while it is NULL, the consumer is paused
);

-- What people ask the processes of a consumer to do. A login that may insert a row can
-- forge neither its own name nor an answer.
CREATE TABLE {{schema}}.headrace_requests (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind        text COLLATE "C" NOT NULL,
    consumer    text COLLATE "C" NOT NULL,
    build       text NOT NULL, -- whose processes may take it; '' is any
    host        text NOT NULL,
    args        text NOT NULL, -- JSON
    by_whom     text NOT NULL,
    db_user     text NOT NULL DEFAULT session_user,
    reason      text NOT NULL,
    until       timestamptz NOT NULL, -- it is not taken any more from then on
    state       text NOT NULL DEFAULT 'waiting', -- waiting, taken, done, refused, failed, expired
    instance    text COLLATE "C" NOT NULL DEFAULT '', -- that took it
    taken_by    text NOT NULL DEFAULT '', -- its host and build
    answer      text, -- JSON, of one that is done; of one that is taken, how far it is
    error       text NOT NULL DEFAULT '', -- of one that was refused or failed
    once        text COLLATE "C" NOT NULL DEFAULT '', -- which form was sent; '' where each request is one of its own
    at          timestamptz NOT NULL DEFAULT {{now}}
);
CREATE UNIQUE INDEX headrace_requests_once ON {{schema}}.headrace_requests (once) WHERE once <> '';
CREATE INDEX headrace_requests_waiting ON {{schema}}.headrace_requests (consumer, until) WHERE state = 'waiting';

-- Results that the steps of several messages share, by the hash of their input. A row is free
-- when its time is over, with a result or without.
CREATE TABLE {{schema}}.headrace_memos (
    system   text COLLATE "C" NOT NULL,
    step     text COLLATE "C" NOT NULL, -- its name, without an item
    input    text COLLATE "C" NOT NULL,
    token    text NOT NULL, -- whose call is under way; '' with a result
    until_at timestamptz NOT NULL,
    result   bytea,
    PRIMARY KEY (system, step, input)
);
CREATE INDEX headrace_memos_until_at ON {{schema}}.headrace_memos (until_at);

-- Pauses of the systems that steps call. A row stays, to say who resumed the system.
CREATE TABLE {{schema}}.headrace_systems (
    system       text COLLATE "C" NOT NULL PRIMARY KEY,
    paused_until timestamptz NOT NULL,
    reason       text NOT NULL,
    by_whom      text NOT NULL, -- '' for an answer 429
    changed_at   timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Calendars whose ticks are messages. No column says what was the last tick: its id follows from
-- the calendar, and the inbox takes it once.
CREATE TABLE {{schema}}.headrace_schedules (
    name     text COLLATE "C" NOT NULL PRIMARY KEY,
    cron     text NOT NULL,
    zone     text NOT NULL,
    since    timestamptz NOT NULL, -- earlier ticks never come
    within   bigint NOT NULL, -- how long its ticks may come after their time, in µs
    seen_at  timestamptz, -- when a process last made its ticks
    fired_at timestamptz, -- when a person asked for a tick
    fired_by text NOT NULL DEFAULT '',
    checked_to timestamptz, -- until when a source of truth was compared: see package reconcile
    missing  bigint, -- items without a message, in the last run
    gap_from timestamptz, -- what the last run could not compare, since messages of that time may be pruned
    gap_to   timestamptz
) WITH (fillfactor = 50);

-- What is wrong, and was. The key is a hash that receivers of alerts know.
CREATE TABLE {{schema}}.headrace_conditions (
    key         text COLLATE "C" NOT NULL PRIMARY KEY,
    namespace   text COLLATE "C" NOT NULL, -- the consumer that judges it, '' for the database
    kind        text NOT NULL,
    consumer    text NOT NULL,
    handler     text NOT NULL,
    error_fingerprint text NOT NULL,
    instance    text NOT NULL, -- that reports it; '' if it is judged from the tables
    severity    text NOT NULL,
    state       text NOT NULL, -- pending, firing, resolved
    since       timestamptz NOT NULL,
    quiet_at    timestamptz, -- since when nothing is wrong any more
    ended_at    timestamptz,
    n           bigint NOT NULL,
    base        bigint NOT NULL, -- n at base_at, by which its growth is known
    base_at     timestamptz,
    known       boolean NOT NULL, -- a person deals with it
    alert       text NOT NULL -- JSON: what sinks are sent, without payload, key and header
) WITH (fillfactor = 70);
CREATE INDEX headrace_conditions_namespace ON {{schema}}.headrace_conditions (namespace);
-- What each sink knows of a condition.
CREATE TABLE {{schema}}.headrace_sends (
    key         text COLLATE "C" NOT NULL,
    sink        text COLLATE "C" NOT NULL,
    phase       text NOT NULL, -- what it took last: firing, again, resolved; '' for nothing
    severity    text NOT NULL,
    n           bigint NOT NULL,
    sent_at     timestamptz,
    failures    bigint NOT NULL,
    failing_at  timestamptz,
    down_at     timestamptz, -- since when the sink takes nothing, of this or of another condition
    due_at      timestamptz,
    error       text NOT NULL,
    lost        bigint NOT NULL,
    PRIMARY KEY (key, sink)
) WITH (fillfactor = 70);
-- Who judges a namespace, and who sends its alerts to a sink: until when it alone does, and when
-- that was done last.
CREATE TABLE {{schema}}.headrace_watches (
    name        text COLLATE "C" NOT NULL PRIMARY KEY,
    owner       text NOT NULL,
    until       timestamptz NOT NULL,
    done_at     timestamptz
) WITH (fillfactor = 70);

-- Redrives, and discards of many letters: first a plan, then a job of the consumer's processes.
CREATE TABLE {{schema}}.headrace_redrives (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind         text NOT NULL, -- redrive, discard
    state        text NOT NULL, -- preparing, planned, running, paused, done, cancelled
    why          text NOT NULL DEFAULT '', -- it is paused or cancelled, or sends nothing at present
    consumer     text COLLATE "C" NOT NULL,
    filter       text NOT NULL, -- which letters, for people
    handler      text COLLATE "C" NOT NULL DEFAULT '', -- and error_fingerprint: the group that it chooses, '' for any
    error_fingerprint text NOT NULL DEFAULT '',
    count        bigint NOT NULL DEFAULT 0, -- letters of the list
    survey       text NOT NULL DEFAULT '[]', -- JSON: what these letters were when they were listed
    builds       text NOT NULL, -- JSON array: those that run
    stages       text NOT NULL, -- JSON array: how many letters each but the last one has
    max_running  integer NOT NULL,
    rate         double precision NOT NULL, -- letters a second; 0 is unbounded
    pause_at     double precision NOT NULL, -- percent
    stage_timeout_us bigint NOT NULL,
    stage        integer NOT NULL DEFAULT 1,
    stage_at     timestamptz, -- when it began, or the job was resumed in it
    stage_sent   bigint NOT NULL DEFAULT 0,
    stage_good   bigint NOT NULL DEFAULT 0,
    recent       text NOT NULL DEFAULT '', -- the stage's last outcomes, a character each: see package job
    sent         bigint NOT NULL DEFAULT 0,
    succeeded    bigint NOT NULL DEFAULT 0,
    failed_again bigint NOT NULL DEFAULT 0,
    unknown      bigint NOT NULL DEFAULT 0,
    skipped      bigint NOT NULL DEFAULT 0,
    tokens_at    timestamptz, -- until when the rate is used up
    planned_by   text NOT NULL,
    planned_at   timestamptz NOT NULL DEFAULT {{now}},
    expires_at   timestamptz, -- of the plan
    applied_by   text NOT NULL DEFAULT '',
    reason       text NOT NULL DEFAULT '',
    open_calls   boolean NOT NULL DEFAULT false, -- a discard: also letters with a call of unknown outcome
    applied_at   timestamptz,
    resumed_at   timestamptz, -- or applied
    stepped_at   timestamptz,
    ended_at     timestamptz
) WITH (fillfactor = 50);
CREATE INDEX headrace_redrives_unfinished ON {{schema}}.headrace_redrives (consumer, id) WHERE state IN ('running', 'paused');
-- The letters of a redrive, and what became of each.
CREATE TABLE {{schema}}.headrace_redrive_letters (
    redrive_id  bigint NOT NULL,
    letter_id   bigint NOT NULL,
    rev         integer NOT NULL, -- of the letter, as planned
    state       text NOT NULL, -- queued, sent, succeeded, failed, unknown, skipped
    why         text NOT NULL DEFAULT '', -- it was skipped
    scope       text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL, -- that it was sent under
    order_key   text COLLATE "C" NOT NULL, -- '' unless its order is strict
    next_letter bigint NOT NULL DEFAULT 0, -- that it made when it failed again
    at          timestamptz NOT NULL DEFAULT {{now}}, -- when it was listed or sent
    PRIMARY KEY (redrive_id, letter_id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX headrace_redrive_letters_queued ON {{schema}}.headrace_redrive_letters (redrive_id, letter_id) WHERE state = 'queued';
CREATE INDEX headrace_redrive_letters_sent ON {{schema}}.headrace_redrive_letters (redrive_id, at) WHERE state = 'sent';
CREATE INDEX headrace_redrive_letters_order ON {{schema}}.headrace_redrive_letters (redrive_id, scope, order_key, letter_id) WHERE order_key <> '';

-- Whose turn it is to prune, and how far that has come: one round for each consumer,
-- shared by its processes. Old rows of the inbox are found by a walk over the table,
-- so that an insert pays for no index on their age.
CREATE TABLE {{schema}}.headrace_prunes (
    consumer text COLLATE "C" NOT NULL PRIMARY KEY,
    position text NOT NULL, -- '' is the start
    due_at   timestamptz NOT NULL,
    cut      timestamptz -- messages from before it may be removed; NULL while none was
) WITH (fillfactor = 50);

-- The schema itself, in one row. The id is random and goes with a dump; idempotency keys
-- are computed from it. Builds from version readable_from on run on this schema. Each
-- migration ends with a statement that sets both numbers.
CREATE TABLE {{schema}}.headrace_meta (
    one           integer PRIMARY KEY DEFAULT 1 CHECK (one = 1),
    id            text COLLATE "C" NOT NULL,
    version       integer NOT NULL,
    readable_from integer NOT NULL,
    fingerprint   text NOT NULL DEFAULT '{{fingerprint}}', -- of this file's statements
    -- Suspect mode: steps of messages from before this time may have been called although
    -- no row says so. NULL is off.
    suspect_until  timestamptz,
    suspect_since  timestamptz, -- when it began
    suspect_by     text NOT NULL DEFAULT '',
    suspect_reason text NOT NULL DEFAULT ''
);
INSERT INTO {{schema}}.headrace_meta (id, version, readable_from) VALUES (gen_random_uuid()::text, 1, 1);
