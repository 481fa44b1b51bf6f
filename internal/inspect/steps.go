package inspect

import (
	"fmt"
	"slices"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/ledger"
)

// Advice is what a person can do about a step.
type Advice struct {
	// Says is what is known of the step, and what to look for; "" if nothing can be done.
	Says string
	// Commands do one of what can be done.
	Commands []Command
}

// Command is a command of headrace.
type Command struct {
	// Words are the command without its name, Means says when it is the right one.
	Words, Means string
}

// StepAdvice says what a person can do about a step that is parked or pending, of a message that
// has not ended. letter is the open dead letter of the message, nil if it has none; key is the
// idempotency key of the step, and quote makes a text a word of a shell.
func StepAdvice(r ledger.Row, letter *dlq.Letter, key string, quote func(string) string) Advice {
	if r.State != ledger.Parked && r.State != ledger.Pending {
		return Advice{}
	}
	words, where := StepWords("resolve", r, quote), "The message waits."
	if letter != nil {
		where = fmt.Sprintf("The message is dead letter %d (%s).", letter.LetterID, letter.Class)
	}
	look := fmt.Sprintf("look for key %s at %s, then run one of:", key, r.System)
	switch {
	case r.LacksResult():
		return Advice{
			Says:     fmt.Sprintf("%s Step %s was carried out, and its result is missing. Its key at %s is %s. Give it:", where, r.Step, r.System, key),
			Commands: []Command{{Words: words + " --done --result FILE --reason WHY"}},
		}
	case r.State == ledger.Pending && letter == nil:
		return Advice{Says: fmt.Sprintf("%s Step %s: the outcome of its call is unknown still; the next run finds it out. Its key at %s is %s.", where, r.Step, r.System, key)}
	case r.State == ledger.Pending:
		look = "the outcome of its call is unknown. A redrive goes on with it as the step declares; or " + look
	}
	return Advice{Says: fmt.Sprintf("%s Step %s: %s", where, r.Step, look), Commands: []Command{
		{words + " --done --external-id ID --reason WHY", "it was carried out (--result FILE where the step has a result)"},
		{words + " --again --reason WHY", "nothing was done: call again under the same key"},
		{words + " --anew --reason WHY", "… under a new key (the system keeps an error under the old one)"},
	}}
}

// StepWords are the command that does something to a step, up to its name.
func StepWords(does string, r ledger.Row, quote func(string) string) string {
	return "steps " + does + " " + quote(r.ID.Scope) + " " + quote(r.ID.Key) + " " + quote(r.Step)
}

// LetterOf returns the letter of a message among letters; nil if it has none.
func LetterOf(letters []dlq.Letter, id inbox.ID) *dlq.Letter {
	if n := slices.IndexFunc(letters, func(l dlq.Letter) bool { return l.ID() == id }); n >= 0 {
		return &letters[n]
	}
	return nil
}

// StepKey is the idempotency key of a step's latest call in a database; "" of a signal, which is no call.
func StepKey(database string, r ledger.Row) string {
	if r.System == "" {
		return ""
	}
	return encode.IdempotencyKey(database, r.ID.Scope, r.ID.Key, r.Step, r.Generation)
}
