package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// removable are the flags whose empty value means something: what they set is removed.
var removable = []string{"assign", "link"}

// mostText bounds, in bytes, what a person writes about a decision: each letter of a redrive keeps it.
const mostText = 4000

// checkTexts refuses empty arguments and flags, which are usually a script's unset variable and would choose
// everything, and texts that are too long. Of dlq note, an empty text removes the one there is.
func checkTexts(c *cobra.Command, args []string) (err error) {
	note := c.Name() == "note"
	for i, arg := range args {
		switch {
		case arg == "" && (i == 0 || !note):
			return usagef("%s: argument %d is empty", c.CommandPath(), i+1)
		case note && len(arg) > mostText:
			return usagef("%s: the text has %d bytes: %d at most", c.CommandPath(), len(arg), mostText)
		}
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		switch {
		case err != nil || f.Value.Type() != "string":
		case value == "" && !slices.Contains(removable, f.Name):
			err = usagef("--%s is empty", f.Name)
		case (f.Name == "reason" || f.Name == "by") && len(value) > mostText:
			err = usagef("--%s has %d bytes: %d at most", f.Name, len(value), mostText)
		}
	})
	return err
}
