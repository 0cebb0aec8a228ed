package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/inbox-wasm/inbox-wasm/host/admin"
)

const (
	// readLimit bounds how long a question about rows may take.
	readLimit = 10 * time.Second
	// listPreview and rowPreview are how many bytes of a payload travel in a list and with one row.
	listPreview, rowPreview = 160, 16 << 10
	// maxDownload bounds a payload that is read as a whole.
	maxDownload = admin.MaxPreview
)

// tablesView is the answer of GET /api/tables.
type tablesView struct {
	At     time.Time          `json:"at"` // of the count
	Tables []admin.TableStats `json:"tables"`
}

// tablesFor is how long a count of the tables is shown to whoever asks.
const tablesFor = 5 * time.Second

// tables answers with what waits in each table, as it was when somebody last asked.
func (s *Server) tables(w http.ResponseWriter, _ *http.Request) {
	tables, at, err := s.views.tables.get(s.work)
	if err != nil {
		failed(w, err)
		return
	}
	if tables == nil {
		tables = []admin.TableStats{}
	}
	answer(w, http.StatusOK, tablesView{at, tables})
}

func (s *Server) countTables(ctx context.Context) ([]admin.TableStats, error) {
	a, err := s.admin()
	if err != nil {
		return nil, err
	}
	return a.Stats(ctx)
}

// admin is what looks at the tables and changes them.
func (s *Server) admin() (*admin.Admin, error) {
	service, err := s.running()
	if err != nil {
		return nil, err
	}
	if a := service.Admin(); a != nil {
		return a, nil
	}
	return nil, refuse(http.StatusNotImplemented, "the dialect of this database has no statements for operators")
}

// rowsView is the answer of GET /api/tables/{table}/rows.
type rowsView struct {
	Rows []admin.Row `json:"rows"`
	More bool        `json:"more"` // behind these
}

// rows answers with a part of a table's rows.
func (s *Server) rows(w http.ResponseWriter, r *http.Request) {
	q, err := queryOf(r.URL.Query())
	if err != nil {
		failed(w, err)
		return
	}
	limit := q.Limit
	if q.Limit < admin.MaxRows {
		q.Limit++ // the one that tells whether there are more
	}
	rows, err := s.peek(r, q)
	if err != nil {
		failed(w, err)
		return
	}
	view := rowsView{Rows: rows}
	if len(rows) > limit {
		view.Rows, view.More = rows[:limit], true
	}
	if view.Rows == nil {
		view.Rows = []admin.Row{}
	}
	answer(w, http.StatusOK, view)
}

// queryOf reads which rows are asked for.
func queryOf(values url.Values) (q admin.Query, err error) {
	q = admin.Query{State: admin.State(values.Get("state")), Limit: 50, Preview: listPreview}
	if group, ok := values["group"]; ok {
		q.Group = &group[0]
	}
	if id, ok := values["id"]; ok {
		q.IDs = id
	}
	for name, bound := range map[string]struct {
		to        *int
		low, high int
	}{
		"limit": {&q.Limit, 1, admin.MaxRows}, "offset": {&q.Offset, 0, 10_000_000}, "preview": {&q.Preview, 1, rowPreview},
	} {
		text := values.Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < bound.low || n > bound.high {
			return q, refuse(http.StatusBadRequest, fmt.Sprintf("%s is to be a number from %d to %d", name, bound.low, bound.high))
		}
		*bound.to = n
	}
	return q, nil
}

// peek reads rows, beside few others that do: the connections are the handlers'.
func (s *Server) peek(r *http.Request, q admin.Query) ([]admin.Row, error) {
	a, err := s.admin()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), readLimit)
	defer cancel()
	select {
	case s.reading <- struct{}{}:
		defer func() { <-s.reading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return a.Peek(ctx, r.PathValue("table"), q)
}

// one reads the row that a request names.
func (s *Server) one(r *http.Request, preview int) (*admin.Row, error) {
	id := r.URL.Query().Get("id")
	if id == "" {
		return nil, refuse(http.StatusBadRequest, "name the row: ?id=..")
	}
	rows, err := s.peek(r, admin.Query{IDs: []string{id}, Limit: 1, Preview: preview})
	switch {
	case err != nil:
		return nil, err
	case len(rows) == 0:
		return nil, refuse(http.StatusNotFound, "the row is not there, or not any more")
	}
	return &rows[0], nil
}

// row answers with one row and the beginning of its payload.
func (s *Server) row(w http.ResponseWriter, r *http.Request) {
	row, err := s.one(r, rowPreview)
	if err != nil {
		failed(w, err)
		return
	}
	answer(w, http.StatusOK, row)
}

// payload answers with a payload as a file.
func (s *Server) payload(w http.ResponseWriter, r *http.Request) {
	select {
	case s.loading <- struct{}{}:
		defer func() { <-s.loading }()
	default:
		w.Header().Set("Retry-After", "1")
		failed(w, refuse(http.StatusTooManyRequests, "another payload is being read; try again when it is"))
		return
	}
	row, err := s.one(r, maxDownload)
	switch {
	case err != nil:
	case row.PayloadSize == nil:
		err = refuse(http.StatusNotFound, "the row has no payload")
	case *row.PayloadSize > maxDownload:
		err = refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("the payload has %d bytes, and at most %d are given over HTTP", *row.PayloadSize, maxDownload))
	}
	if err != nil {
		failed(w, err)
		return
	}
	patient(w)
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream") // whatever it is, no browser is to show it here
	h.Set("Content-Disposition", `attachment; filename="payload.bin"`)
	h.Set("Content-Length", strconv.Itoa(len(row.Payload)))
	_, _ = w.Write(row.Payload) // the client has gone
}

