// The labelling page: one item, a choice, the next item at once.

import { Choices } from "./choices.js";
import { call, path } from "./http.js";
import { Outbox } from "./outbox.js";

const page = document.body.dataset;
const ahead = Number(page.ahead);
const $ = (id) => document.getElementById(id);
const outbox = new Outbox(page.assessment, page.annotator, state);
const queue = []; // requests that are here and not yet shown
const answered = new Set(); // ids answered on this page: never shown again unless taken back
const history = []; // answers that can be taken back, the newest last
const MOST_HISTORY = 50;
let current = null;
let choices = null;
let asking = null;
let done = 0;
let exhausted = false;

// --- what is shown

function shown(part) {
  if (part.kind === "image") {
    const figure = document.createElement("figure");
    const image = new Image();
    image.alt = "The item to label";
    image.addEventListener("load", () => image.classList.toggle("tiny", image.naturalWidth < 64));
    image.addEventListener("error", () => {
      figure.className = "notice bad";
      figure.textContent = "This image could not be loaded. Skip the item, and tell the owner.";
    });
    image.src = part.value;
    figure.append(image);
    return figure;
  }
  if (part.kind === "link") {
    const link = Object.assign(document.createElement("a"), { href: part.value, target: "_blank", rel: "noopener noreferrer", textContent: part.value });
    return link;
  }
  return Object.assign(document.createElement("div"), { className: "text", textContent: part.value });
}

function card(request) {
  const hints = Object.entries(request.hints ?? {}).map(([name, value]) => ({ kind: "text", name, value: String(value) }));
  const parts = [...request.parts, ...hints];
  if (!parts.length) return [Object.assign(document.createElement("div"), { className: "text", textContent: request.id })];
  if (parts.every((part) => !part.name)) return parts.map(shown);
  const list = document.createElement("dl");
  for (const part of parts) {
    const name = Object.assign(document.createElement("dt"), { textContent: part.name ?? "" });
    const value = document.createElement("dd");
    value.append(shown(part));
    list.append(name, value);
  }
  return [list];
}

function show(request, earlier = null) {
  current = request;
  $("work").hidden = !request;
  $("empty").hidden = Boolean(request) || !exhausted;
  $("loading").hidden = Boolean(request) || exhausted;
  if (!request) return;
  $("item").replaceChildren(...card(request));
  $("note").value = "";
  $("note-place").hidden = true;
  $("heard").textContent = earlier ? `Taken back. You had chosen ${earlier}.` : `Item ${done + 1}`;
  choices.ready(earlier);
  window.scrollTo(0, 0);
}

function state() {
  const waiting = outbox.waiting.length;
  const refused = outbox.refused;
  const words = outbox.signedOut
    ? "You were signed out. Your answers are kept in this browser: open your personal link again."
    : waiting && outbox.failures
      ? `${waiting} waiting: ${outbox.trouble}`
      : waiting
        ? `saving ${waiting}…`
        : "all saved";
  $("saved").textContent = words;
  $("saved").className = outbox.failures || outbox.signedOut ? "warn" : "";
  $("saved").dataset.waiting = String(waiting);
  $("done").textContent = `${done} answered`;
  $("undo").disabled = !history.length;
  $("refused").hidden = !refused.length;
  $("refused-list").replaceChildren(
    ...refused.map(({ body, why }) => Object.assign(document.createElement("li"), { textContent: `${body.id}: ${body.label ?? body.reason ?? "taken back"} (${why})` })),
  );
}

// --- the queue

function known(id) {
  return answered.has(id) || outbox.has(id) || current?.id === id || queue.some((request) => request.id === id);
}

async function fetchMore() {
  // Open items come first, so those that are here, or answered and not yet sent, have to be asked for as well.
  const n = Math.min(1000, queue.length + (current ? 1 : 0) + outbox.waiting.length + ahead + 1);
  const { requests } = await call("POST", path(page.assessment, "ask"), { n });
  const fresh = requests.filter((request) => !known(request.id));
  queue.push(...fresh);
  for (const request of fresh) for (const part of request.parts) if (part.kind === "image") new Image().src = part.value;
  exhausted = !fresh.length && !queue.length && !outbox.waiting.length;
}

