package alerts

// Kind says what happened.
type Kind string

// The kinds of alert.
const (
	// FirstDeadLetter: a message became a dead letter, the first of its handler and
	// ErrorPrint that an alert tells of.
	FirstDeadLetter Kind = "first_dead_letter"
	// DeadLetter: more messages became dead letters for a reason that was told before.
	DeadLetter Kind = "dead_letter"
	// RowParked: the relay set outbox rows of a topic aside, because the sink refuses
	// them and takes others. They and the later rows of their order keys wait for a
	// person.
	RowParked Kind = "row_parked"
	// Paused: a consumer stopped taking messages, because its database does not
	// answer, or a person paused it.
	Paused Kind = "paused"
	// Resumed: a paused consumer takes messages again.
	Resumed Kind = "resumed"
	// SubscriptionEnded: a broker ended a subscription while the consumer ran.
	SubscriptionEnded Kind = "subscription_ended"
	// HandlerStuck: a handler did not return after its deadline: it ignores its context,
	// or a statement of its transaction gets no answer.
	HandlerStuck Kind = "handler_stuck"
	// WrongOrder: the middlewares of a Router stand in an order in which messages would
	// be lost; all stay unacknowledged.
	WrongOrder Kind = "wrong_order"
	// RelayStalled: the sink confirms nothing; events wait in the outbox.
	RelayStalled Kind = "relay_stalled"
	// RelayResumed: the sink of a stalled relay confirms again.
	RelayResumed Kind = "relay_resumed"
)

// Stored reports whether alerts of this kind are rows of the database, written by
// the transaction of what they tell of: they are sent at least once. The others are
// of this process and are lost with it.
func (k Kind) Stored() bool { return k == DeadLetter || k == FirstDeadLetter || k == RowParked }

// Good reports whether the kind says that something is well again.
func (k Kind) Good() bool { return k == Resumed || k == RelayResumed }
