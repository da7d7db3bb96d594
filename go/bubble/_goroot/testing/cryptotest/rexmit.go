package cryptotest

import (
	cryptorand "crypto/rand"
	"io"
)

// Seed makes r the source of all random bytes of crypto.
func Seed(r io.Reader) {
	randSetTestingReader(r)
	cryptorand.Reader = r
}
