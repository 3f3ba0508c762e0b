// Looking back: another choice replaces an answer. It goes through the outbox, as every answer does, so that it is kept
// in this browser until the server has it, and arrives after whatever was typed before.

import { inWords } from "./http.js";
import { Outbox } from "./outbox.js";

const page = document.body.dataset;
const saved = document.getElementById("saved");
const outbox = new Outbox(page, { onChange: state, onElsewhere: () => {}, wanted: () => 0, onItems: () => {} });
const cases = new Map([...document.querySelectorAll("form[data-id]")].map((form) => [form.dataset.id, form]));

function state() {
  const waiting = outbox.waiting.length;
  saved.textContent = waiting ? (outbox.failures ? `${waiting} waiting: ${outbox.trouble}` : `saving ${waiting}…`) : "all saved";
  saved.className = outbox.failures ? "warn" : "";
  const refused = outbox.refused;
  const box = document.getElementById("waiting");
  box.hidden = !refused.length;
  box.textContent = refused.map(({ body, why }) => `${body.id}: ${body.label ?? body.reason ?? "taken back"} was not taken (${why})`).join(" ");
}

function change(form, label) {
  const place = form.closest("li");
  try {
    outbox.add("tell", { id: form.dataset.id, label, note: form.elements.note.value || undefined });
  } catch (error) {
    form.querySelector(".said").textContent = `Not changed: ${inWords(error)}.`;
    return;
  }
  for (const button of form.querySelectorAll(".choices button")) {
    button.classList.toggle("chosen", button.value === label);
    button.setAttribute("aria-pressed", String(button.value === label));
  }
  place.querySelector(".given").textContent = label;
  form.querySelector(".said").textContent = `Changed to ${label}.`;
}

for (const form of cases.values()) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const typed = event.submitter?.name === "label" ? event.submitter.value : new FormData(form).get("label")?.trim();
    const known = [...document.querySelectorAll("#classes option")].map((option) => option.value);
    if (typed && known.length && !known.includes(typed)) form.querySelector(".said").textContent = `There is no class ${typed}. Choose one of the list.`;
    else if (typed) change(form, typed);
  });
}
window.addEventListener("beforeunload", (event) => {
  if (outbox.waiting.length) event.preventDefault();
});
state();
outbox.send();
