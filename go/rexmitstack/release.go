package rexmitstack

import "runtime/debug"

// Release is the version of a module that the program was built with; "" if it has none.
func Release(path string) string {
	built, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, module := range built.Deps {
		if module.Path == path {
			return module.Version
		}
	}
	return ""
}
