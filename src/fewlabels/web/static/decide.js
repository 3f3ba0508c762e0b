// The owner decides: one item at a time leaves the list once the server has the label.

import { call, path } from "./http.js";

const assessment = document.body.dataset.assessment;
const said = document.getElementById("said");
const left = document.getElementById("left");

async function decide(form, label) {
  for (const button of form.querySelectorAll("button")) button.disabled = true;
  try {
    await call("POST", path(assessment, "decide"), { labels: [{ id: form.dataset.id, label }] });
  } catch (error) {
    said.textContent = error.message || "No connection. Try again.";
    for (const button of form.querySelectorAll("button")) button.disabled = false;
    return;
  }
  const following = form.nextElementSibling ?? form.previousElementSibling;
  form.remove();
  left.textContent = String(document.querySelectorAll("form[data-id]").length);
  said.textContent = `Decided: ${label}.`;
  following?.querySelector("button, input")?.focus();
}

for (const form of document.querySelectorAll("form[data-id]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const label = event.submitter?.value || new FormData(form).get("label")?.trim();
    if (label) decide(form, label);
  });
}
