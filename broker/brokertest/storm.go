package brokertest

import (
	"strings"
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/headrace/headrace/internal/freeport"
)

// owners: processes start and stop under load, so that a message has two owners for a
// while (fault 43: Kafka's rebalance). Each effect exists once.
func owners(s *bundle) {
	const n = 300
	sending := s.producer(s.sink(""), n, 20*time.Millisecond)
	first := s.work("", apply)
	for range 3 {
		time.Sleep(400 * time.Millisecond)
		second := s.work("", apply)
		time.Sleep(400 * time.Millisecond)
		first.halt()
		first = second
	}
	s.produced(sending)
	s.appliedOnce(n)
	s.undecodable(0)
}

// resets: connections of source and sink are reset, and then hang, under load (fault 39).
// Everything continues without help, and each effect exists once.
func resets(s *bundle) {
	const n = 300
	p := s.proxy()
	sending := s.producer(s.sink(p.Listen), n, 20*time.Millisecond)
	s.work(p.Listen, apply)
	for range 3 {
		time.Sleep(500 * time.Millisecond)
		s.poison(p, "reset_peer", 200*time.Millisecond)
	}
	s.poison(p, "timeout", time.Second)
	s.produced(sending)
	s.appliedOnce(n)
	s.undecodable(0)
}

// proxy starts a proxy before the broker, until the test ends.
func (s *bundle) proxy() *toxiproxy.Proxy {
	s.Helper()
	address, err := freeport.Address()
	if err != nil {
		s.Fatal(err)
	}
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := toxiproxy.NewProxy(server, s.topic, address, s.b.Addr())
	if err := p.Start(); err != nil {
		s.Fatalf("toxiproxy: %v", err)
	}
	s.Cleanup(p.Stop)
	return p
}

// poison disturbs the proxy's connections for a while, both ways.
func (s *bundle) poison(p *toxiproxy.Proxy, kind string, d time.Duration) {
	s.Helper()
	mend := s.harm(p, kind)
	time.Sleep(d)
	mend()
}

// harm disturbs the proxy's connections, both ways, until the caller calls mend.
func (s *bundle) harm(p *toxiproxy.Proxy, kind string) (mend func()) {
	s.Helper()
	for _, way := range []string{"upstream", "downstream"} {
		text := `{"name":"` + way + `","type":"` + kind + `","stream":"` + way + `","attributes":{"timeout":0}}`
		if _, err := p.Toxics.AddToxicJson(strings.NewReader(text)); err != nil {
			s.Fatalf("toxiproxy: %v", err)
		}
	}
	return sync.OnceFunc(func() {
		ctx, cancel := s.bounded()
		defer cancel()
		p.Toxics.ResetToxics(ctx)
	})
}

// restarted: the server is killed and started again under load (faults 45, 49 and 58). It
// has all confirmed messages, each effect exists once, and the consumer continues without
// help.
func restarted(s *bundle) {
	const n = 200
	Alone(s)
	s.work("", apply)
	sink := s.sink("")
	sending := s.producer(sink, n, 20*time.Millisecond)
	s.eventually("the first effects", func() (string, bool) { return "none", s.count("SELECT count(*) FROM effects") > 20 })
	s.restart()
	s.produced(sending)
	s.appliedOnce(n)
	s.undecodable(0)
}

func (s *bundle) restart() {
	s.Helper()
	ctx, cancel := s.bounded()
	defer cancel()
	if err := s.f.Restart(ctx); err != nil {
		s.Fatalf("restart the server: %v", err)
	}
}
