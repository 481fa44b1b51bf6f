package alerts

import (
	"cmp"
	"context"
	"log/slog"
)

// Log returns a hook that writes alerts to logger: the Good kinds, what is resolved, and
// those of severity Info at level info, all others at level warn. A nil logger means slog.Default. It never fails.
func Log(logger *slog.Logger) Hook {
	return func(ctx context.Context, a Alert) error {
		level := slog.LevelWarn
		if a.Kind.Good() || a.Severity == Info || a.Phase == Resolved {
			level = slog.LevelInfo
		}
		cmp.Or(logger, slog.Default()).LogAttrs(ctx, level, "alert: "+a.Text, attributes(a)...)
		return nil
	}
}

func attributes(a Alert) []slog.Attr {
	attrs := []slog.Attr{slog.String("kind", string(a.Kind))}
	for _, field := range []struct{ name, value string }{
		{"consumer", a.Consumer}, {"handler", a.Handler}, {"topic", a.Topic},
		{"environment", a.Environment}, {"build", a.Build}, {"class", a.Class}, {"error_fingerprint", a.ErrorFingerprint},
	} {
		if field.value != "" {
			attrs = append(attrs, slog.String(field.name, field.value))
		}
	}
	if a.LetterID != 0 {
		attrs = append(attrs, slog.Int64("letter", a.LetterID))
	}
	if a.Count > 1 {
		attrs = append(attrs, slog.Int64("count", a.Count), slog.Time("since", a.Since))
	}
	if a.Groups > 1 {
		attrs = append(attrs, slog.Int64("groups", a.Groups))
	}
	if !a.At.IsZero() {
		attrs = append(attrs, slog.Time("at", a.At))
	}
	return attrs
}
