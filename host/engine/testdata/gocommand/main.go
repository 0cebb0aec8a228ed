// Command gocommand does what the first word of its standard input says.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
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
	}
}
