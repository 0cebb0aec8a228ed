// Command gocommand does what the first word of its standard input says.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	in := bufio.NewReader(os.Stdin)
	word, _ := in.ReadString(' ')
	switch word {
	case "env ":
		for _, v := range os.Environ() {
			fmt.Println(v)
		}
		fmt.Println("args", os.Args)
	case "exit ":
		text, _ := in.ReadString(' ')
		code, _ := strconv.Atoi(text[:len(text)-1])
		rest, _ := io.ReadAll(in)
		fmt.Fprint(os.Stderr, string(rest))
		os.Exit(code)
	case "count ":
		n, _ := io.Copy(io.Discard, in)
		fmt.Println(n)
	case "loop ":
		for {
		}
	case "panic ":
		panic("at the disco")
	case "file ":
		_, err := os.Open("/etc/passwd")
		fmt.Println(err)
	case "paths ":
		for path := range strings.FieldsSeq(rest(in)) {
			text, err := os.ReadFile(path)
			fmt.Println(path, string(text), err == nil)
		}
	case "list ":
		entries, err := os.ReadDir(rest(in))
		fmt.Println(entries, err)
	case "write ":
		write(rest(in))
	case "escape ":
		for path := range strings.FieldsSeq(rest(in)) {
			fmt.Println(path, escape(path))
		}
	case "change ":
		dir := rest(in)
		for _, err := range []error{
			os.WriteFile(dir+"/new", nil, 0o600), os.WriteFile(dir+"/a.txt", nil, 0o600), os.Mkdir(dir+"/sub2", 0o700), os.Remove(dir + "/a.txt"),
			os.Rename(dir+"/a.txt", dir+"/b.txt"), os.Symlink("/etc", dir+"/etc"), os.Link(dir+"/a.txt", dir+"/c.txt"),
			os.Truncate(dir+"/a.txt", 0), os.Chtimes(dir+"/a.txt", time.Now(), time.Now()),
		} {
			fmt.Println(err != nil)
		}
	}
}

// write does what may be done in a directory that may be changed.
func write(dir string) {
	fmt.Println("write", os.WriteFile(dir+"/a.txt", []byte("hello"), 0o600))
	file, err := os.OpenFile(dir+"/a.txt", os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteString(" again")
		file.Close()
	}
	fmt.Println("append", err)
	text, _ := os.ReadFile(dir + "/a.txt")
	fmt.Println("read", string(text))
	file, err = os.Create(dir + "/new")
	fmt.Println("create", err)
	file.Close()
	_, err = os.OpenFile(dir+"/new", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	fmt.Println("exclusive", err != nil)
	fmt.Println("mkdir", os.Mkdir(dir+"/made", 0o700))
	fmt.Println("rename", os.Rename(dir+"/new", dir+"/made/newer"))
	fmt.Println("truncate", os.Truncate(dir+"/made/newer", 100))
	fmt.Println("link", os.Link(dir+"/made/newer", dir+"/made/twin"))
	os.Chtimes(dir+"/made/newer", time.Unix(1000, 0), time.Unix(1000, 0))
	info, err := os.Stat(dir + "/made/newer")
	if err == nil {
		fmt.Println("times", info.ModTime().Unix())
	}
	file, err = os.OpenFile(dir+"/made/newer", os.O_RDWR|os.O_TRUNC, 0)
	if err == nil {
		file.WriteString("123")
		file.WriteAt([]byte("X"), 1)
		file.Seek(0, io.SeekStart)
		text, err = io.ReadAll(file)
		file.Close()
	}
	fmt.Println("at", err, string(text))
	os.Remove(dir + "/made/newer")
	fmt.Println("remove", os.Remove(dir+"/made/twin"))
	fmt.Println("rmdir", os.Remove(dir+"/made"))
	fmt.Println("remove a directory that is not empty", os.Remove(dir+"/sub") != nil)
	fmt.Println("symlink", os.Symlink("/etc", dir+"/etc") != nil)
	fmt.Println("a pipe", os.WriteFile(dir+"/pipe", []byte("x"), 0o600) != nil)
	fmt.Println("remove the mount", os.Remove(dir) != nil)
}

// escape tries to change what lies behind a path in every way.
func escape(path string) string {
	dir := "/data"
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err == nil {
		file.Close()
	}
	ways := map[string]error{
		"written": os.WriteFile(path, []byte("x"), 0o600), "opened": err, "made": os.Mkdir(path, 0o700), "timed": os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)),
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		// What lies in the mount itself may be moved, be it a link.
		ways["moved in"], ways["moved out"] = os.Rename(path, dir+"/moved"), os.Rename(dir+"/a.txt", path)
		ways["linked in"], ways["linked out"] = os.Link(path, dir+"/linked"), os.Link(dir+"/a.txt", path)
	}
	for what, err := range ways {
		if err == nil {
			return what
		}
	}
	return "refused"
}

func rest(in io.Reader) string {
	text, _ := io.ReadAll(in)
	return string(text)
}
