package ui

import (
	"net/http"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/ui/read"
	"github.com/headrace/headrace/ui/view"
)

func consumers(v *visit) error { return showConsumers(v, v.r.Form.Get("consumer"), http.StatusOK) }

// showConsumers shows the consumers, or the one called only.
func showConsumers(v *visit, only string, status int) error {
	rows, err := v.s.read.Consumers(v.ctx(), only)
	if err != nil {
		return err
	}
	return v.page(status, "consumers", "Consumers", "consumers", map[string]any{"Rows": rows, "Only": only, "Missed": instance.Missed})
}

// onConsumer calls do with the consumer of a form, if the person has seen whether it is paused.
func (v *visit) onConsumer(do func(name string) error) error {
	name := v.r.PostForm.Get("consumer")
	rows, err := v.s.read.Consumers(v.ctx(), name)
	if err != nil {
		return err
	}
	if name == "" || len(rows) == 0 {
		return refuse(http.StatusNotFound, "No process and no pause of this consumer is known.")
	}
	if stale, err := v.stale(read.ConsumerSeen(rows[0]), func(status int) error { return showConsumers(v, name, status) }); stale || err != nil {
		return err
	}
	if err := do(name); err != nil {
		return err
	}
	return v.redirect(view.To(v.s.root, "consumers", "consumer", name))
}

// A pause is written at once, and holds for processes that start later: it must work while none runs.
func pauseConsumer(v *visit) error {
	return v.onConsumer(func(name string) error {
		why, err := reason(v)
		if err != nil {
			return err
		}
		_, err = v.s.st.Operations().Pauses.Pause(v.ctx(), instance.Pause{Consumer: name, By: v.who.Name, Reason: why})
		return err
	})
}

func resumeConsumer(v *visit) error {
	return v.onConsumer(func(name string) error {
		_, err := v.s.st.Operations().Pauses.Resume(v.ctx(), name, v.who.Name)
		return err
	})
}
