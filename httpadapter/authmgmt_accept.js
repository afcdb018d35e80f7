
const reply = document.querySelector("code");
const button = document.querySelector("button");
const said = document.querySelector("[role=status]");
button.hidden = false;
button.addEventListener("click", async () => {
  let copied = true;
  try {
    await navigator.clipboard.writeText(reply.textContent);
  } catch { // not over http, or not allowed
    getSelection().selectAllChildren(reply);
    copied = document.execCommand("copy");
  }
  said.textContent = copied ? "Copied." : "Selected: copy it with the keyboard.";
});
