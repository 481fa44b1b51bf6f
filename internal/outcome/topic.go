package outcome

import (
	"fmt"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/attempt"
)

// DeadTopic returns f, a user's function, for Recorder.DeadTopic. If f panics, or returns a
// topic that no event may have, failed is told and there is no copy: recording an outcome never
// fails because of it.
func DeadTopic(f func(topic string) string, failed func(topic string, err error)) func(topic string) string {
	return func(topic string) (dead string) {
		p, err := attempt.Catch(func() error {
			if dead = f(topic); dead == "" {
				return nil
			}
			_, err := headrace.Event{Topic: dead, Payload: []byte{}}.Encode(nil)
			return err
		})
		if p != nil {
			err = fmt.Errorf("name the topic: panic of type %T", p.Value)
		}
		if err != nil {
			failed(topic, err)
			return ""
		}
		return dead
	}
}
