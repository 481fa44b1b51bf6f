// Package badinput puts bad messages and bad configurations into a
// real consumer on both databases, and says of each what exactly becomes of it.
//
// # Nouns
//
// The cases are the numbered list of bad input: 1 to 18 are messages
// (message_test.go), 19 to 32 ids and metadata (id_test.go), 33 to 51 configuration
// (config_test.go). A case is one row with one outcome: applied, a dead letter of a
// class, or refused by an error that names the option.
//
// # Rules
//
// "Does not crash" is no outcome. What is applied has one committed effect with the hash
// of the bytes that were sent; what is dead has none, and its letter has payload and
// headers byte for byte. Each message is delivered twice, and the second time changes
// nothing. After the last case a healthy message is applied, and the invariants hold.
//
// # Caveats
//
// Numbers that do not apply to what there is (brokers' adapters, the web page, a
// configuration file) stand in the table notHere with the reason; a test fails when a
// number is in neither place.
package badinput
