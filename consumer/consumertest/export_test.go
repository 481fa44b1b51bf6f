package consumertest

import "time"

// Strand leaves m with a broker that no subscription takes it from, while the relays of the
// process beat until stop ends, and has Settle wait for patience.
func (k *Kit) Strand(m Message, patience time.Duration, stop <-chan struct{}) {
	k.start(1)
	k.patience = patience
	k.broker.send(m)
	k.supervisors.Go(func() {
		beat := time.NewTicker(patience / 20)
		defer beat.Stop()
		for {
			select {
			case <-beat.C:
				k.committing.Add(1)
				k.pulse.beat()
				k.committing.Add(-1)
			case <-stop:
				return
			}
		}
	})
}
