"use strict";

// While the search runs, ask how far it is, and show the page anew when it has ended. Without this script the page reloads itself.
const section = document.getElementById("progress");
if (section) {
  const state = document.getElementById("state");
  const sound = document.getElementById("sound");
  const bar = section.querySelector("progress");
  const ask = async () => {
    let pause = 1000;
    try {
      const answer = await fetch(section.dataset.status, { cache: "no-store" });
      if (answer.status >= 400 && answer.status < 500) {
        location.reload(); // it says what is the matter
        return;
      }
      const run = await answer.json();
      if (run.ended) {
        location.reload();
        return;
      }
      if (state.textContent !== run.state) {
        state.textContent = run.state;
      }
      sound.textContent = run.sound;
      if (run.share !== null) {
        bar.value = run.share;
      }
    } catch {
      pause = 5000; // the server is away; it may come back
    }
    setTimeout(ask, pause);
  };
  setTimeout(ask, 300);
}

// A player begins at its result. The times of results count from the start of the file. Those of a player may not, where the time stamps in the file
// begin later, so it is asked where it begins. Without this script it takes the times from its link, and may begin too early then.
const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
const play = (player) => {
  const [link, range] = player.getAttribute("src").split("#t=");
  const [start, end] = range.split(",").map(Number);
  let shift;
  player.onloadeddata = () => {
    if (shift !== undefined) {
      return;
    }
    shift = player.currentTime; // which may have gone on a little from there
    // Chromium begins Ogg files at 0, and yet seeks in them by their time stamps: a sound seems longer by as much as those begin late.
    if (shift < 0.5 && player.duration - player.dataset.length > 0.5) {
      shift = player.duration - player.dataset.length;
    }
    player.currentTime = shift + start;
    if (shift >= 1) {
      const note = document.createElement("p");
      note.className = "hint";
      note.textContent = `This file counts from ${clock(Math.round(shift))} on, and so does the player.`;
      player.after(note);
    }
  };
  let ended = false;
  player.ontimeupdate = () => {
    const over = player.currentTime - shift - end;
    if (ended || !(over >= 0)) {
      return;
    }
    ended = true; // once: whoever goes on wants to hear what follows
    if (over < 1) { // if not, somebody went there
      player.pause();
    }
  };
  player.onerror = () => {
    if (player.error.code === MediaError.MEDIA_ERR_NETWORK) {
      return; // the server is away
    }
    const note = player.parentElement.querySelector(".unplayed");
    note.hidden = false;
    if (player.dataset.sound) {
      player.src = player.dataset.sound;
      delete player.dataset.sound;
      delete player.dataset.length;
      play(player);
      player.play().catch(() => {}); // it was asked to before
    } else {
      note.querySelector("span").hidden = true;
      player.hidden = true;
    }
  };
  player.src = link;
};
document.querySelectorAll("audio, video").forEach(play);
