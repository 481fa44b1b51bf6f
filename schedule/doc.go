// Package schedule gives a consumer the ticks of calendars, as messages. Its Source is a
// Watermill Subscriber: every process makes every tick, under one id, and the inbox takes it
// once. There is no leader, no lock, and no "last run" that could be lost.
//
// # Nouns
//
// A [Schedule] is a cron expression in a zone. A [Tick] is one of its times, and the body of a
// message. [Next] computes them.
//
// # Rules
//
// The id of a message is ID(name, time), so it follows from the calendar alone.
//
// Ticks are due by the clock of the database, which is asked before each.
//
// After an outage the newest tick that was missed comes, or each of them (CatchUp), unless
// they are older than Within. Ticks from before the schedule was known, or had another
// expression or zone, never come.
//
// In a rolling deploy that changes an expression the process that subscribed last decides;
// one whose expression is not the one in the database makes no ticks.
//
// # Caveats
//
// A name is one schedule of a database: two consumers that need the same times have two
// schedules.
//
// Processes whose zone data differ may make two ticks of one on the days of a changed rule.
package schedule
