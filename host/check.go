package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
)

// checker collects everything that keeps a service from starting, so that all of it is reported at
// once.
type checker struct {
	config   *config.Config
	log      *slog.Logger
	problems config.Problems
	// warnings do not keep the service from starting.
	warnings config.Problems
}

func (c *checker) add(line int, key, what, remedy string) {
	// A problem is one line, whatever a driver has to say.
	what = strings.Join(strings.Fields(what), " ")
	p := config.Problem{File: c.config.Path, Line: line, Key: key, What: what, Remedy: remedy}
	if !slices.Contains(c.problems, p) {
		c.problems = append(c.problems, p)
	}
}

func (c *checker) table(t *config.Table, key, what, remedy string) {
	c.add(t.LineOf(key), path("tables", t.Key, key), what, remedy)
}

func (c *checker) handler(h *config.Handler, key, what, remedy string) {
	c.add(h.LineOf(key), path("handlers", h.Name, key), what, remedy)
}

func path(section, name, key string) string {
	if key != "" {
		key = "." + key
	}
	return section + "." + name + key
}

// err is what was found, in the file's order, or nil.
func (c *checker) err() error {
	if len(c.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(c.problems, func(a, b config.Problem) int { return cmp.Compare(a.Line, b.Line) })
	return c.problems
}

// form builds the form of a handler's table and has the server parse its statements.
func (c *checker) form(ctx context.Context, s store.Store, h *config.Handler, tables map[*config.Table]*dialect.Table, now func() time.Time) forms.Form {
	t := tables[h.Table]
	if t == nil {
		return nil // reported with the table
	}
	o := forms.Options{Table: t, Group: h.Group, Lease: h.Lease, MaxAttempts: int64(h.MaxAttempts), FIFO: h.Table.FIFO, Rest: restFor(h), Rescan: restFor(h),
		Level: levelOf(h.Table), Transactional: h.Transactional, Role: h.TransactionRole, Backoff: (&policy{handler: h}).backoff,
		Lock: h.Table.Lock, Unlock: h.Table.Unlock, Sessions: h.Threads, Now: now}
	if h.Group == config.EveryGroup {
		o.Group, o.AllGroups, o.Except = "", true, c.config.DeadGroups(h.Table)
	}
	if h.DeadLetter != nil {
		o.DeadGroup = h.DeadLetter.Group
		if h.DeadLetter.Table != nil {
			if o.DeadTable = tables[h.DeadLetter.Table]; o.DeadTable == nil || !c.compareTarget(h, t, o.DeadTable) {
				return nil
			}
		}
	}
	index, indexErr := forms.MissingIndex(ctx, s, t, dialect.Selection{AllGroups: o.AllGroups})
	o.Indexed = index == "" && indexErr == nil
	form, err := forms.New(s, o)
	if err != nil {
		c.table(h.Table, "", err.Error(), "choose a form that the database has")
		return nil
	}
	for _, n := range form.Statements() {
		if err := s.Prepare(ctx, &n.Statement); err != nil {
			c.handler(h, "table", fmt.Sprintf("the database refuses the statement %q on table %s: %v", n.Name, t, err),
				"see that the user may read and write the table; the statement is: "+n.Statement.Text(1))
			return nil
		}
	}
	c.rights(ctx, s, h, t, o.DeadTable)
	c.publishes(ctx, s, h, tables)
	c.warnIndex(h.Table, t, index, indexErr)
	c.warnUnnamed(ctx, s, h.Table, t)
	c.warnCrash(h, form)
	c.role(ctx, s, h)
	c.warnDB(h)
	return form
}

// levelOf is how the transactions in which a table's rows are handled begin.
func levelOf(t *config.Table) dialect.Level { return dialect.Level(cmp.Or(t.Isolation, t.Mode)) }

// warnUnnamed warns of rows that no handler can be given, once for a table.
func (c *checker) warnUnnamed(ctx context.Context, s store.Store, declared *config.Table, t *dialect.Table) {
	w := config.Problem{File: c.config.Path, Line: declared.LineOf("id"), Key: path("tables", declared.Key, "id")}
	switch n, err := forms.Unnamed(ctx, s, t); {
	case err != nil:
		w.What = err.Error()
	case n > 0:
		w.What = fmt.Sprintf("%d rows of table %s have a key that is NULL or not of its column's type, and are passed over", n, t)
		w.Remedy = "give them keys of their own"
	default:
		return
	}
	c.warn(w)
}

// warnIndex warns of a table without an index in a claim order, which create would create, once for each.
func (c *checker) warnIndex(declared *config.Table, t *dialect.Table, create string, err error) {
	w := config.Problem{File: c.config.Path, Line: declared.Line, Key: path("tables", declared.Key, "")}
	switch {
	case err != nil:
		w.What = err.Error()
	case create != "":
		w.What, w.Remedy = "no index walks table "+t.String()+" in claim order, so each claim reads all of it", create
	default:
		return
	}
	c.warn(w)
}

// warn adds a warning, once.
func (c *checker) warn(w config.Problem) {
	if !slices.Contains(c.warnings, w) {
		c.warnings = append(c.warnings, w)
	}
}

// version refuses a server that is too old.
func (c *checker) version(ctx context.Context, s store.Store) bool {
	version, err := s.Version(ctx)
	if err == nil {
		err = s.Dialect().CheckVersion(version)
	}
	if err != nil {
		c.add(c.config.Database.LineOf("url"), "database.url", err.Error(), "use a newer server")
	}
	return err == nil
}

// progressEvery is how often a start that takes long says how far it is.
const progressEvery = 2 * time.Second

// handlers refuses a configuration that has nothing to run.
func (c *checker) handlers() {
	if len(c.config.Handlers) == 0 {
		c.add(0, "handlers", "none is declared", "add [handlers.NAME] with its module and its table")
	}
}

// modules compiles the handlers' modules beside each other, each file once.
func (c *checker) modules(ctx context.Context, e *engine.Engine) []*engine.Module {
	modules := make([]*engine.Module, len(c.config.Handlers))
	errs := make([]error, len(modules))
	var loading sync.WaitGroup
	var loaded atomic.Int64
	for i, h := range c.config.Handlers {
		loading.Go(func() {
			defer loaded.Add(1)
			modules[i], errs[i] = e.Load(ctx, h.Module, engine.Limits{Memory: h.Memory, Allowed: allowed(h)})
		})
	}
	for !waitFor(&loading, progressEvery, nil) {
		c.log.Info("compiling modules", "done", loaded.Load(), "of", len(modules))
	}
	for i, h := range c.config.Handlers {
		if errs[i] != nil {
			what, remedy := moduleProblem(errs[i])
			c.handler(h, "module", what, remedy)
			continue
		}
		info := modules[i].Info()
		c.log.Debug("module compiled", "handler", h.Name, "module", info.Path, "bytes", info.Size, "took", info.CompileTime)
		c.entry(h, info)
	}
	return modules
}

// entry refuses a module without the export that the handler's batch needs.
func (c *checker) entry(h *config.Handler, module engine.Info) {
	has := func(export string) bool { return slices.Contains(module.Exports, export) }
	switch {
	case h.Batch > 1 && !has(abi.ExportHandleBatch):
		c.handler(h, "batch", fmt.Sprintf("is %d, and module %s exports no %s", h.Batch, module.Path, abi.ExportHandleBatch),
			"remove batch, or export "+abi.ExportHandleBatch+" (count: i32) -> i32")
	case h.Batch == 1 && !has(abi.ExportHandle) && !module.Command:
		c.handler(h, "batch", fmt.Sprintf("is 1, and module %s exports %s alone", module.Path, abi.ExportHandleBatch),
			"raise batch, or export "+abi.ExportHandle+" () -> i32")
	}
}

// moduleProblem splits an engine's error into what is wrong and what to do.
func moduleProblem(err error) (what, remedy string) {
	var refused *engine.LoadError
	if errors.As(err, &refused) {
		return "module " + refused.Path + " " + refused.What, refused.Remedy
	}
	if missing := (*fs.PathError)(nil); errors.As(err, &missing) {
		return "cannot read the module " + missing.Path + ": " + missing.Err.Error(), "build it, or correct the path"
	}
	return err.Error(), "report this, with the module"
}
