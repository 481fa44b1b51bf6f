package chain

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Every sequence of up to four stages: only those that rise are let in.
func TestEnter(t *testing.T) {
	t.Parallel()
	var walk func(ctx context.Context, last Stage, depth int)
	walk = func(ctx context.Context, last Stage, depth int) {
		for s := DeadLetters; s <= Inbox && depth < 4; s++ {
			inside, outermost, err := Enter(ctx, "h", s)
			if wrong := s <= last; wrong != errors.Is(err, ErrOrder) {
				t.Errorf("%s inside %s: %v", s, last, err)
			}
			if outermost != (last == 0) {
				t.Errorf("%s inside %s: outermost is %t", s, last, outermost)
			}
			if err == nil {
				walk(inside, s, depth+1)
			}
		}
	}
	walk(t.Context(), 0, 0)
}

func TestTheErrorSaysTheRightOrder(t *testing.T) {
	t.Parallel()
	ctx, _, _ := Enter(t.Context(), "h", Inbox)
	_, _, err := Enter(ctx, "h", Retry)
	const want = "dlq.Middleware, retry.Middleware, inbox.Middleware, the handler"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v does not say %q", err, want)
	}
	if _, _, err = Enter(ctx, "h", Inbox); err == nil || !strings.Contains(err.Error(), "inbox.Middleware is there twice") {
		t.Errorf("twice: %v", err)
	}
}

// Nothing of ours stands inside of consumer.Attach.
func TestNothingInsideOfAttach(t *testing.T) {
	t.Parallel()
	ctx, _, _ := Enter(t.Context(), "h", Attached)
	for s := DeadLetters; s <= Inbox; s++ {
		if _, _, err := Enter(ctx, "h", s); !errors.Is(err, ErrOrder) || !strings.Contains(err.Error(), "remove "+s.String()) {
			t.Errorf("%s: %v", s, err)
		}
	}
}

// A message that another handler published with its own context starts anew.
func TestStagesBelongToOneHandler(t *testing.T) {
	t.Parallel()
	ctx, _, _ := Enter(t.Context(), "first", Inbox)
	if _, outermost, err := Enter(ctx, "second", DeadLetters); err != nil || !outermost {
		t.Errorf("outermost %t, %v", outermost, err)
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		Pause(t.Context(), time.Second)
		if took := time.Since(start); took != time.Second {
			t.Errorf("paused %s", took)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		Pause(ended, time.Hour)
		if took := time.Since(start); took != time.Second {
			t.Errorf("went on for %s after the end of the context", took)
		}
	})
}
