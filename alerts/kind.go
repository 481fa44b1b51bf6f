package alerts

// Kind says what happened.
type Kind string

// What a process reports of itself, until it is over or the process has ended.
const (
	// Paused: a consumer stopped taking messages, because its database does not
	// answer, or a person paused it.
	Paused Kind = "paused"
	// Resumed: a paused consumer takes messages again. Like SourceUp and RelayResumed, it is sent
	// where the beginning was sent without the database; otherwise that is Resolved.
	Resumed Kind = "resumed"
	// SubscriptionEnded: a broker ended a subscription while the consumer ran.
	SubscriptionEnded Kind = "subscription_ended"
	// HandlerStuck: a handler did not return after its deadline: it ignores its context,
	// or a statement of its transaction gets no answer.
	HandlerStuck Kind = "handler_stuck"
	// WrongOrder: a middleware of a Router does something by which messages would be lost
	// or applied twice; all stay unacknowledged (headrace.ErrOrder).
	WrongOrder Kind = "wrong_order"
	// SourceDown: a broker does not serve subscriptions of a consumer: it is away, does not
	// answer, or refuses. They are tried again until it does.
	SourceDown Kind = "source_down"
	// SourceUp: brokers serve all subscriptions of a consumer again.
	SourceUp Kind = "source_up"
	// RelayStalled: the sink confirms nothing or its broker is away, or relays of the outbox with another sink
	// still run; events wait in the outbox.
	RelayStalled Kind = "relay_stalled"
	// RelayResumed: the relay is no longer stalled.
	RelayResumed Kind = "relay_resumed"
	// WebhookRefused: an endpoint of package webhook has refused every request for five
	// minutes, most often because the secret does not fit. Topic is the endpoint's. It is over when
	// a request is accepted.
	WebhookRefused Kind = "webhook_refused"
)

// What the processes of a database judge from its tables. See Bounds for when.
const (
	// GroupFailing: a group of dead letters is new, or got worse. It lasts until the group is
	// resolved or muted. Without an ErrorFingerprint it sums up the many new groups of a handler.
	GroupFailing Kind = "group_failing"
	// LettersOld: a dead letter has waited for a person for long.
	LettersOld Kind = "letters_old"
	// LettersExpire: open dead letters will soon be removed by Retention.OpenLetters.
	LettersExpire Kind = "letters_expire"
	// BacklogLag: a message in the backlog is due, and is not run.
	BacklogLag Kind = "backlog_lag"
	// OutboxLag: an event is due, and is not published. Topic is the name of the outbox.
	OutboxLag Kind = "outbox_lag"
	// RowsParked: events are parked, because the sink refuses them. Topic is the name of the outbox.
	RowsParked Kind = "rows_parked"
	// WorkWithoutOwner: messages or events wait, and no process would take them.
	WorkWithoutOwner Kind = "work_without_owner"
	// SubscriptionStalled: events wait for the local handlers of a consumer, and no process
	// has had a handler for their topic for a while. Consumer is the one that does not take them.
	SubscriptionStalled Kind = "subscription_stalled"
	// ConsumerAbsent: no process of a consumer runs, and the last one did not end in order.
	ConsumerAbsent Kind = "consumer_absent"
	// ConsumerCrashing: processes of a consumer end unexpectedly, one after the other.
	ConsumerCrashing Kind = "consumer_crashing"
	// PauseForgotten: a person paused a consumer long ago, and work waits.
	PauseForgotten Kind = "pause_forgotten"
	// RedrivePaused: a redrive has paused by itself. Topic is its name, such as R-42.
	RedrivePaused Kind = "redrive_paused"
	// RedriveStalled: a redrive runs, and no letter has got an outcome for a while. Topic is
	// its name.
	RedriveStalled Kind = "redrive_stalled"
	// RedriveEnded: a redrive, or a discard of many letters, was done or cancelled. Topic is its name.
	// It is an event of severity Info: it has no Phase, and is sent once.
	RedriveEnded Kind = "redrive_ended"
	// ScheduleMissed: no process makes the ticks of a schedule. Topic is the schedule. A source that
	// finds ticks too old to be caught up tells that to its own hook, once, without a Phase.
	ScheduleMissed Kind = "schedule_missed"
	// StepSkipped: outcomes of steps of leased handlers were unknown within the last hour, and count
	// as finished (ledger.Skip): they may be missing in the other system. Count is how many.
	StepSkipped Kind = "step_skipped"
	// StepDoubled: the other system has carried out two calls of a step of a leased handler, and
	// no person has said yet what became of the second. Count is how many.
	StepDoubled Kind = "step_doubled"
	// Missing: items of a source of truth had no message in the last run (package reconcile).
	// Count is how many, Topic the schedule.
	Missing Kind = "missing"
	// ReconcileGap: the last run could not compare a time with a source of truth, since messages of
	// it may be pruned. Topic is the schedule.
	ReconcileGap Kind = "reconcile_gap"
	// StepParked: a person must say what became of steps of leased handlers.
	StepParked Kind = "step_parked"
	// SinkFailing: a sink has taken no alert for a while, although it should. Topic is its
	// name; the other sinks send it.
	SinkFailing Kind = "sink_failing"
)

// Kinds returns all kinds of this package. A program of yours may make others.
func Kinds() []Kind {
	return []Kind{
		Paused, Resumed, SubscriptionEnded, HandlerStuck, WrongOrder, SourceDown, SourceUp, RelayStalled, RelayResumed, WebhookRefused,
		GroupFailing, LettersOld, LettersExpire, BacklogLag, OutboxLag, RowsParked, WorkWithoutOwner, SubscriptionStalled,
		ConsumerAbsent, ConsumerCrashing, PauseForgotten, RedrivePaused, RedriveStalled, RedriveEnded, ScheduleMissed,
		StepSkipped, StepDoubled, Missing, ReconcileGap, StepParked, SinkFailing,
	}
}

// Event reports whether alerts of the kind are judged from the tables, and are not resolved: each
// sink is sent one, once.
func (k Kind) Event() bool { return k == RedriveEnded }

// Good reports whether the kind means that something works again.
func (k Kind) Good() bool {
	return k == Resumed || k == RelayResumed || k == SourceUp
}
