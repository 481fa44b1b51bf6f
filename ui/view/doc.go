// Package view turns what is stored into what a page shows: words for numbers and times, charts,
// payloads, timelines, the steps of the path.
//
// # Nouns
//
// A [Chart] and [Spark]s are rectangles in pixels. A [Token] is a piece of a payload with what it is. An
// [Event] is a moment in the life of a message. A [Step] is one of the four from a failure to its end.
//
// # Rules
//
// Everything is a pure function: it reads no clock and no table. It returns text, never HTML.
package view
