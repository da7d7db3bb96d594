package main

import (
	"math/rand"
	_ "unsafe" // for go:linkname

	"github.com/pion/randutil"
)

// generator is where Pion draws its tags and first TSNs from; it seeds it by the system as the program starts.
//
//go:linkname generator github.com/pion/sctp.globalMathRandomGenerator
var generator randutil.MathRandomGenerator

// drawn is such a generator whose numbers are a run's.
type drawn struct{ *rand.Rand }

// GenerateString implements randutil.MathRandomGenerator, whose other methods rand.Rand has.
func (d drawn) GenerateString(n int, runes string) string {
	letters := []rune(runes)
	text := make([]rune, n)
	for i := range text {
		text[i] = letters[d.Intn(len(letters))]
	}
	return string(text)
}
