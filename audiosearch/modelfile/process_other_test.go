//go:build !unix

package modelfile

func become(int) error { return nil }
