package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/inbox-wasm/inbox-wasm/host"
	"github.com/inbox-wasm/inbox-wasm/host/admin"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// operate has an operator's command work on the declared tables.
func (p *program) operate(ctx context.Context, run func(ctx context.Context, cfg *config.Config, a *admin.Admin) error) (err error) {
	cfg, err := p.load()
	if err != nil {
		return err
	}
	ctx, _, release := signals(ctx)
	defer release()
	s, err := host.Connect(ctx, cfg, p.databases)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	a, err := admin.Open(ctx, s, cfg, time.Now)
	if err != nil {
		return err
	}
	err = run(ctx, cfg, a)
	if mistake := (*admin.Error)(nil); errors.As(err, &mistake) {
		return usageError{err}
	}
	return err
}

// confirm asks whoever looks on before rows are changed. Where nobody can be asked, the answer is an error that
// says how to go without.
func (p *program) confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	if file, ok := p.stdin.(*os.File); !ok || !term.IsTerminal(int(file.Fd())) {
		return usage("%s Nobody can be asked here: say --yes, or --dry-run to see what it would do", question)
	}
	fmt.Fprintf(p.stderr, "%s [y/N] ", question)
	answer, err := bufio.NewReader(p.stdin).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); err != nil || answer != "y" && answer != "yes" {
		return errors.New("nothing was changed")
	}
	return nil
}

// progress shows how far long work is to whoever looks on.
func (p *program) progress(what string, total int64) (report func(rows int64), done func() error) {
	if file, ok := p.stderr.(*os.File); !ok || !term.IsTerminal(int(file.Fd())) {
		return func(int64) {}, func() error { return nil }
	}
	bar := progressbar.NewOptions64(total, progressbar.OptionSetWriter(p.stderr), progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
	return func(rows int64) { _ = bar.Set64(rows) }, bar.Finish // what goes wrong with a bar is no reason to stop
}

// countOf is a number of rows in words.
func countOf(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return strconv.FormatInt(n, 10) + " rows"
}

// oneLine is a text that came from a row, fit for a terminal: on one line, without control characters, at most so many
// characters long. What is not UTF-8 is shown in hexadecimal digits.
func oneLine(text string, length int) string {
	if !utf8.ValidString(text) {
		text = fmt.Sprintf("0x%x", text)
	}
	var line strings.Builder
	n := 0
	for _, r := range text {
		if n++; n > length {
			line.WriteRune('…')
			break
		}
		switch {
		case unicode.IsSpace(r):
			line.WriteByte(' ')
		case !unicode.IsPrint(r):
			line.WriteRune('�')
		default:
			line.WriteRune(r)
		}
	}
	return line.String()
}

// optional is a text that may be missing.
func optional(text *string) string {
	if text == nil {
		return "–"
	}
	return oneLine(*text, 200)
}

// given is a flag's value where the flag was given.
func given(value string, set bool) *string {
	if !set {
		return nil
	}
	return &value
}

// ago is a time as a person tells it, from now.
func ago(t *time.Time, now time.Time) string {
	switch {
	case t == nil:
		return "–"
	case t.After(now):
		return "in " + span(t.Sub(now))
	default:
		return span(now.Sub(*t)) + " ago"
	}
}

// span is a duration with at most two of its units.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		return strings.TrimSuffix(d.Round(time.Second).String(), "0s")
	case d < 2*day:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	default:
		return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
	}
}
