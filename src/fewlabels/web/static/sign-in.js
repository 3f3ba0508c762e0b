// A personal link has its token after the #, which browsers do not send. The page sends it once, in a body, and removes
// it from the address bar and the history.

import { root } from "./http.js";

const form = document.getElementById("sign-in");
const said = document.getElementById("said");

async function signIn(token) {
  const answer = await fetch(`${root}/sign-in`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    credentials: "same-origin",
    body: JSON.stringify({ token }),
  });
  if (answer.ok) {
    location.replace((await answer.json()).to);
    return;
  }
  const body = await answer.json().catch(() => ({}));
  said.textContent = body?.error?.message ?? "That did not work. Try again.";
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  // If somebody pastes the whole link, take its token.
  const token = document.getElementById("token").value.trim().replace(/^.*#/, "");
  signIn(token).catch(() => (said.textContent = "No connection. Try again."));
});

function follow() {
  const token = location.hash.slice(1);
  if (!token) return;
  history.replaceState(null, "", location.pathname);
  signIn(token).catch(() => (said.textContent = "No connection. Open your link again."));
}

window.addEventListener("hashchange", follow);
follow();
