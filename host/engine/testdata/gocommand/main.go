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

func rest(in io.Reader) string {
	text, _ := io.ReadAll(in)
	return string(text)
}
