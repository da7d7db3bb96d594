package main

import "runtime/debug"

// release is that of netstack, as the program was built with.
func release() string {
	built, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, module := range built.Deps {
		if module.Path == "gvisor.dev/gvisor" {
			return module.Version
		}
	}
	return ""
}
