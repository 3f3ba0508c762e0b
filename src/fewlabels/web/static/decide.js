// The owner decides. Decided items stay on the page until the owner leaves it, so that another click can correct one.

import { call, inWords, path } from "./http.js";

const assessment = document.body.dataset.assessment;
const left = document.getElementById("left");

async function decide(form, label) {
  const said = form.querySelector(".said");
  const buttons = form.querySelectorAll("button");
  for (const button of buttons) button.disabled = true;
  try {
    await call("POST", path(assessment, "decide"), { labels: [{ id: form.dataset.id, label }] });
  } catch (error) {
    said.textContent = `Not decided: ${inWords(error)}. Try again.`;
    return;
  } finally {
    for (const button of buttons) button.disabled = false;
  }
  for (const button of buttons) button.classList.toggle("chosen", button.value === label);
  said.textContent = `Decided: ${label}. Choose again to change it.`;
  if (form.dataset.decided) return;
  form.dataset.decided = "yes";
  left.textContent = String(Number(left.textContent) - 1);
  document.querySelector("form[data-id]:not([data-decided]) :is(button, input:not([type=hidden]))")?.focus();
}

for (const form of document.querySelectorAll("form[data-id]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const label = event.submitter?.name ? event.submitter.value : new FormData(form).get("label")?.trim();
    if (label) decide(form, label);
  });
}