// redriveRequest says which dead letters go back.
type redriveRequest struct {
	Group *string  `json:"group"`
	IDs   []string `json:"ids"` // absent is all
	To    string   `json:"to"`
	Plan  bool     `json:"plan"` // says only what would move
}

type movesView struct {
	Moves []admin.Move `json:"moves"`
	Rows  int64        `json:"rows"`
}

// redrive moves dead letters back, and wakes those who read them.
func (s *Server) redrive(w http.ResponseWriter, r *http.Request) {
	var request redriveRequest
	s.move(w, r, &request, func(ctx context.Context, a *admin.Admin, table string) (any, error) {
		if err := some(request.IDs); err != nil {
			return nil, err
		}
		what := admin.Redrive{Group: request.Group, IDs: request.IDs, To: request.To}
		var moves []admin.Move
		var err error
		if request.Plan {
			moves, err = a.PlanRedrive(ctx, table, what)
		} else {
			moves, err = a.Redrive(ctx, table, what, func(int64) {})
		}
		view := movesView{Moves: moves}
		if moves == nil {
			view.Moves = []admin.Move{}
		}
		for _, m := range moves {
			view.Rows += m.Rows
		}
		if service := s.service.Load(); !request.Plan && view.Rows > 0 {
			for _, h := range service.Handlers() {
				_ = service.Wake(h.Table, "") // an error: a reload has taken the table away, and its readers
			}
		}
		return view, err
	})
}

// purgeRequest says which rows are deleted.
type purgeRequest struct {
	State     admin.State `json:"state"`
	Group     *string     `json:"group"`
	OlderThan float64     `json:"older_than_seconds"`
	IDs       []string    `json:"ids"`
	Plan      bool        `json:"plan"`
}

type countView struct {
	Rows int64 `json:"rows"`
}

// purge deletes rows that are done with.
func (s *Server) purge(w http.ResponseWriter, r *http.Request) {
	var request purgeRequest
	s.move(w, r, &request, func(ctx context.Context, a *admin.Admin, table string) (any, error) {
		if err := some(request.IDs); err != nil {
			return nil, err
		}
		what := admin.Purge{State: request.State, Group: request.Group, IDs: request.IDs, OlderThan: time.Duration(request.OlderThan * float64(time.Second))}
		var n int64
		var err error
		if request.Plan {
			n, err = a.PlanPurge(ctx, table, what)
		} else {
			n, err = a.Purge(ctx, table, what, func(int64) {})
		}
		return countView{n}, err
	})
}

// cancelRequest names waiting rows.
type cancelRequest struct {
	IDs []string `json:"ids"`
}

// cancel finishes waiting rows without handling them.
func (s *Server) cancel(w http.ResponseWriter, r *http.Request) {
	var request cancelRequest
	s.move(w, r, &request, func(ctx context.Context, a *admin.Admin, table string) (any, error) {
		if len(request.IDs) == 0 {
			return nil, refuse(http.StatusBadRequest, `name the rows: {"ids": ["1"]}`)
		}
		n, err := a.Cancel(ctx, table, request.IDs)
		return countView{n}, err
	})
}

// some refuses a list that names nobody: it is neither all nor a mistake that should do nothing.
func some(ids []string) error {
	if ids != nil && len(ids) == 0 {
		return refuse(http.StatusBadRequest, "ids is empty: leave it out for all")
	}
	return nil
}

// move does what changes rows, one request at a time.
func (s *Server) move(w http.ResponseWriter, r *http.Request, request any, do func(ctx context.Context, a *admin.Admin, table string) (any, error)) {
	err := read(r, request)
	var a *admin.Admin
	if err == nil {
		a, err = s.admin()
	}
	if err != nil {
		failed(w, err)
		return
	}
	select {
	case s.moving <- struct{}{}:
		defer func() { <-s.moving }()
	default:
		failed(w, refuse(http.StatusConflict, "rows are being moved or deleted already; try again when that has come to its end"))
		return
	}
	patient(w)
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	result, err := do(ctx, a, r.PathValue("table"))
	s.views.tables.forget()
	if err != nil {
		failed(w, err)
		return
	}
	answer(w, http.StatusOK, result)
}
