package host

import (
	"context"
	"log/slog"
	"time"

	"github.com/inbox-wasm/inbox-wasm/forms"
)

// ledger counts and logs what deliveries come to.
type ledger struct {
	log      *slog.Logger
	counters *counters
	vitals   *vitals
	brake    *brake
	// passOn gives an error of the database's without its secrets.
	passOn func(error) string
	// allowance takes back what rows that were not started had of it.
	allowance *allowance
	// committed is told what a delivery has published in its transaction; nil where handlers publish nothing.
	committed func([]publication)
}

func (s *subscription) newLedger() ledger {
	l := ledger{log: s.log, counters: s.counters, vitals: s.vitals, brake: s.brake, passOn: s.passOn, allowance: s.allowance}
	if s.publisher != nil {
		l.committed = s.publisher.committed
	}
	return l
}

// levels says how loud each outcome is.
var levels = [outcomeCount]slog.Level{
	acked: slog.LevelDebug, dropped: slog.LevelInfo, deadLettered: slog.LevelWarn, retried: slog.LevelDebug,
	delayed: slog.LevelDebug, snoozed: slog.LevelDebug, released: slog.LevelDebug, interrupted: slog.LevelWarn,
}

// done records a settlement that took effect, which was answered then by the clock of flights.
func (l *ledger) done(ctx context.Context, v *verdict, answered time.Duration) {
	l.counters.outcomes[v.outcome].Add(1)
	l.vitals.settlement.clear()
	v.task.spans.Settled(v.outcome.String(), "")
	if v.ended != 0 {
		l.counters.times.settlement.Observe((answered - v.ended).Seconds())
	}
	if v.outcome == acked && len(v.task.published) > 0 {
		l.committed(v.task.published)
	}
	if v.outcome == released {
		l.allowance.give(1)
	}
	if v.outcome != released && v.outcome != interrupted {
		l.brake.release() // what goes back unhandled shows nothing about what handlers come to
	}
	level := levels[v.outcome]
	if v.settlement.Reason != "" {
		level = max(level, slog.LevelInfo) // a failure that says why is never silent
	}
	if !l.log.Enabled(ctx, level) {
		return
	}
	attrs := v.attrs()
	if v.took > 0 {
		attrs = append(attrs, slog.Duration("took", v.took), slog.Int64("ticks", v.ticks))
	}
	if v.settlement.Reason != "" {
		attrs = append(attrs, slog.String("reason", v.settlement.Reason))
	}
	if !v.settlement.Until.IsZero() {
		attrs = append(attrs, slog.Time("until", v.settlement.Until))
	}
	l.log.LogAttrs(ctx, level, "settled", attrs...)
}

// lost records a settlement that came after the delivery had lost its row.
func (l *ledger) lost(ctx context.Context, v *verdict, text string) {
	l.counters.lost.Add(1)
	v.task.spans.Settled("lost", text)
	l.log.LogAttrs(ctx, slog.LevelWarn, text, v.attrs()...)
}

// unsettled records a settlement that was refused or not answered.
func (l *ledger) unsettled(ctx context.Context, v *verdict, a forms.Answer, text string) {
	l.counters.unsettled.Add(1)
	if a.State == forms.Failed || a.State == forms.RolledBack {
		l.brake.press()
	}
	why := "the row is locked by another session"
	if a.Err != nil {
		why = a.Err.Error()
		l.vitals.settlement.set(l.passOn(a.Err))
		l.vitals.unsettled.Store(int64(elapsed()))
	}
	v.task.spans.Settled("unsettled", why)
	l.log.LogAttrs(ctx, slog.LevelError, text,
		append(v.attrs(), slog.String("state", a.State.String()), slog.String("error", why))...)
}

// attrs name the delivery and its outcome.
func (v *verdict) attrs() []slog.Attr {
	d := v.task.delivery
	return []slog.Attr{slog.String("row", d.ID.String()), slog.Int64("attempt", d.Attempt), slog.String("outcome", v.outcome.String())}
}
