package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// plain is a step that binds nothing and answers nothing.
func plain(sql string) store.Step { return store.Step{Statement: &dialect.Statement{SQL: sql}} }

var commit = plain("COMMIT")

// beginning lists the steps that start a transaction, in front of its first ones.
func (s *session) beginning(o store.TxOptions, first []store.Step) []store.Step {
	var steps []store.Step
	for _, sql := range s.config.BeginWork(o) {
		steps = append(steps, plain(sql))
	}
	return append(steps, first...)
}

// run runs steps in their order and stops at the first that fails, in one round trip where the database can.
func (s *session) run(ctx context.Context, steps []store.Step) error {
	if s.config.Together != nil && len(steps) > 1 {
		return s.together(ctx, steps)
	}
	for _, step := range steps {
		var err error
		if step.Row != nil {
			err = s.Query(ctx, step.Statement, step.N, step.Args, step.Row)
		} else {
			_, err = s.Exec(ctx, step.Statement, step.N, step.Args)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// together runs steps as one statement, whose answers are those of the steps that have one to read.
func (s *session) together(ctx context.Context, steps []store.Step) (err error) {
	texts := make([]string, len(steps))
	var args []any
	var answers []func([][]byte) error
	for i, step := range steps {
		texts[i] = step.Statement.Text(step.N)
		args = append(args, arguments(step.Args)...)
		if step.Row != nil {
			answers = append(answers, step.Row)
		}
	}
	text := s.config.Together(texts)
	if len(answers) == 0 {
		_, err := s.held.ExecContext(ctx, text, args...)
		return err
	}
	rows, err := s.held.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for i, row := range answers {
		if i > 0 && !rows.NextResultSet() {
			if err := rows.Err(); err != nil {
				return err
			}
			return fmt.Errorf("the database gave %d answers in the place of %d", i, len(answers))
		}
		if err := read(rows, row); err != nil {
			return err
		}
	}
	rows.NextResultSet() // an error of the steps behind the last answer
	return rows.Err()
}
