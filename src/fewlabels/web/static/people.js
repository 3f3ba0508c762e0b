// Invitations: the link is shown once, and stored nowhere. Without this script the forms work as well.

import { call } from "./http.js";

const form = document.getElementById("invite");
const said = document.getElementById("said");
const $ = (id) => document.getElementById(id);

function show({ name, link, qr, csrf }) {
  if (csrf) for (const place of document.querySelectorAll("meta[name=csrf], input[name=csrf]")) place[place.matches("meta") ? "content" : "value"] = csrf;
  $("link").value = link;
  $("qr").src = qr;
  $("whose").textContent = name;
  $("invited").hidden = false;
  $("copy").hidden = false;
  $("link").select();
  $("invited").scrollIntoView({ block: "nearest" });
  said.textContent = "";
}

async function invite(path, body) {
  try {
    show(await call("POST", path, { ...body, origin: location.origin }));
    return true;
  } catch (error) {
    said.textContent = error.message || "No connection. Try again.";
    return false;
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const data = new FormData(form);
  const person = { name: data.get("name").trim(), role: data.get("role") };
  if (!(await invite("/api/v1/people", person))) return;
  form.reset();
  const page = new DOMParser().parseFromString(await (await fetch(location.pathname)).text(), "text/html");
  $("people").replaceWith(document.adoptNode(page.getElementById("people"))); // with the buttons of the new person
});

$("copy").hidden = $("invited").hidden;
$("copy").addEventListener("click", async () => {
  const link = $("link");
  link.select();
  await navigator.clipboard?.writeText(link.value);
  $("copy").textContent = "Copied";
});

document.addEventListener("submit", async (event) => {
  const { again, revoke } = event.target.dataset;
  if (again === undefined && revoke === undefined) return;
  event.preventDefault();
  if (again !== undefined) {
    if (confirm(`Make a new link for ${again}? The link they have now, and every device where they are signed in, stops working. Their answers stay.`)) invite("/api/v1/people/again", { name: again });
    return;
  }
  if (!confirm(`Lock out ${revoke}? Their answers stay.`)) return;
  try {
    await call("POST", "/api/v1/people/revoke", { name: revoke });
    location.reload();
  } catch (error) {
    said.textContent = error.message || "No connection. Try again.";
  }
});
