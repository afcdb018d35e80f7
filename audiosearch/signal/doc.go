// Package signal scores the sounds that signal processing can define, such as silence, a
// dial tone or white noise. It needs no model file.
//
// [New] makes a [Scorer] of clips of 10 s at 16 kHz. Each class is a measurement, with
// numbers that say what passes. A score is the least of a few parts: how long, how pure,
// how near to what it should be, each between 0 and 1. From 0.8 on the clip has the
// sound, below 0.5 it does not; in between it is near the limits. Where a sound is
// equally clear, one that fills more of the clip scores up to 0.12 more.
//
// Durations are judged inside the clip. Nothing is assumed about what is before or after
// it, so a clip of 3 s with a dial tone is a dial tone, and a clip that cuts a busy
// signal is still busy. What is silent by the definition below is no other sound. White
// noise under a tone does little: its level is measured and taken into account. Colored
// noise counts as something else that sounds.
//
// # Classes
//
// Silence: for 2 s or more, no 400 ms have an RMS of -60 dBFS or more. The score is the
// share of the clip. A constant is no sound.
//
// Sine wave: one pure tone between 40 Hz and 7.7 kHz, stable for a second: within 0.5 %
// in frequency and 6 dB in level. 0.97 s pass and 0.93 s do not, between the moments
// where the level is half of what it is within. Overtones or companions above -15 dB make
// it another sound; most flutes and organs have them.
//
// Chirp tone: one tone that rises or falls, without a turn and without steps, by a third
// of an octave or 1 kHz, in 0.32 s or more. Straight and exponential sweeps are alike, up
// to 20 kHz/s. A scale has steps and a siren has turns. Birds are faster than this sees.
// What it crosses in Hz, times its seconds, is 100 or more: 200 Hz in half a second, or
// 100 Hz in one. The glides of voices cross less. Drums die away on the way.
//
// White noise, Pink noise: the spectral density from 100 to 7400 Hz has a slope of 0, or
// -3 dB per octave (1 dB more or less passes), and is a line but for an RMS of 2 dB;
// octaves keep their level to 1.2 dB, as seen each 32 ms; for 3 s or more (2 s may do).
// Rain can be either.
//
// Mains hum: three or more lines at multiples of 50 or 60 Hz (0.6 % more or less) up to
// 430 Hz, for 2 s or more, that hold most of the power between 35 and 430 Hz. A single
// line is a sine wave. An engine that runs at such a speed is taken for hum.
//
// Dial tone: 350 and 440 Hz together (North America's Precise Tone Plan), or 425 Hz
// (ITU-T E.180), for 2 s without a break. 1.2 % passes, 2.8 % does not, so that the 440
// Hz that orchestras tune to are not 425 Hz. One of 425 Hz is a sine wave too. A third
// tone makes it a chord.
//
// Busy signal: 480 and 620 Hz together, or 425, or 400 Hz, on for 0.12 to 0.65 s and off
// for 0.12 to 0.65 s, three times or more, in even time (ITU-T E.180, and the Precise
// Tone Plan). Signals of congestion are the same, but faster.
//
// Telephone dialing, DTMF: one tone of 697, 770, 852, 941 Hz and one of 1209, 1336, 1477,
// 1633 Hz (ITU-T Q.23). As ITU-T Q.24 asks for, 1.5 % off passes and 3.5 % does not, 40
// ms pass and 23 ms do not. The levels may differ by 9 dB. One key is enough. Keys under
// speech or music are not found: the two tones hold nearly all of the power.
//
// Smoke detector, smoke alarm: the evacuation signal of ISO 8201, which NFPA 72 calls T3:
// three beeps of 0.5 s that are 0.5 s apart, then 1.5 s of pause, on a tone between 400
// Hz and 5 kHz. Alarms that beep otherwise, such as those for carbon monoxide, are not
// found.
//
// Pulse: bursts of any kind at 0.62 to 1.5 Hz, up to 0.3 s long, four or more, in even
// time, alike in length and to 5 dB in level, 14 dB or more above all that is between
// them. A clock that ticks once a second is one, and so is a drum that is beaten alone.
// Three bursts score 0.5.
//
// # Speed
//
// A clip of 10 s takes about 5 ms of one core, all classes together. A scorer keeps about
// 2 MB for each clip that is scored at the same time.
package signal
