package headrace

import "bytes"

// Answer keeps answer, JSON, with the commit of tx, in place of an earlier one. Handlers call
// intent.Answer, which documents more.
func Answer(tx *Tx, answer []byte) error {
	if err := tx.usable(); err != nil {
		return err
	}
	if !tx.o.Answers {
		return ErrNoAnswer
	}
	tx.answer = bytes.Clone(answer)
	return nil
}

// AnswerOf returns what was passed to Answer last; nil if nothing was. It is for engines and
// for tests of handlers.
func AnswerOf(tx *Tx) []byte { return tx.answer }
