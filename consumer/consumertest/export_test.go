package consumertest

import "time"

// Strand leaves m with a broker that no subscription takes it from, while the relays of the
// process beat until stop ends, and has Settle wait for idleTimeout.
func (k *Kit) Strand(m Message, idleTimeout time.Duration, stop <-chan struct{}) {
	k.start(1)
	k.idleTimeout = idleTimeout
	k.broker.send(m)
	k.supervisors.Go(func() {
		beat := time.NewTicker(idleTimeout / 20)
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
