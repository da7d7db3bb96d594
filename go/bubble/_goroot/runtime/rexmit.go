package runtime

// SynctestNextTimer is when the next timer of the bubble may be due, in nanoseconds of its clock; 0 if it has none. A timer that
// was stopped may count.
func SynctestNextTimer() int64 {
	return getg().bubble.timers.wakeTime()
}
