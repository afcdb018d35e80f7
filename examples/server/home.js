"use strict";

// The link that the demo prints has a code in its fragment. It goes to the server in a form, and out of the address bar.
const form = document.getElementById("sign-in");
const signIn = () => {
  const code = location.hash.slice(1);
  if (/^[\w-]{32}$/.test(code)) {
    history.replaceState(null, "", location.pathname + location.search);
    form.elements.code.value = code;
    form.submit();
  }
};
addEventListener("hashchange", signIn);
signIn();

// Ask for the numbers of now, less often while the server does not answer, and not while the page is hidden.
const renewal = document.getElementById("renewal");
if (renewal) {
  const every = 3000, most = 60000; // ms
  let pause = every, timer, asking = false;
  const say = (text) => {
    if (renewal.textContent !== text) {
      renewal.textContent = text;
    }
  };
  const ask = async () => {
    clearTimeout(timer);
    if (document.hidden || asking) {
      return;
    }
    asking = true;
    try {
      const answer = await fetch(renewal.dataset.from, { cache: "no-store" });
      if (answer.status === 401 || answer.status === 403) {
        location.reload(); // it says how to sign in
        return;
      }
      if (!answer.ok) {
        throw new Error(answer.status);
      }
      for (const [id, value] of Object.entries(await answer.json())) {
        const number = document.getElementById(id);
        if (number && number.textContent !== value) { // a screen reader tells each change
          number.textContent = value;
        }
      }
      pause = every;
      say(`The numbers are renewed every ${every / 1000} seconds.`);
    } catch {
      pause = Math.min(2 * pause, most);
      say("The numbers are not renewed: the server does not answer.");
    }
    asking = false;
    timer = setTimeout(ask, pause);
  };
  document.addEventListener("visibilitychange", ask);
  ask();
}

for (const button of document.querySelectorAll("[data-copy]")) {
  const said = button.nextElementSibling;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copy);
    let copied = true;
    try {
      await navigator.clipboard.writeText(text.textContent);
    } catch { // not over http, but for this machine; or not allowed
      getSelection().selectAllChildren(text);
      copied = document.execCommand("copy");
    }
    said.textContent = copied ? "Copied." : "Selected: copy it with the keyboard.";
    setTimeout(() => { said.textContent = ""; }, 4000);
  });
}
