// Package brokertest is the suite that every adapter under broker must pass against its
// real server.
//
//	var b = brokertest.Broker(natsBroker{url: os.Getenv("HEADRACE_TEST_NATS")})
//
//	func TestMain(m *testing.M)          { brokertest.Main(m, b) }
//	func TestConformance(t *testing.T)   { brokertest.Run(t, b) }
//
// # Nouns
//
//   - A [Broker] is the server, with a foreign client to send by and the adapter's source
//     and sink. [Features] describe it.
//   - A scenario is one subtest: something happens between the broker and a consumer
//     (package consumer on SQLite in a temporary file), and then everything that was sent
//     must be found exactly once, as an effect or as a dead letter, by a query.
//   - A child is this test binary, started again as a process that consumes and is killed.
//
// # Rules
//
// Every scenario ends with: each message applied once or dead once, nothing left on the
// broker, and the invariants that the tables show (store.Checker).
//
// Features name what a broker does not have; the suite leaves out nothing else. A
// scenario that does not apply logs the reason.
//
// TestMain must call [Main]: it starts the children, and it looks for goroutines that an
// adapter left behind.
//
// # Caveats
//
// The restart of a server disturbs its other users. Packages that share a server must
// tolerate it or run apart.
package brokertest
