package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"strings"
)

// signer checks the signatures that GitHub puts into the header X-Hub-Signature-256.
type signer struct {
	mac hash.Hash // keyed once: a reset costs less than a new key
	sum [sha256.Size]byte
}

func newSigner(secret string) *signer {
	return &signer{mac: hmac.New(sha256.New, []byte(secret))}
}

// check returns why the signature is not that of the body, or nil. It compares in
// constant time, so that nobody can guess a signature byte by byte.
func (s *signer) check(body []byte, signature string) error {
	if signature == "" {
		return errors.New("X-Hub-Signature-256 is missing")
	}
	digits, ok := strings.CutPrefix(signature, "sha256=")
	if !ok {
		return errors.New("X-Hub-Signature-256 does not start with sha256=")
	}
	claimed, err := hex.DecodeString(digits)
	if err != nil || len(claimed) != sha256.Size {
		return errors.New("X-Hub-Signature-256 is not 64 hexadecimal digits")
	}
	s.mac.Reset()
	s.mac.Write(body)
	if !hmac.Equal(s.mac.Sum(s.sum[:0]), claimed) {
		return errors.New("X-Hub-Signature-256 is not the signature of this body")
	}
	return nil
}
