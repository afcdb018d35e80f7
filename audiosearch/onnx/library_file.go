package onnx

import (
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
)

// entry is the symbol of ONNX Runtime that everything else comes from.
const entry = "OrtGetApiBase"

// checkLibrary returns what is wrong with the file of a library. The system's loader ends
// the process for some of that: a file that was cut is mapped as if it were whole.
func checkLibrary(path string) error {
	// Without O_NONBLOCK a named pipe would wait for a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder: name the file of the library in it", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no file", path)
	}
	switch runtime.GOOS {
	case "windows":
		err = checkPE(f, info.Size())
	case "darwin", "ios":
		err = checkMachO(f, info.Size())
	default:
		err = checkELF(f, info.Size())
	}
	if err != nil {
		return fmt.Errorf("%s %w", path, err)
	}
	return nil
}

// The complaints about files of libraries.
var (
	errNoLibrary = errors.New("is no library of this system: fetch ONNX Runtime for " + runtime.GOOS + "/" + runtime.GOARCH)
	errCut       = errors.New("is only a part of a library: fetch it again")
	errOther     = errors.New("is a library, but not ONNX Runtime")
)

// checkELF is checkLibrary on Linux and BSD.
func checkELF(r io.ReaderAt, size int64) error {
	f, err := elf.NewFile(r)
	if err != nil {
		var magic [4]byte
		if n, _ := r.ReadAt(magic[:], 0); n == 4 && string(magic[:]) == elf.ELFMAG {
			return errCut // the table of sections is at the end
		}
		return errNoLibrary
	}
	machines := map[string]elf.Machine{
		"386": elf.EM_386, "amd64": elf.EM_X86_64, "arm": elf.EM_ARM, "arm64": elf.EM_AARCH64, "loong64": elf.EM_LOONGARCH,
		"ppc64le": elf.EM_PPC64, "riscv64": elf.EM_RISCV, "s390x": elf.EM_S390,
	}
	if want, ok := machines[runtime.GOARCH]; ok && f.Machine != want || f.Type != elf.ET_DYN {
		return errNoLibrary
	}
	for _, p := range f.Progs {
		if p.Filesz > uint64(size) || p.Off > uint64(size)-p.Filesz {
			return errCut
		}
	}
	symbols, err := f.DynamicSymbols()
	if errors.Is(err, elf.ErrNoSymbols) { // without its sections, which only linkers need
		return nil
	}
	if err != nil {
		return errCut
	}
	for _, s := range symbols {
		if s.Name != entry || s.Section == elf.SHN_UNDEF {
			continue
		}
		// An old library would write to the standard error that it is.
		if version, ok := strings.CutPrefix(s.Version, "VERS_"); ok && tooOld(version) {
			return fmt.Errorf("is ONNX Runtime %s, which is too old", version)
		}
		return nil
	}
	return errOther
}

// checkMachO is checkLibrary on macOS.
func checkMachO(r io.ReaderAt, size int64) error {
	cpus := map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}
	want := cpus[runtime.GOARCH]
	check := func(f *macho.File, size int64) error {
		if f.Cpu != want || f.Type != macho.TypeDylib {
			return errNoLibrary
		}
		for _, l := range f.Loads {
			if s, ok := l.(*macho.Segment); ok && (s.Filesz > uint64(size) || s.Offset > uint64(size)-s.Filesz) {
				return errCut
			}
		}
		return nil
	}
	if f, err := macho.NewFile(r); err == nil {
		return check(f, size)
	}
	fat, err := macho.NewFatFile(r)
	if err != nil {
		return errNoLibrary
	}
	for _, arch := range fat.Arches {
		if arch.Cpu == want {
			if int64(arch.Offset)+int64(arch.Size) > size {
				return errCut
			}
			return check(arch.File, int64(arch.Size))
		}
	}
	return errNoLibrary
}

// checkPE is checkLibrary on Windows.
func checkPE(r io.ReaderAt, size int64) error {
	f, err := pe.NewFile(r)
	if err != nil {
		return errNoLibrary
	}
	machines := map[string]uint16{
		"386": pe.IMAGE_FILE_MACHINE_I386, "amd64": pe.IMAGE_FILE_MACHINE_AMD64, "arm64": pe.IMAGE_FILE_MACHINE_ARM64,
	}
	if f.Machine != machines[runtime.GOARCH] || f.Characteristics&pe.IMAGE_FILE_DLL == 0 {
		return errNoLibrary
	}
	for _, s := range f.Sections {
		if int64(s.Offset)+int64(s.Size) > size {
			return errCut
		}
	}
	return nil
}
