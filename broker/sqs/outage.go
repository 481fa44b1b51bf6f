package sqs

import (
	"errors"
	"log/slog"

	"github.com/aws/smithy-go"

	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/internal/encode"
)

func newOutage(log *slog.Logger, what string) *flow.Outage {
	return &flow.Outage{Log: log, What: what, Say: code}
}

// code returns the loggable part of an error: SQS' code, since its message may quote the
// request, or the connection's error.
func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return encode.Said(err)
}
