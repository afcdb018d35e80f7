// Package signal scores sounds that signal processing can define, such as silence, a dial tone or white noise. It needs no model file.
package signal
