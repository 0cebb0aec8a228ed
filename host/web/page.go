package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed page login.html
var files embed.FS

// asset is a file of the page. Its tag lets a browser keep it until the program changes.
type asset struct {
	content []byte
	kind    string
	tag     string
}

// kinds are the types of the page's files. Those of the machine are not asked, which may have others.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// assets are the page's files by their paths.
var assets = func() map[string]asset {
	all := map[string]asset{}
	entries, err := files.ReadDir("page")
	if err != nil {
		panic(err) // they are in the program
	}
	for _, entry := range entries {
		content, err := fs.ReadFile(files, "page/"+entry.Name())
		if err != nil {
			panic(err)
		}
		hash := sha256.Sum256(content)
		all["/"+entry.Name()] = asset{content, kinds[path.Ext(entry.Name())], `"` + hex.EncodeToString(hash[:8]) + `"`}
	}
	return all
}()

// page answers with the page, or asks for the token of who may not read.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	if !s.guard.mayRead(r) {
		s.askToken(w, http.StatusUnauthorized, "")
		return
	}
	serve(w, r, assets["/index.html"])
}

// file answers with a file of the page that is not the page itself.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	if a, ok := assets[r.URL.Path]; ok {
		serve(w, r, a)
		return
	}
	failed(w, errNothing)
}

var errNothing = refuse(http.StatusNotFound, "nothing is here, or not for this method; docs/http.md lists what there is")

func serve(w http.ResponseWriter, r *http.Request, a asset) {
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", a.tag)
	if strings.Contains(r.Header.Get("If-None-Match"), a.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if r.Method != http.MethodHead {
		_, _ = w.Write(a.content) // the client has gone
	}
}
