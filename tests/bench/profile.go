package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
)

// profile begins the profiles that have a file, and returns what ends them.
func profile(cpu, memory string) (func() error, error) {
	file, err := beginCPU(cpu)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	return func() error {
		var err error
		if file != nil {
			pprof.StopCPUProfile()
			err = file.Close()
		}
		if err = errors.Join(err, writeAllocations(memory)); err != nil {
			return fmt.Errorf("profile: %w", err)
		}
		return nil
	}, nil
}

func beginCPU(name string) (*os.File, error) {
	if name == "" {
		return nil, nil
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// writeAllocations writes all that was allocated since the process began.
func writeAllocations(name string) error {
	if name == "" {
		return nil
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("allocs").WriteTo(file, 0), file.Close())
}
