// Package modelfile brings the file of a model to this machine: [Open] reads a local one,
// [Fetch] downloads one over https, once. Both read it whole, so that what runs is what
// was digested, whatever happens to the file meanwhile. The package knows nothing of what
// a model is.
//
// # Where things are
//
// Fetch keeps what it fetched in a folder of the caller, under a name that begins with 32
// hex digits of the SHA-256 of the URL (its query too, without its fragment) and ends
// with the last part of the URL's path, in which other characters than ASCII letters,
// digits, ".", "_" and "-" are replaced by "_". So no two URLs share a file, and no URL
// leads out of the folder. Beside it stand, under the same name with something added:
//
//   - .fetch: what was fetched, as JSON: URL without its query, SHA-256, size, ETag, time
//   - .part and .resume: a download that has not ended, and how far it is
//   - .lock: empty; held while a process downloads, so that others wait
//   - .json: the sidecar, if somebody puts one there; it is never fetched
//
// Nothing else is written. A file that is there under its digest is used without the
// network. A file of a URL that is no longer used stays until somebody deletes it. To
// have a file fetched anew, delete it.
//
// # A download
//
// The file appears under its name in one step, complete and synced to the disk; before
// that nothing reads it. A download that was cut goes on where it was, also after the end
// of the process, if the server says by a strong ETag or by Last-Modified that the file
// is still the same. What was there already is compared with its own SHA-256 first, so
// that a part that was damaged by a loss of power is not built upon. A server that sends less
// than 1 KiB a second over a minute is treated as one that cuts the connection.
//
// Only https is spoken, through redirects too (at most 10). Proxies and certificates are
// those of package net/http: HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE. An error, a record or
// a call of Progress never holds the query of a URL, nor any of an address to which the
// server redirects but its host: those are signed.
//
// The digest protects best: with a URL that ends in #sha256= nothing else than that file
// is returned. Without it the file is what the server gave on the first day.
//
// Fetch needs locks on files. Systems without them (AIX, Solaris) have Open only.
package modelfile
