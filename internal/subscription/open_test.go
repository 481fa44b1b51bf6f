package subscription_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/internal/subscription"
)

// refuser is a source that refuses all that is sent.
type refuser struct {
	message.Subscriber
	refuses atomic.Bool
}

func (r *refuser) Refusing(topic string) error {
	if topic == "stripe" && r.refuses.Load() {
		return errors.New("the secret does not fit")
	}
	return nil
}

// That a source refuses all is told when it begins and when it is over.
func TestRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []error
		set := &subscription.Set{OnRefusal: func(topic string, why error) {
			if told = append(told, why); topic != "stripe" {
				t.Errorf("of %s", topic)
			}
		}}
		r := &refuser{}
		ctx, stop := context.WithCancel(t.Context())
		go set.Add("stripe", "h").Watch(ctx, r)
		for i, refuses := range []bool{false, true, true, false, false} {
			r.refuses.Store(refuses)
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if want := []int{0, 1, 1, 2, 2}[i]; len(told) != want || want > 0 && (told[want-1] != nil) != refuses {
				t.Errorf("%d: told %v", i, told)
			}
		}
		stop()
		synctest.Wait()
	})
}
