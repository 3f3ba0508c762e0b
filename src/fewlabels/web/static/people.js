// Invitations: the link is shown once, and stored nowhere.

import { call, root } from "./http.js";

const form = document.getElementById("invite");
const said = document.getElementById("said");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const data = new FormData(form);
  try {
    const { name, token } = await call("POST", "/api/v1/people", { name: data.get("name").trim(), role: data.get("role") });
    document.getElementById("link").value = `${location.origin}${root}/sign-in#${token}`;
    document.getElementById("whose").textContent = name;
    document.getElementById("invited").hidden = false;
    document.getElementById("link").select();
    said.textContent = "";
    form.reset();
  } catch (error) {
    said.textContent = error.message || "No connection. Try again.";
  }
});

document.getElementById("copy").addEventListener("click", async () => {
  const link = document.getElementById("link");
  link.select();
  await navigator.clipboard?.writeText(link.value);
});

for (const button of document.querySelectorAll("button[data-revoke]")) {
  button.addEventListener("click", async () => {
    if (!confirm(`Lock out ${button.dataset.revoke}? Their answers stay.`)) return;
    try {
      await call("POST", "/api/v1/people/revoke", { name: button.dataset.revoke });
      location.reload();
    } catch (error) {
      said.textContent = error.message || "No connection. Try again.";
    }
  });
}
