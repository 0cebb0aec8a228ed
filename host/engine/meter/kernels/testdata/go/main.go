// Package main is kernels that real handlers spend their time in, to measure what the meter costs. Each export
// runs one, n times, and returns a check sum.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"image"
	"image/color"
	"regexp"
	"slices"
)

func main() {}

//go:wasmexport hash
func hash(n int32) int32 {
	block := bytes.Repeat([]byte("a webhook's body, more or less. "), 2048) // 64 KiB
	sum := byte(0)
	for range n {
		s := sha256.Sum256(block)
		sum += s[0]
		block[0] = s[1]
	}
	return int32(sum)
}

type order struct {
	ID    int      `json:"id"`
	Name  string   `json:"name"`
	Tags  []string `json:"tags"`
	Lines []struct {
		SKU   string  `json:"sku"`
		Count int     `json:"count"`
		Price float64 `json:"price"`
	} `json:"lines"`
}

var document = func() []byte {
	text := []byte(`{"id":123456,"name":"Ada Lovelace","tags":["new","paid","express"],"lines":[`)
	for i := range 40 {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, `{"sku":"ABC-12345","count":3,"price":19.95}`...)
	}
	return append(text, "]}"...)
}()

//go:wasmexport json
func parse(n int32) int32 {
	sum := 0
	for range n {
		var o order
		if err := json.Unmarshal(document, &o); err != nil {
			panic(err)
		}
		sum += len(o.Lines)
	}
	return int32(sum)
}

//go:wasmexport sort
func sort(n int32) int32 {
	list := make([]int32, 20_000)
	sum := int32(0)
	for range n {
		x := uint32(12345)
		for i := range list {
			x = x*1664525 + 1013904223
			list[i] = int32(x >> 1)
		}
		slices.Sort(list)
		sum += list[len(list)/2]
	}
	return sum
}

//go:wasmexport scale
func scale(n int32) int32 {
	from := image.NewRGBA(image.Rect(0, 0, 256, 256))
	for i := range from.Pix {
		from.Pix[i] = byte(i * 7)
	}
	to := image.NewRGBA(image.Rect(0, 0, 100, 100))
	sum := int32(0)
	for range n {
		for y := range 100 {
			for x := range 100 {
				fx, fy := x*256*255/100, y*256*255/100
				a := from.RGBAAt(fx>>8, fy>>8)
				b := from.RGBAAt(fx>>8+1, fy>>8)
				c := from.RGBAAt(fx>>8, fy>>8+1)
				d := from.RGBAAt(fx>>8+1, fy>>8+1)
				u, v := fx&255, fy&255
				mix := func(a, b, c, d uint8) uint8 {
					top := int(a)*(256-u) + int(b)*u
					bottom := int(c)*(256-u) + int(d)*u
					return uint8((top*(256-v) + bottom*v) >> 16)
				}
				to.SetRGBA(x, y, color.RGBA{mix(a.R, b.R, c.R, d.R), mix(a.G, b.G, c.G, d.G), mix(a.B, b.B, c.B, d.B), 255})
			}
		}
		sum += int32(to.Pix[4000])
	}
	return sum
}

var mail = regexp.MustCompile(`([a-z0-9._]+)@([a-z0-9-]+\.)+[a-z]{2,}`)

//go:wasmexport regexp
func search(n int32) int32 {
	text := bytes.Repeat([]byte("Contact us at nobody at example dot com or write to ada.lovelace@mail.example.com today. "), 20)
	sum := 0
	for range n {
		sum += len(mail.FindAllIndex(text, -1))
	}
	return int32(sum)
}
