// Package stranded logs what goes nowhere, as far as one process can know: events that no
// relay takes, and local handlers that no route names.
package stranded
