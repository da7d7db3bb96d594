package runtime

// SynctestNextTimer is when the next timer of the bubble may be due, in nanoseconds of its clock; 0 if it has none. A timer that
// was stopped may count.
func SynctestNextTimer() int64 {
	return getg().bubble.timers.wakeTime()
}

// SynctestSeed makes what the runtime draws follow from a number: which case of a select comes first, where a map begins.
func SynctestSeed(seed uint64) {
	for mp := allm; mp != nil; mp = mp.alllink {
		mp.cheaprand = seed
		mp.chacha8.Init64([4]uint64{seed})
	}
}
