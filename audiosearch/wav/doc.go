// Package wav reads WAV files for audiosearch, in Go, and writes small ones. It needs no
// program and no library.
//
// [Media] is a [sound.Media] for RIFF/WAVE files, for RIFX ones, whose numbers have the
// highest byte first, and for RF64 and BW64 ones (EBU Tech 3306, ITU-R BS.2088), which may
// be longer than 4 GiB: PCM of 8, 16, 24 and 32 bits,
// IEEE float of 32 and 64 bits, 1 to 256 channels, 100 Hz to 768 kHz. All other files
// are [sound.ErrFormat], also WAV files with a codec inside, such as A-law, ADPCM or
// MP3. Package ffmpeg reads those, so a program that wants both asks this package
// first:
//
//	media := sound.FirstMedia(wav.Media{}, programs) // of package ffmpeg
//
// # What is read
//
// A WAV file has no pictures, and begins at time 0. A file that was cut, or whose writer
// never came back to fill in the lengths (a pipe, a crash), is read as far as it goes. So
// is a RIFF file over 4 GiB whose writer kept the lower 32 bits of its length, a file with a
// chunk of odd length that lacks its pad byte, and one whose frames are said to be larger
// than its bytes of a second allow.
// Bytes after the last whole frame, and all chunks but "fmt ", "data" and "ds64", are
// ignored.
//
// The channels are averaged. What is beyond full scale is clipped, as a player does: each
// mean of the channels, and each sample that resampling gives, is in [-1,1]. A float
// sample that is NaN or infinite counts as 0.
//
// # Resampling
//
// Any rate becomes any other between 1 kHz and 768 kHz, behind windowed sinc filters
// (Kaiser window). Of the lower of the two rates, 0.9 times half is passed unchanged;
// what lies above half of it is attenuated by more than 90 dB, images and aliases alike.
// There is no delay: sample n of the result is what is heard n/rate after the start. The
// result does not depend on how the file is cut into blocks.
package wav
