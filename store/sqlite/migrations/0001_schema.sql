-- All tables. Text compares by bytes (BINARY is SQLite's default collation), and every time
-- is in microseconds since 1970, by SQLite's clock, which counts whole milliseconds: what
-- is due at a time is due in the millisecond of that time. A default cannot read the clock
-- below, so statements give the time. Large columns come last: SQLite reads a row from its
-- start. States, classes and the like are words without a CHECK, which SQLite could not
-- widen; the rules in checks/ look at them.

-- What is added to the time of every statement: 0, but in a test that has days go by.
CREATE TABLE {{schema}}.headrace_clock (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    shift_us INTEGER NOT NULL
) STRICT;
INSERT INTO {{schema}}.headrace_clock (id, shift_us) VALUES (1, 0);

-- SQLite has no sequences. Ids must go up even when a table runs empty, because a
-- worker remembers how far it has read; so the last id given is kept in a row.
CREATE TABLE {{schema}}.headrace_sequences (
    name TEXT NOT NULL PRIMARY KEY,
    last INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO {{schema}}.headrace_sequences (name, last) VALUES ('backlog', 0), ('outbox', 0);

-- Where each message is. The hot table: one row for every message, and the table is
-- its own index.
CREATE TABLE {{schema}}.headrace_inbox (
    scope       TEXT NOT NULL,
    key         TEXT NOT NULL CHECK (key <> '' AND octet_length(key) <= 512),
    state       TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    stale       INTEGER NOT NULL DEFAULT 0 CHECK (stale IN (0, 1)),
    changed_at  INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
-- The few rows that are not done are looked for by checks and by operators.
CREATE INDEX {{schema}}.headrace_inbox_open ON headrace_inbox (state, scope) WHERE state <> 'done';

-- Runs that failed. Only failures pay for it.
CREATE TABLE {{schema}}.headrace_attempts (
    scope       TEXT NOT NULL,
    key         TEXT NOT NULL,
    n           INTEGER NOT NULL CHECK (n >= 1),
    class       TEXT NOT NULL,
    error       TEXT NOT NULL,
    error_type  TEXT NOT NULL,
    duration_us INTEGER NOT NULL,
    host        TEXT NOT NULL,
    build       TEXT NOT NULL,
    trace_parent TEXT NOT NULL DEFAULT '',
    trace_state  TEXT NOT NULL DEFAULT '',
    at          INTEGER NOT NULL,
    PRIMARY KEY (scope, key, n)
) STRICT;

-- The durable work list. A row's id never changes, and orders the rows of a strict order
-- key. Its place orders the ready rows of a shard: at first it is the id, and it is drawn
-- anew from the same sequence each time that the row becomes ready again. Ready rows have
-- an index of their own that leads with what a worker asks for, so that a look for work
-- never walks over the others.
CREATE TABLE {{schema}}.headrace_backlog (
    id          INTEGER PRIMARY KEY, -- of the sequence 'backlog'
    place       INTEGER NOT NULL CHECK (place >= id),
    consumer    TEXT NOT NULL,
    shard       INTEGER NOT NULL CHECK (shard >= 0 AND shard < 64),
    status      TEXT NOT NULL, -- ready, delayed, blocked, leasable, leased
    due_at      INTEGER, -- of a delayed row, or the end of a lease
    handler     TEXT NOT NULL,
    scope       TEXT NOT NULL,
    key         TEXT, -- NULL where it is not known yet
    order_key   TEXT NOT NULL,
    strict      INTEGER NOT NULL CHECK (strict IN (0, 1)),
    fingerprint TEXT,
    message_id  TEXT NOT NULL,
    topic       TEXT NOT NULL,
    trace_parent TEXT NOT NULL,
    trace_state  TEXT NOT NULL,
    attempt     INTEGER NOT NULL, -- the run to come
    spent       INTEGER NOT NULL, -- attempts before the last redrive
    reruns      INTEGER NOT NULL, -- runs since the last attempt that cost none
    postponed_at INTEGER, -- first postponement since the last change that was none
    reason      TEXT NOT NULL DEFAULT '', -- why the latest run cost no attempt
    error_fingerprint TEXT NOT NULL DEFAULT '', -- of the newest failed attempt
    letter_id   INTEGER NOT NULL, -- redriven from; 0 if not
    redrives    INTEGER NOT NULL,
    ready_at    INTEGER NOT NULL, -- when it last became ready
    reply_topic TEXT NOT NULL,
    token       TEXT NOT NULL DEFAULT '', -- of the lease
    starts      INTEGER NOT NULL DEFAULT 0, -- leases that were given
    coordinates TEXT NOT NULL, -- JSON, with the time
    metadata    BLOB NOT NULL,
    payload     BLOB -- NULL: a tombstone
) STRICT;
CREATE UNIQUE INDEX {{schema}}.headrace_backlog_key ON headrace_backlog (scope, key) WHERE key IS NOT NULL;
CREATE INDEX {{schema}}.headrace_backlog_ready ON headrace_backlog (consumer, shard, place) WHERE status = 'ready';
CREATE INDEX {{schema}}.headrace_backlog_due ON headrace_backlog (consumer, due_at, id) WHERE status = 'delayed';
CREATE INDEX {{schema}}.headrace_backlog_leasable ON headrace_backlog (consumer, handler, place) WHERE status = 'leasable';
CREATE INDEX {{schema}}.headrace_backlog_leased ON headrace_backlog (consumer, handler, due_at) WHERE status = 'leased';
-- What may hold up later rows of a strict key: those that are not ready, and those that
-- became ready anew, behind later ones. A new row is in neither of these indexes.
CREATE INDEX {{schema}}.headrace_backlog_order ON headrace_backlog (scope, order_key, id)
    WHERE strict AND order_key <> '' AND (status <> 'ready' OR place <> id);
-- Rows that failed, by the reason, for a person who looks. Only failures pay for it.
CREATE INDEX {{schema}}.headrace_backlog_failed ON headrace_backlog (error_fingerprint, id) WHERE error_fingerprint <> '';
CREATE INDEX {{schema}}.headrace_backlog_blocked ON headrace_backlog (scope, order_key, id) WHERE status = 'blocked';
-- Messages that were redriven, by their letter: a group whose messages still run is not resolved.
CREATE INDEX {{schema}}.headrace_backlog_redriven ON headrace_backlog (letter_id) WHERE letter_id > 0;

-- Events to publish that are ready: one index, and rows that live shortly.
CREATE TABLE {{schema}}.headrace_outbox (
    outbox     TEXT NOT NULL, -- the name of the store's outbox, or of a line: see headrace_subscriptions
    shard      INTEGER NOT NULL CHECK (shard >= 0 AND shard < 64),
    id         INTEGER NOT NULL, -- of the sequence 'outbox'
    message_id TEXT NOT NULL,
    topic      TEXT NOT NULL,
    order_key  TEXT NOT NULL,
    trace_parent TEXT NOT NULL,
    trace_state  TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    copied     INTEGER NOT NULL DEFAULT 0 CHECK (copied IN (0, 1)), -- onto the line of each consumer that was subscribed to the topic
    metadata   BLOB NOT NULL,
    payload    BLOB, -- NULL: a tombstone
    PRIMARY KEY (outbox, shard, id)
) STRICT;
-- Events held back: delayed, refused by the sink and tried again later, parked, or
-- behind one of those. A held row keeps its id, and with it its place in the order.
CREATE TABLE {{schema}}.headrace_outbox_held (
    outbox     TEXT NOT NULL,
    shard      INTEGER NOT NULL CHECK (shard >= 0 AND shard < 64),
    id         INTEGER NOT NULL,
    reason     TEXT NOT NULL, -- delayed, backoff, parked, behind
    due_at     INTEGER, -- of delayed and backoff rows
    attempts   INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    topic      TEXT NOT NULL,
    order_key  TEXT NOT NULL,
    trace_parent TEXT NOT NULL,
    trace_state  TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    copied     INTEGER NOT NULL DEFAULT 0 CHECK (copied IN (0, 1)),
    error      TEXT NOT NULL,
    metadata   BLOB NOT NULL,
    payload    BLOB, -- NULL: a tombstone
    PRIMARY KEY (outbox, shard, id)
) STRICT;
CREATE INDEX {{schema}}.headrace_outbox_held_due ON headrace_outbox_held (outbox, shard, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX {{schema}}.headrace_outbox_held_order ON headrace_outbox_held (outbox, shard, topic, order_key, id) WHERE reason <> 'delayed' AND order_key <> '';
CREATE INDEX {{schema}}.headrace_outbox_held_waits ON headrace_outbox_held (outbox, shard, topic, order_key, id) WHERE order_key <> '' AND reason IN ('backoff', 'parked');
CREATE INDEX {{schema}}.headrace_outbox_held_parked ON headrace_outbox_held (id, outbox) WHERE reason = 'parked';

-- Topics that consumers get the events of, through lines of their own in the outbox: the
-- column outbox is 'local/' and the consumer's name there.
CREATE TABLE {{schema}}.headrace_subscriptions (
    topic      TEXT NOT NULL,
    consumer   TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL, -- when a running process last had a handler for it
    PRIMARY KEY (topic, consumer)
) STRICT, WITHOUT ROWID;

-- Processes that publish an outbox, or wait while others do it with another sink.
CREATE TABLE {{schema}}.headrace_relays (
    id         TEXT NOT NULL PRIMARY KEY,
    outbox     TEXT NOT NULL,
    sink       TEXT NOT NULL,
    serves     INTEGER NOT NULL CHECK (serves IN (0, 1)),
    host       TEXT NOT NULL,
    beat_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Whose events an outbox holds: the consumers that publish it. It outlives their processes, so
-- that another service does not publish what waits while they are down.
CREATE TABLE {{schema}}.headrace_outbox_owners (
    outbox   TEXT NOT NULL,
    consumer TEXT NOT NULL, -- or the name of a relay without a consumer
    sink     TEXT NOT NULL, -- its SinkID; '' if it has none
    PRIMARY KEY (outbox, consumer)
) STRICT, WITHOUT ROWID;

-- What leased handlers have done to other systems: a row for each step of a message. It
-- goes with the message's row in the inbox.
CREATE TABLE {{schema}}.headrace_steps (
    scope       TEXT NOT NULL,
    key         TEXT NOT NULL,
    step        TEXT NOT NULL CHECK (step <> ''), -- its name, with a slash and an item of several
    system      TEXT NOT NULL,
    state       TEXT NOT NULL, -- pending, done, failed, parked, skipped; of a signal awaiting, done, expired, failed
    generation  INTEGER NOT NULL DEFAULT 0, -- idempotency keys that are used up
    calls       INTEGER NOT NULL DEFAULT 1,
    call_id     TEXT NOT NULL, -- random: of the latest call, or of the one that returned the result
    input_hash  TEXT NOT NULL,
    external_id TEXT NOT NULL DEFAULT '',
    other_id    TEXT NOT NULL DEFAULT '', -- what a second call made that nobody wanted
    via         TEXT NOT NULL DEFAULT '', -- call, exists, probe, memo, signal, person; '' unless done, or parked because only its result is missing
    error       TEXT NOT NULL DEFAULT '',
    by_whom     TEXT NOT NULL DEFAULT '', -- who has decided on it last, and why
    reason      TEXT NOT NULL DEFAULT '',
    first_call_at INTEGER, -- of the generation; NULL before it; of a signal, when its time is over
    last_call_at  INTEGER NOT NULL,
    settled_at    INTEGER, -- until when a system may still work on a call; of a signal until when it waits for its message, else NULL
    changed_at    INTEGER NOT NULL,
    result      BLOB,
    PRIMARY KEY (scope, key, step)
) STRICT, WITHOUT ROWID;
CREATE INDEX {{schema}}.headrace_steps_external_id ON headrace_steps (system, external_id) WHERE external_id <> '';
CREATE INDEX {{schema}}.headrace_steps_other_id ON headrace_steps (system, other_id) WHERE other_id <> '';
CREATE INDEX {{schema}}.headrace_steps_review ON headrace_steps (state, changed_at) WHERE state IN ('pending', 'parked', 'skipped', 'awaiting');
CREATE INDEX {{schema}}.headrace_steps_early ON headrace_steps (settled_at) WHERE system = '' AND settled_at IS NOT NULL;
-- Without the pending ones: each call would write it.
CREATE INDEX {{schema}}.headrace_steps_count ON headrace_steps (state, scope) WHERE state IN ('parked', 'skipped', 'awaiting');

-- What handlers answered, for those who ask for it: a row for a message that is done. It
-- goes with the message's row in the inbox.
CREATE TABLE {{schema}}.headrace_answers (
    scope       TEXT NOT NULL,
    key         TEXT NOT NULL,
    answered_at INTEGER NOT NULL,
    answer      TEXT NOT NULL, -- JSON
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;

-- Messages given up, whole. AUTOINCREMENT: the number of a letter names it for
-- ever, in audit rows and in people's notes, and is never given to another.
CREATE TABLE {{schema}}.headrace_dead_letters (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    state       TEXT NOT NULL DEFAULT 'open', -- open, redriven, discarded
    class       TEXT NOT NULL,
    consumer    TEXT NOT NULL,
    handler     TEXT NOT NULL,
    scope       TEXT NOT NULL,
    key         TEXT NOT NULL,
    order_key   TEXT NOT NULL,
    strict      INTEGER NOT NULL CHECK (strict IN (0, 1)),
    fingerprint TEXT NOT NULL,
    first_fingerprint TEXT NOT NULL,
    message_id  TEXT NOT NULL,
    topic       TEXT NOT NULL,
    trace_parent TEXT NOT NULL,
    trace_state  TEXT NOT NULL,
    error_fingerprint TEXT NOT NULL,
    attempts    INTEGER NOT NULL,
    first_failure INTEGER NOT NULL,
    last_failure  INTEGER NOT NULL,
    previous_id INTEGER NOT NULL,
    redrives    INTEGER NOT NULL,
    host        TEXT NOT NULL,
    build       TEXT NOT NULL,
    environment TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    changed_at  INTEGER NOT NULL,
    reply_topic TEXT NOT NULL DEFAULT '',
    deliveries  INTEGER NOT NULL DEFAULT 0, -- of a message under a stand-in key
    rev         INTEGER NOT NULL DEFAULT 0, -- how many edits it has
    coordinates TEXT NOT NULL, -- JSON, with the time
    error       TEXT NOT NULL,
    chain       TEXT NOT NULL, -- JSON array of strings
    stack       TEXT NOT NULL,
    metadata    BLOB NOT NULL,
    payload     BLOB -- NULL: a tombstone
) STRICT;
-- A message has one open letter; a conflict one letter for good, so that one that was
-- decided is not asked again.
CREATE UNIQUE INDEX {{schema}}.headrace_dead_letters_open ON headrace_dead_letters (scope, key, fingerprint) WHERE state = 'open' AND class <> 'conflict';
CREATE UNIQUE INDEX {{schema}}.headrace_dead_letters_conflict ON headrace_dead_letters (scope, key, fingerprint) WHERE class = 'conflict';
CREATE INDEX {{schema}}.headrace_dead_letters_group ON headrace_dead_letters (error_fingerprint, id) WHERE state = 'open';
CREATE INDEX {{schema}}.headrace_dead_letters_open_id ON headrace_dead_letters (id) WHERE state = 'open';
CREATE INDEX {{schema}}.headrace_dead_letters_key ON headrace_dead_letters (key);
-- From a letter to the one after it.
CREATE INDEX {{schema}}.headrace_dead_letters_previous ON headrace_dead_letters (previous_id) WHERE previous_id > 0;
-- Open letters, to be counted for gauges without a look at them.
CREATE INDEX {{schema}}.headrace_dead_letters_count ON headrace_dead_letters (class, consumer, error_fingerprint, handler) WHERE state = 'open';

-- Edits of letters: what a redrive sends in place of the bytes that came, which never change.
-- Rows are only added, and go with their letter.
CREATE TABLE {{schema}}.headrace_letter_edits (
    letter_id INTEGER NOT NULL,
    rev       INTEGER NOT NULL, -- from 1; the letter's rev is in force
    by_whom   TEXT NOT NULL, -- as the person says
    db_user   TEXT NOT NULL, -- the other database has logins
    reason    TEXT NOT NULL,
    at        INTEGER NOT NULL,
    metadata  BLOB NOT NULL,
    payload   BLOB, -- NULL: a tombstone
    PRIMARY KEY (letter_id, rev)
) STRICT;

-- Who did what, to what, and why. Rows are only added; those of a letter go with it.
CREATE TABLE {{schema}}.headrace_audit (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    subject_kind TEXT NOT NULL, -- letter, consumer, group, redrive, message, request, system, suspect, outbox, database
    subject      TEXT NOT NULL, -- its id or name; '' where there is one only
    action       TEXT NOT NULL,
    by_whom      TEXT NOT NULL, -- as the person says
    db_user      TEXT NOT NULL DEFAULT '', -- the other database has logins
    reason       TEXT NOT NULL,
    redrive_id   INTEGER NOT NULL DEFAULT 0,
    detail       TEXT NOT NULL DEFAULT '',
    at           INTEGER NOT NULL
) STRICT;
CREATE INDEX {{schema}}.headrace_audit_subject ON headrace_audit (subject_kind, subject, id);

-- What opened and closed letters: a row for each, written by the triggers below. The rows are
-- added up into the next two tables, and go. Cancelled letters belong to no group.
CREATE TABLE {{schema}}.headrace_letter_changes (
    id         INTEGER PRIMARY KEY,
    consumer   TEXT NOT NULL,
    handler    TEXT NOT NULL,
    error_fingerprint TEXT NOT NULL,
    class      TEXT NOT NULL,
    build      TEXT NOT NULL,
    opened     INTEGER NOT NULL,
    closed     INTEGER NOT NULL,
    expired    INTEGER NOT NULL, -- of those closed: letters that were removed while they were open
    discarded  INTEGER NOT NULL DEFAULT 0, -- of those closed
    oldest     INTEGER, -- letter that was opened; NULL if none was
    newest     INTEGER,
    at         INTEGER NOT NULL -- of the newest
) STRICT;

-- The letters of one handler with the same error fingerprint: how many, and what people and time
-- made of them. A view adds the rows above to it.
CREATE TABLE {{schema}}.headrace_groups (
    consumer   TEXT NOT NULL,
    handler    TEXT NOT NULL,
    error_fingerprint TEXT NOT NULL,
    class      TEXT NOT NULL, -- of the newest letter
    state      TEXT NOT NULL, -- new, ongoing, escalating, resolved, regressed
    state_at   INTEGER NOT NULL, -- when it became that
    open       INTEGER NOT NULL,
    total      INTEGER NOT NULL, -- opened, ever
    first_at   INTEGER NOT NULL,
    last_at    INTEGER NOT NULL,
    first_build TEXT NOT NULL,
    last_build  TEXT NOT NULL,
    first_letter INTEGER NOT NULL,
    last_letter  INTEGER NOT NULL,
    sample     TEXT NOT NULL, -- the error of the newest letter, cut
    resolved_at INTEGER, -- the last time
    resolved_by TEXT NOT NULL DEFAULT '', -- '' if it was by itself
    resolved_build TEXT NOT NULL DEFAULT '', -- '' if only time counts
    muted_until INTEGER, -- NULL: without an end
    muted_count INTEGER, -- the total that ends it; NULL: none does
    muted_by    TEXT NOT NULL DEFAULT '', -- '' if it is not muted
    muted_anyway INTEGER NOT NULL DEFAULT 0 CHECK (muted_anyway IN (0, 1)), -- also when it gets worse
    assignee   TEXT NOT NULL DEFAULT '',
    note       TEXT NOT NULL DEFAULT '',
    link       TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (consumer, handler, error_fingerprint)
) STRICT, WITHOUT ROWID;

CREATE INDEX {{schema}}.headrace_groups_begun ON headrace_groups (consumer, state_at) WHERE state IN ('new', 'regressed', 'escalating');
-- How many letters of a group were opened in an hour, by build.
CREATE TABLE {{schema}}.headrace_group_hours (
    consumer   TEXT NOT NULL,
    handler    TEXT NOT NULL,
    error_fingerprint TEXT NOT NULL,
    hour       INTEGER NOT NULL,
    build      TEXT NOT NULL,
    n          INTEGER NOT NULL,
    first_at   INTEGER NOT NULL,
    PRIMARY KEY (consumer, handler, error_fingerprint, hour, build)
) STRICT, WITHOUT ROWID;

-- When a consumer first started each build, which is the order of builds.
CREATE TABLE {{schema}}.headrace_builds (
    consumer   TEXT NOT NULL,
    build      TEXT NOT NULL,
    first_at   INTEGER NOT NULL,
    PRIMARY KEY (consumer, build)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER {{schema}}.headrace_letters_inserted AFTER INSERT ON headrace_dead_letters
WHEN NEW.state = 'open' AND NEW.class <> 'cancelled'
BEGIN
    INSERT INTO headrace_letter_changes (consumer, handler, error_fingerprint, class, build, opened, closed, expired, oldest, newest, at)
    VALUES (NEW.consumer, NEW.handler, NEW.error_fingerprint, NEW.class, NEW.build, 1, 0, 0, NEW.id, NEW.id, NEW.created_at);
END;
-- They write nothing where neither the state nor the group changed.
CREATE TRIGGER {{schema}}.headrace_letters_closed AFTER UPDATE OF state, class, consumer, handler, error_fingerprint ON headrace_dead_letters
WHEN OLD.state = 'open' AND OLD.class <> 'cancelled' AND (NEW.state, NEW.class, NEW.consumer, NEW.handler, NEW.error_fingerprint)
    <> (OLD.state, OLD.class, OLD.consumer, OLD.handler, OLD.error_fingerprint)
BEGIN
    INSERT INTO headrace_letter_changes (consumer, handler, error_fingerprint, class, build, opened, closed, expired, discarded, at)
    VALUES (OLD.consumer, OLD.handler, OLD.error_fingerprint, OLD.class, OLD.build, 0, 1, 0, NEW.state = 'discarded', NEW.changed_at);
END;
-- A letter that is restored is none that came: it takes its discard back.
CREATE TRIGGER {{schema}}.headrace_letters_restored AFTER UPDATE OF state ON headrace_dead_letters
WHEN NEW.state = 'open' AND NEW.class <> 'cancelled' AND OLD.state = 'discarded'
BEGIN
    INSERT INTO headrace_letter_changes (consumer, handler, error_fingerprint, class, build, opened, closed, expired, discarded, at)
    VALUES (NEW.consumer, NEW.handler, NEW.error_fingerprint, NEW.class, NEW.build, 0, -1, 0, -1, NEW.changed_at);
END;
CREATE TRIGGER {{schema}}.headrace_letters_opened AFTER UPDATE OF state, class, consumer, handler, error_fingerprint ON headrace_dead_letters
WHEN NEW.state = 'open' AND OLD.state <> 'discarded' AND NEW.class <> 'cancelled' AND (NEW.state, NEW.class, NEW.consumer, NEW.handler, NEW.error_fingerprint)
    <> (OLD.state, OLD.class, OLD.consumer, OLD.handler, OLD.error_fingerprint)
BEGIN
    INSERT INTO headrace_letter_changes (consumer, handler, error_fingerprint, class, build, opened, closed, expired, oldest, newest, at)
    VALUES (NEW.consumer, NEW.handler, NEW.error_fingerprint, NEW.class, NEW.build, 1, 0, 0, NEW.id, NEW.id, NEW.changed_at);
END;
CREATE TRIGGER {{schema}}.headrace_letters_deleted AFTER DELETE ON headrace_dead_letters
WHEN OLD.state = 'open' AND OLD.class <> 'cancelled'
BEGIN
    INSERT INTO headrace_letter_changes (consumer, handler, error_fingerprint, class, build, opened, closed, expired, at)
    VALUES (OLD.consumer, OLD.handler, OLD.error_fingerprint, OLD.class, OLD.build, 0, 1, 1, OLD.changed_at);
END;

-- The newest version that was applied of each entity.
CREATE TABLE {{schema}}.headrace_versions (
    scope      TEXT NOT NULL,
    entity     TEXT NOT NULL CHECK (entity <> '' AND octet_length(entity) <= 512),
    version    INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    PRIMARY KEY (scope, entity)
) STRICT, WITHOUT ROWID;

-- Processes that run a consumer.
CREATE TABLE {{schema}}.headrace_instances (
    id            TEXT NOT NULL PRIMARY KEY,
    consumer      TEXT NOT NULL,
    host          TEXT NOT NULL,
    build         TEXT NOT NULL,
    environment   TEXT NOT NULL,
    handlers      TEXT NOT NULL, -- JSON array of the names of its handlers
    started_at    INTEGER NOT NULL,
    beat_at       INTEGER NOT NULL,
    counted_at    INTEGER, -- when its death was counted against its marks
    ended_at      INTEGER, -- when it ended in order
    rate          REAL NOT NULL DEFAULT 0, -- messages that it applies in a second, in its last beats
    p50_us        INTEGER NOT NULL DEFAULT 0 -- how long a run of a handler takes, the median
) STRICT, WITHOUT ROWID;
CREATE INDEX {{schema}}.headrace_instances_consumer ON headrace_instances (consumer);
-- The messages that a worker of an instance is about to run, as hashes of 16 bytes one
-- after the other, and whether they are the only work of the process.
CREATE TABLE {{schema}}.headrace_marks (
    instance      TEXT NOT NULL,
    worker        INTEGER NOT NULL,
    messages      BLOB NOT NULL CHECK (octet_length(messages) > 0 AND octet_length(messages) % 16 = 0),
    alone         INTEGER NOT NULL CHECK (alone IN (0, 1)),
    at            INTEGER NOT NULL,
    PRIMARY KEY (instance, worker)
) STRICT, WITHOUT ROWID;
-- Messages that ran when a process ended unexpectedly, and in how many deaths they were
-- the only work or had other work beside them.
CREATE TABLE {{schema}}.headrace_suspects (
    consumer      TEXT NOT NULL,
    message       BLOB NOT NULL CHECK (octet_length(message) = 16),
    alone         INTEGER NOT NULL,
    beside        INTEGER NOT NULL,
    at            INTEGER NOT NULL, -- of the last death
    PRIMARY KEY (consumer, message)
) STRICT, WITHOUT ROWID;
-- Consumers that a person has paused.
CREATE TABLE {{schema}}.headrace_pauses (
    consumer   TEXT NOT NULL PRIMARY KEY,
    by_whom    TEXT NOT NULL,
    reason     TEXT NOT NULL,
    at         INTEGER NOT NULL,
    resumed_by TEXT NOT NULL DEFAULT '',
    resumed_at INTEGER -- while it is NULL, the consumer is paused
) STRICT, WITHOUT ROWID;

-- What people ask the processes of a consumer to do.
CREATE TABLE {{schema}}.headrace_requests (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    kind        TEXT NOT NULL,
    consumer    TEXT NOT NULL,
    build       TEXT NOT NULL, -- whose processes may take it; '' is any
    host        TEXT NOT NULL,
    args        TEXT NOT NULL, -- JSON
    by_whom     TEXT NOT NULL,
    db_user     TEXT NOT NULL DEFAULT '', -- the other database has logins
    reason      TEXT NOT NULL,
    until       INTEGER NOT NULL, -- it is not taken any more from then on
    state       TEXT NOT NULL DEFAULT 'waiting', -- waiting, taken, done, refused, failed, expired
    instance    TEXT NOT NULL DEFAULT '', -- that took it
    taken_by    TEXT NOT NULL DEFAULT '', -- its host and build
    answer      TEXT, -- JSON, of one that is done; of one that is taken, how far it is
    error       TEXT NOT NULL DEFAULT '', -- of one that was refused or failed
    once        TEXT NOT NULL DEFAULT '', -- which form was sent; '' where each request is one of its own
    at          INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX {{schema}}.headrace_requests_once ON headrace_requests (once) WHERE once <> '';
CREATE INDEX {{schema}}.headrace_requests_waiting ON headrace_requests (consumer, until) WHERE state = 'waiting';

-- Results that the steps of several messages share, by the hash of their input. A row is free
-- when its time is over, with a result or without.
CREATE TABLE {{schema}}.headrace_memos (
    system   TEXT NOT NULL,
    step     TEXT NOT NULL, -- its name, without an item
    input    TEXT NOT NULL,
    token    TEXT NOT NULL, -- whose call is under way; '' with a result
    until_at INTEGER NOT NULL,
    result   BLOB,
    PRIMARY KEY (system, step, input)
) STRICT, WITHOUT ROWID;
CREATE INDEX {{schema}}.headrace_memos_until_at ON headrace_memos (until_at);

-- Pauses of the systems that steps call. A row stays, to say who resumed the system.
CREATE TABLE {{schema}}.headrace_systems (
    system       TEXT NOT NULL PRIMARY KEY,
    paused_until INTEGER NOT NULL,
    reason       TEXT NOT NULL,
    by_whom      TEXT NOT NULL, -- '' for an answer 429
    changed_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Calendars whose ticks are messages. No column says what was the last tick: its id follows from
-- the calendar, and the inbox takes it once.
CREATE TABLE {{schema}}.headrace_schedules (
    name     TEXT NOT NULL PRIMARY KEY,
    cron     TEXT NOT NULL,
    zone     TEXT NOT NULL,
    since    INTEGER NOT NULL, -- earlier ticks never come
    within   INTEGER NOT NULL, -- how long its ticks may come after their time, in µs
    seen_at  INTEGER, -- when a process last made its ticks
    fired_at INTEGER, -- when a person asked for a tick
    fired_by TEXT NOT NULL DEFAULT '',
    checked_to INTEGER, -- until when a source of truth was compared: see package reconcile
    missing  INTEGER, -- items without a message, in the last run
    gap_from INTEGER, -- what the last run could not compare, since messages of that time may be pruned
    gap_to   INTEGER
) STRICT, WITHOUT ROWID;

-- What is wrong, and was. The key is a hash that receivers of alerts know.
CREATE TABLE {{schema}}.headrace_conditions (
    key         TEXT NOT NULL PRIMARY KEY,
    namespace   TEXT NOT NULL, -- the consumer that judges it, '' for the database
    kind        TEXT NOT NULL,
    consumer    TEXT NOT NULL,
    handler     TEXT NOT NULL,
    error_fingerprint TEXT NOT NULL,
    instance    TEXT NOT NULL, -- that reports it; '' if it is judged from the tables
    severity    TEXT NOT NULL,
    state       TEXT NOT NULL, -- pending, firing, resolved
    since       INTEGER NOT NULL,
    quiet_at    INTEGER, -- since when nothing is wrong any more
    ended_at    INTEGER,
    n           INTEGER NOT NULL,
    base        INTEGER NOT NULL, -- n at base_at, by which its growth is known
    base_at     INTEGER,
    known       INTEGER NOT NULL CHECK (known IN (0, 1)), -- a person deals with it
    alert       TEXT NOT NULL -- JSON: what sinks are sent, without payload, key and header
) STRICT, WITHOUT ROWID;
CREATE INDEX {{schema}}.headrace_conditions_namespace ON headrace_conditions (namespace);
-- What each sink knows of a condition.
CREATE TABLE {{schema}}.headrace_sends (
    key         TEXT NOT NULL,
    sink        TEXT NOT NULL,
    phase       TEXT NOT NULL, -- what it took last: firing, again, resolved; '' for nothing
    severity    TEXT NOT NULL,
    n           INTEGER NOT NULL,
    sent_at     INTEGER,
    failures    INTEGER NOT NULL,
    failing_at  INTEGER,
    down_at     INTEGER, -- since when the sink takes nothing, of this or of another condition
    due_at      INTEGER,
    error       TEXT NOT NULL,
    lost        INTEGER NOT NULL,
    PRIMARY KEY (key, sink)
) STRICT, WITHOUT ROWID;
-- Who judges a namespace, and who sends its alerts to a sink: until when it alone does, and when
-- that was done last.
CREATE TABLE {{schema}}.headrace_watches (
    name        TEXT NOT NULL PRIMARY KEY,
    owner       TEXT NOT NULL,
    until       INTEGER NOT NULL,
    done_at     INTEGER
) STRICT, WITHOUT ROWID;

-- Redrives, and discards of many letters: first a plan, then a job of the consumer's processes.
CREATE TABLE {{schema}}.headrace_redrives (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    kind         TEXT NOT NULL, -- redrive, discard
    state        TEXT NOT NULL, -- preparing, planned, running, paused, done, cancelled
    why          TEXT NOT NULL DEFAULT '', -- it is paused or cancelled, or sends nothing at present
    consumer     TEXT NOT NULL,
    filter       TEXT NOT NULL, -- which letters, for people
    handler      TEXT NOT NULL DEFAULT '', -- and error_fingerprint: the group that it chooses, '' for any
    error_fingerprint TEXT NOT NULL DEFAULT '',
    count        INTEGER NOT NULL DEFAULT 0, -- letters of the list
    survey       TEXT NOT NULL DEFAULT '[]', -- JSON: what these letters were when they were listed
    builds       TEXT NOT NULL, -- JSON array: those that run
    stages       TEXT NOT NULL, -- JSON array: how many letters each but the last one has
    max_running  INTEGER NOT NULL,
    rate         REAL NOT NULL, -- letters a second; 0 is unbounded
    pause_at     REAL NOT NULL, -- percent
    stage_timeout_us INTEGER NOT NULL,
    stage        INTEGER NOT NULL DEFAULT 1,
    stage_at     INTEGER, -- when it began, or the job was resumed in it
    stage_sent   INTEGER NOT NULL DEFAULT 0,
    stage_good   INTEGER NOT NULL DEFAULT 0,
    recent       TEXT NOT NULL DEFAULT '', -- the stage's last outcomes, a character each: see package job
    sent         INTEGER NOT NULL DEFAULT 0,
    succeeded    INTEGER NOT NULL DEFAULT 0,
    failed_again INTEGER NOT NULL DEFAULT 0,
    unknown      INTEGER NOT NULL DEFAULT 0,
    skipped      INTEGER NOT NULL DEFAULT 0,
    tokens_at    INTEGER, -- until when the rate is used up
    planned_by   TEXT NOT NULL,
    planned_at   INTEGER NOT NULL,
    expires_at   INTEGER, -- of the plan
    applied_by   TEXT NOT NULL DEFAULT '',
    reason       TEXT NOT NULL DEFAULT '',
    open_calls   INTEGER NOT NULL DEFAULT 0 CHECK (open_calls IN (0, 1)), -- a discard: also letters with a call of unknown outcome
    applied_at   INTEGER,
    resumed_at   INTEGER, -- or applied
    stepped_at   INTEGER,
    ended_at     INTEGER
) STRICT;
CREATE INDEX {{schema}}.headrace_redrives_unfinished ON headrace_redrives (consumer, id) WHERE state IN ('running', 'paused');
-- The letters of a redrive, and what became of each.
CREATE TABLE {{schema}}.headrace_redrive_letters (
    redrive_id  INTEGER NOT NULL,
    letter_id   INTEGER NOT NULL,
    rev         INTEGER NOT NULL, -- of the letter, as planned
    state       TEXT NOT NULL, -- queued, sent, succeeded, failed, unknown, skipped
    why         TEXT NOT NULL DEFAULT '', -- it was skipped
    scope       TEXT NOT NULL,
    key         TEXT NOT NULL, -- that it was sent under
    order_key   TEXT NOT NULL, -- '' unless its order is strict
    next_letter INTEGER NOT NULL DEFAULT 0, -- that it made when it failed again
    at          INTEGER NOT NULL, -- when it was listed or sent
    PRIMARY KEY (redrive_id, letter_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX {{schema}}.headrace_redrive_letters_queued ON headrace_redrive_letters (redrive_id, letter_id) WHERE state = 'queued';
CREATE INDEX {{schema}}.headrace_redrive_letters_sent ON headrace_redrive_letters (redrive_id, at) WHERE state = 'sent';
CREATE INDEX {{schema}}.headrace_redrive_letters_order ON headrace_redrive_letters (redrive_id, scope, order_key, letter_id) WHERE order_key <> '';

-- Whose turn it is to prune, and how far that has come: one round for each consumer,
-- shared by its processes. Old rows of the inbox are found by a walk over the table,
-- so that an insert pays for no index on their age.
CREATE TABLE {{schema}}.headrace_prunes (
    consumer TEXT NOT NULL PRIMARY KEY,
    position TEXT NOT NULL, -- '' is the start
    due_at   INTEGER NOT NULL,
    cut      INTEGER -- messages from before it may be removed; NULL while none was
) STRICT, WITHOUT ROWID;

-- The schema itself, in one row. The id is random and goes with a copy of the file;
-- idempotency keys are computed from it. Builds from version readable_from on run on this
-- schema. Each migration ends with a statement that sets both numbers.
CREATE TABLE {{schema}}.headrace_meta (
    one           INTEGER PRIMARY KEY DEFAULT 1 CHECK (one = 1),
    id            TEXT NOT NULL,
    version       INTEGER NOT NULL,
    readable_from INTEGER NOT NULL,
    fingerprint   TEXT NOT NULL DEFAULT '{{fingerprint}}', -- of this file's statements
    -- Suspect mode: steps of messages from before this time may have been called although
    -- no row says so. NULL is off.
    suspect_until  INTEGER,
    suspect_since  INTEGER, -- when it began
    suspect_by     TEXT NOT NULL DEFAULT '',
    suspect_reason TEXT NOT NULL DEFAULT ''
) STRICT;
INSERT INTO {{schema}}.headrace_meta (id, version, readable_from) VALUES (lower(hex(randomblob(16))), 1, 1);
