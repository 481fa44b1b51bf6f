package alerts

import (
	"context"
	"log/slog"
)

// Log returns a hook that writes alerts to logger: the Good kinds at level info, all
// others at level warn. nil means slog.Default. It never fails.
func Log(logger *slog.Logger) Hook {
	return func(ctx context.Context, a Alert) error {
		l := logger
		if l == nil {
			l = slog.Default()
		}
		level := slog.LevelWarn
		if a.Kind.Good() {
			level = slog.LevelInfo
		}
		l.LogAttrs(ctx, level, "alert: "+a.Text, attributes(a)...)
		return nil
	}
}

func attributes(a Alert) []slog.Attr {
	attrs := []slog.Attr{slog.String("kind", string(a.Kind))}
	for _, field := range []struct{ name, value string }{
		{"consumer", a.Consumer}, {"handler", a.Handler}, {"topic", a.Topic},
		{"class", a.Class}, {"error_print", a.ErrorPrint},
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
