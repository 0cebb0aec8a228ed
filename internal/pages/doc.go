// Package pages tests the documentation: that the tests, texts, metrics and pages that it names are there.
package pages
