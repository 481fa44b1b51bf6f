package main

import (
	"testing"

	"github.com/headrace/headrace/examples/internal/storytest"
)

func TestStory(t *testing.T) { storytest.Run(t, broker) }
