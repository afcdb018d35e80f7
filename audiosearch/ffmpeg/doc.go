// Package ffmpeg reads sound and video files for audiosearch, by the programs ffmpeg and
// ffprobe. It is tested with version 5.1.
//
// [New] gives a [sound.Media]. It reads all that the programs know among the usual
// kinds of files. Package wav reads WAV files without any program; a program that wants
// both asks that one first:
//
//	media := sound.FirstMedia(wav.Media{}, programs) // from ffmpeg.New
//
// Here the last one is asked, so what is no sound or video at all is [sound.BadMedia],
// not [sound.ErrFormat].
//
// # What is read
//
// The sound track that the file marks as the default one, else the first one that this
// ffmpeg can decode, and the first video track except cover pictures. Of a broadcast with
// several programs, both are of the first program that has sound.
//
// Time 0 is where the file starts, for the sound and for the keyframes: a sound track that
// begins later has silence before it, and so has one after a gap of more than 0.1 s in
// its time stamps. Info.Start is the time of the file's own clock there, if it is 0.1 s or
// more: players differ in which of the two they show. Where a clock jumps back, as in
// files that were joined, the next part goes on where the sound before it ends. The clock of
// a broadcast (MPEG transport and program streams) may jump ahead by up to 30 minutes, as
// after a lost signal; a longer jump is taken for another recording, which goes on, too.
// Keyframes are where the file says that they are: nothing is decoded to find them.
//
// The limits: of three and more joined Matroska files ffmpeg reads two. Where the pictures of
// a joined Matroska file are longer than its sound, the later keyframes are late by the
// difference. Pictures whose size ffmpeg does not find, such as scrambled ones, do not count.
//
// The channels are averaged: each has the same weight, the one for low frequencies too.
// Sound is resampled by SoX (libsoxr, precision 28), or by ffmpeg's own resampler with a
// long filter if ffmpeg was built without it. What is beyond full scale is clipped.
//
// A file that is damaged or cut is read as far as ffmpeg reads it: if it gets to an end
// by itself and gave any sound, that is the sound. If it gives up, that is an error,
// whatever came before.
//
// # Safety
//
// Files come from anywhere, and ffmpeg is a large program that can open other files and
// addresses. So
//
//   - the file is opened by this process, must be a regular file, and is handed over
//     opened. On Linux its path does not even appear in the arguments; elsewhere it does,
//     and the file must not be replaced meanwhile;
//   - only the protocol "file" is allowed, and only kinds of files that hold the sound
//     themselves. Playlists, scripts for the concatenation of files and the like are
//     refused by what is in them, whatever their names are;
//   - a QuickTime file that refers to others is read without them;
//   - time, output, keyframes, pixels and single allocations are bounded. On Linux a
//     program can write to no file, has at most 64 files open, and at most 2 GiB of
//     memory (a gap of hours in the sound takes up to 1 GB). Elsewhere its memory is not
//     bounded: a host that fears for it sets a limit for itself (cgroup, MemoryMax of
//     systemd), which its children share;
//   - the programs run in an environment with nothing but PATH and the language, in a
//     process group of their own, which is killed when the context ends, when time is up,
//     when the caller stops reading, and on Linux when this process dies.
//
// They run with this program's rights all the same: a flaw in ffmpeg can read what this
// program can read. If you take files from strangers, let Options.FFmpeg and
// Options.FFprobe name programs that start the real ones with fewer rights, such as a
// script with bubblewrap:
//
//	#!/bin/sh
//	exec bwrap --unshare-all --die-with-parent --new-session --proc /proc --dev /dev \
//	  --ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 \
//	  --ro-bind /etc/alternatives /etc/alternatives /usr/bin/ffmpeg "$@"
package ffmpeg
