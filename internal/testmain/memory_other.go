//go:build !linux

package testmain

func inMemory() string { return "" }

func gone(int) bool { return false }
