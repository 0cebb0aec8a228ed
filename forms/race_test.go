//go:build race

package forms_test

func init() { raced = true }
