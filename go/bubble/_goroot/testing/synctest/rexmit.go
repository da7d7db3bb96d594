package synctest

import "internal/synctest"

// Run runs f in a bubble, without a test.
func Run(f func()) { synctest.Run(f) }