async function fill() {
  if (asking || queue.length > Math.max(0, ahead - 1)) return;
  asking = fetchMore();
  try {
    await asking;
    $("trouble").hidden = true;
  } catch (error) {
    $("trouble").hidden = false;
    $("trouble").textContent = error.status === 401 ? "You are signed out. Open your personal link again." : `Could not get more items: ${error.message || "no connection"}. Trying again.`;
    if (error.status !== 401) setTimeout(fill, 2000);
  } finally {
    asking = null;
  }
  if (!current) next();
  if (exhausted && !current) setTimeout(fill, 10000); // others may give items back
}

function next() {
  const request = queue.shift() ?? null;
  show(request);
  state();
  fill();
}

// --- what a person does

function remember(request, verb, said, key) {
  answered.add(request.id);
  history.push({ request, verb, said, key });
  if (history.length > MOST_HISTORY) history.shift();
  done += 1;
  next();
}

function choose(label) {
  if (!current) return;
  const note = $("note").value.trim();
  const body = note ? { id: current.id, label, note } : { id: current.id, label };
  remember(current, "tell", label, outbox.add("tell", body));
}

function skip(reason) {
  if (!current) return;
  const note = $("note").value.trim();
  const body = note ? { id: current.id, reason, note } : { id: current.id, reason };
  remember(current, "skip", reason, outbox.add("skip", body));
}

function undo() {
  const last = history.pop();
  if (!last) return;
  if (!outbox.cancel(last.key)) outbox.add("retract", { id: last.request.id });
  answered.delete(last.request.id);
  done -= 1;
  if (current) queue.unshift(current);
  show(last.request, last.said);
  state();
}

function note() {
  $("note-place").hidden = false;
  $("note").focus();
}

// --- keys

function typing(target) {
  return target.matches("input, textarea, select") || target.isContentEditable;
}

document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.defaultPrevented) return; // a dialog took it, and may be closed by now
  if ((event.ctrlKey || event.metaKey) && event.key === "z" && !(typing(event.target) && event.target.value)) {
    event.preventDefault();
    undo();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (typing(event.target)) {
    if (event.key === "Escape" && event.target.id === "note") event.target.blur();
    return;
  }
  const ours = { s: () => $("why").showModal(), u: undo, n: note, "?": () => $("help").showModal(), Backspace: undo }[event.key];
  if (ours) {
    event.preventDefault();
    ours();
  } else if (!event.repeat && choices?.press(event.key)) {
    event.preventDefault();
  }
});

$("why").addEventListener("close", () => {
  const said = $("why").returnValue;
  $("why").returnValue = "";
  if (said === "other") {
    const words = $("other").value.trim();
    if (words) skip(words);
  } else if (said) skip(said);
  $("other").value = "";
});
$("why").addEventListener("keydown", (event) => {
  if (event.target.id === "other" && event.key === "Enter") {
    event.preventDefault(); // a form would press its first button
    $("why").close("other");
  }
  if (typing(event.target)) return;
  const button = $("why").querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
  if (button) {
    event.preventDefault();
    button.click();
  }
});
$("skip").addEventListener("click", () => $("why").showModal());
$("undo").addEventListener("click", undo);
$("add-note").addEventListener("click", note);
$("show-help").addEventListener("click", () => $("help").showModal());
$("forget").addEventListener("click", () => {
  outbox.forget();
  state();
});
window.addEventListener("beforeunload", (event) => {
  // They are safe in this browser; but a person who closes it on a borrowed machine should know.
  if (outbox.waiting.length) event.preventDefault();
});

async function begin() {
  try {
    const { classes } = await call("GET", path(page.assessment, "classes"));
    choices = new Choices($("choose"), classes, choose);
  } catch (error) {
    $("trouble").hidden = false;
    $("trouble").textContent = `Could not begin: ${error.message || "no connection"}. Trying again.`;
    setTimeout(begin, 2000);
    return;
  }
  state();
  outbox.send();
  await fill();
}

begin();
