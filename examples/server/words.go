package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// inWords is the text of an error for the operator. The texts of Go's packages about files,
// programs and addresses become plain words.
func inWords(err error) string {
	text := err.Error()
	say := func(of error, name string, reason error) {
		text = strings.Replace(text, of.Error(), name+": "+reasonOf(reason), 1)
	}
	var program *exec.Error // before the file that it may be about
	if errors.As(err, &program) {
		say(program, program.Name, program.Err)
	}
	var file *fs.PathError
	if errors.As(err, &file) {
		say(file, file.Path, file.Err)
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		say(link, link.New, link.Err)
	}
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "listen" && network.Addr != nil {
		say(network, network.Addr.String(), network.Err)
	}
	var host *net.DNSError
	if errors.As(err, &host) && host.IsNotFound && network != nil {
		text = strings.Replace(text, network.Error(), fmt.Sprintf("there is no host %q", host.Name), 1)
	}
	return text
}

// reasonOf returns why a file, program or address cannot be used. A reason that is not in its
// table keeps the operating system's text.
func reasonOf(err error) string {
	var system *os.SyscallError
	if errors.As(err, &system) {
		err = system.Err
	}
	for _, known := range []struct {
		err   error
		words string
	}{
		{exec.ErrNotFound, "there is no such program on the PATH"},
		{fs.ErrNotExist, "there is no such file or folder"},
		{fs.ErrPermission, "this program has no permission for it"},
		{fs.ErrExist, "it exists already"},
		{syscall.EISDIR, "it is a folder"},
		{syscall.ENOTDIR, "a part of the path is not a folder"},
		{syscall.EADDRINUSE, "another program listens there"},
		{syscall.EADDRNOTAVAIL, "this machine does not have the address"},
	} {
		if errors.Is(err, known.err) {
			return known.words
		}
	}
	return err.Error()
}
