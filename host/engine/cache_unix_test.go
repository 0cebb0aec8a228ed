//go:build unix

package engine

import (
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
)

// stranger is a directory of another user.
type stranger struct{ fs.FileInfo }

func (s stranger) Sys() any {
	stat := *s.FileInfo.Sys().(*syscall.Stat_t)
	stat.Uid++
	return &stat
}

func TestCacheOfAnotherUserIsRefused(t *testing.T) {
	info, err := os.Stat(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := checkCacheOwner("cache", info); err != nil {
		t.Errorf("of this user: %v", err)
	}
	if err := checkCacheOwner("cache", stranger{info}); err == nil || !strings.HasPrefix(err.Error(), "the compilation cache cache belongs to user ") {
		t.Error(err)
	}
}
