"use strict";

// While the search runs, ask how far it is, and show the page anew when it has ended. Without this script the page reloads itself.
const section = document.getElementById("progress");
if (section) {
  const state = document.getElementById("state");
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
      if (run.total > 0) {
        bar.max = run.total;
        bar.value = run.done;
      }
    } catch {
      pause = 5000; // the server is away; it may come back
    }
    setTimeout(ask, pause);
  };
  setTimeout(ask, 300);
}
