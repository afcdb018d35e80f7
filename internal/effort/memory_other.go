//go:build !linux

package effort

func inMemory() string { return "" }

func gone(int) bool { return false }
