//go:build !unix

package main

import "os/exec"

// own does nothing where there are no process groups: the end of cmd's context ends cmd.
func own(*exec.Cmd) {}
