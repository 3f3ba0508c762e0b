// The labelling page: one item, a choice, the next item at once.

import { Choices } from "./choices.js";
import { call, inWords, path, root, signedOut } from "./http.js";
import { Outbox } from "./outbox.js";
import { shown } from "./rich.js";
import { Zoom } from "./zoom.js";

const page = document.body.dataset;
const ahead = Number(page.ahead);
const lease = 1000 * Number(page.lease);
const $ = (id) => document.getElementById(id);
const outbox = new Outbox(page, { onChange: state, onElsewhere: elsewhere, wanted, onItems: takeIn });
let queue = []; // requests that are here and not yet shown
const answered = new Set(); // ids answered on this page: never shown again unless taken back
const history = []; // answers that can be taken back without asking the server which they were, the newest last
const MOST_HISTORY = 50;
let current = null;
let choices = null;
let asking = false;
let askedAt = Date.now();
let timer = null;
let done = 0;
let exhausted = false;
let raw = false; // whether texts are shown as they are written
const zoom = new Zoom($("zoom"));

// --- what is shown

function card(request) {
  const hints = Object.entries(request.hints ?? {}).map(([name, value]) => ({ kind: "text", name, value: String(value) }));
  const parts = [...request.parts, ...hints];
  if (!parts.length) return [Object.assign(document.createElement("div"), { className: "text", textContent: request.id })];
  const how = { raw, onZoom: (image) => zoom.open(image) };
  if (parts.every((part) => !part.name)) return parts.map((part) => shown(part, how));
  const list = document.createElement("dl");
  for (const part of parts) {
    const name = Object.assign(document.createElement("dt"), { textContent: part.name ?? "" });
    const value = document.createElement("dd");
    value.append(shown(part, how));
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
  $("raw").hidden = !request.parts.some((part) => part.rich);
  $("note").value = "";
  $("note-place").hidden = true;
  $("heard").textContent = earlier ? `Taken back. Your answer was: ${earlier}.` : `Item ${done + 1}`;
  choices.ready(earlier);
  window.scrollTo(0, 0);
  seenClasses.disconnect(); // it tells where the classes are with each item, not only when they move
  if (choices.few && matchMedia("(max-width: 60rem)").matches) seenClasses.observe($("choose"));
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
  const trouble = outbox.failures > 0 || outbox.signedOut;
  $("saved").className = trouble ? "warn" : "";
  $("saved").setAttribute("aria-live", trouble ? "polite" : "off"); // "all saved" after each answer is not worth hearing
  $("saved").dataset.waiting = String(waiting);
  $("done").textContent = `${done} answered`;
  $("refused").hidden = !refused.length;
  $("refused-list").replaceChildren(
    ...refused.map(({ body, why }) => Object.assign(document.createElement("li"), { textContent: `${body.id}: ${body.label ?? body.reason ?? "taken back"} (${why})` })),
  );
}

// --- the queue

function known(id) {
  return answered.has(id) || outbox.has(id) || current?.id === id || queue.some((request) => request.id === id);
}

// The same person answered in another tab of this browser, or before a reload.
function elsewhere({ verb, body }) {
  if (verb === "retract") {
    answered.delete(body.id);
    return;
  }
  answered.add(body.id);
  queue = queue.filter((request) => request.id !== body.id);
  if (current?.id === body.id) next();
}

function trouble(words) {
  $("trouble").hidden = !words;
  if ($("trouble").textContent !== words) $("trouble").textContent = words;
}

const isLate = () => Date.now() - askedAt > lease;

// How many items to have here in all, so that the next one appears at once.
const enough = () => (current ? 1 : 0) + ahead;

// Each answer brings the items that follow. Open items come first, so ask also for those that are here already.
function wanted() {
  return asking || exhausted || isLate() ? 0 : Math.min(100, Math.max(1, enough()));
}

function takeIn(requests) {
  askedAt = Date.now();
  const fresh = requests.filter((request) => !known(request.id));
  queue.push(...fresh);
  for (const request of fresh) for (const part of request.parts) if (part.kind === "image") new Image().src = part.value;
  if (!current && queue.length) advance();
  return fresh;
}

async function fetchMore() {
  // Ask also for items that are answered but not yet sent.
  const n = Math.min(1000, queue.length + (current ? 1 : 0) + outbox.waiting.length + ahead + 1);
  const { requests } = await call("POST", path(page.assessment, "ask"), { n });
  if (isLate() && !outbox.waiting.length) {
    // After more than a lease away, items that are not in the list have gone to somebody else.
    const ours = new Set(requests.map((request) => request.id));
    queue = queue.filter((request) => ours.has(request.id));
    if (current && !ours.has(current.id)) current = null;
  }
  const fresh = takeIn(requests);
  exhausted = !queue.length && !outbox.waiting.length;
  if (fresh.length) return null;
  return outbox.waiting.length ? 1000 : 10000; // others may give items back
}

// Gets items until enough are here, with one call at a time and one timer. If none are left, it looks again now and then.
async function fill() {
  if (asking || (queue.length > 0 && queue.length >= ahead - 2 && !isLate())) return;
  asking = true;
  let wait = 2000;
  try {
    wait = await fetchMore();
    trouble("");
  } catch (error) {
    if (signedOut(error)) wait = null;
    trouble(signedOut(error) ? "You are signed out here. Open your personal link again." : `Could not get more items: ${inWords(error)}. Trying again.`);
  } finally {
    asking = false;
  }
  if (!current) advance();
  clearTimeout(timer);
  if (wait !== null) timer = setTimeout(fill, wait);
}

function advance() {
  show(queue.shift() ?? null);
  state();
}

function next() {
  advance();
  fill();
}

// --- what a person does

function answer(verb, body, said) {
  const note = $("note").value.trim();
  try {
    outbox.add(verb, note ? { ...body, note } : body);
  } catch {
    trouble("This browser cannot keep your answer: its storage for this page is full or switched off. Allow storage, and answer again.");
    return;
  }
  answered.add(current.id);
  history.push({ request: current, said });
  if (history.length > MOST_HISTORY) history.shift();
  done += 1;
  if (guide && matchMedia("(max-width: 60rem)").matches) guide.open = false;
  next();
}

function choose(label) {
  if (current) answer("tell", { id: current.id, label }, label);
}

function skip(reason) {
  if (current) answer("skip", { id: current.id, reason }, reason);
}

// After an earlier visit, the server knows the last answer.
async function lastAnswer() {
  await outbox.send();
  if (outbox.waiting.length) throw new Error("some answers are not saved yet");
  const { answers } = await call("GET", `${path(page.assessment, "answers")}?most=1`);
  return answers.map(({ label, note, ...request }) => ({ request, said: label ?? note }))[0];
}

async function undo() {
  let last = history.pop();
  try {
    last ??= await lastAnswer();
  } catch (error) {
    trouble(`Could not take back your last answer: ${inWords(error)}.`);
    return;
  }
  if (!last) {
    $("heard").textContent = "There is nothing to take back.";
    return;
  }
  // Send this even if the answer is still waiting: it may have arrived without our knowing.
  outbox.add("retract", { id: last.request.id });
  answered.delete(last.request.id);
  done = Math.max(0, done - 1);
  if (current) queue.unshift(current);
  queue = queue.filter((request) => request.id !== last.request.id);
  show(last.request, last.said);
  state();
}

function note() {
  $("note-place").hidden = false;
  $("note").focus();
}

function asWritten() {
  if (!current || $("raw").hidden) return;
  raw = !raw;
  $("raw").setAttribute("aria-pressed", String(raw));
  $("item").replaceChildren(...card(current));
}

function enlarge() {
  const image = $("item").querySelector("button.picture img");
  if (current && image) zoom.open(image);
}

// On a phone, classes that come after a long item are one touch away. None is hidden in a box that scrolls: people would
// choose it less often.
const seenClasses = new IntersectionObserver(
  (entries) => {
    const { boundingClientRect, intersectionRatio, intersectionRect, rootBounds } = entries.at(-1);
    if (!boundingClientRect.height) return; // no item is shown yet
    const there = intersectionRatio > 0.9 || intersectionRect.height > 0.6 * rootBounds.height;
    if (!there) $("to-classes").hidden = false;
    // From then on it keeps its place: no other button may come under a finger that taps twice.
    $("to-classes").style.visibility = there ? "hidden" : "";
  },
  { threshold: [0, 0.25, 0.5, 0.75, 0.9, 1] },
);
$("to-classes").addEventListener("click", () => {
  const fits = $("choose").offsetHeight + $("panel").querySelector(".tools").offsetHeight < innerHeight;
  $("choose").scrollIntoView({ block: fits ? "end" : "start" });
  $("choose").querySelector("button")?.focus({ preventScroll: true });
});

// Classes with long names would hide the item, as many classes would: they come after it, too. A note that is being
// written does not count, so that the classes stay where they are.
function makeRoom() {
  if (!choices?.few) return;
  const panel = $("panel");
  panel.classList.remove("tall"); // which has no height of its own
  const height = panel.offsetHeight - $("note-place").offsetHeight;
  panel.classList.toggle("tall", height > 0.55 * innerHeight);
}
const grown = new ResizeObserver(makeRoom);
grown.observe($("panel"));
grown.observe($("choose"));
window.addEventListener("resize", makeRoom);

// The guidelines are open until a person closes them, and again when the owner has changed them. On a narrow page the
// first answer closes them, since they push the item out of sight.
const guide = $("guide");
const readKey = `fewlabels:${JSON.stringify([page.pool, page.annotator, page.assessment])}:guide`;

function guidelines() {
  if (!guide) return;
  guide.open = !guide.open;
  if (guide.open) guide.scrollIntoView({ block: "nearest" });
}

if (guide) {
  const read = localStorage.getItem(readKey);
  $("guide-new").hidden = read === null || read === guide.dataset.version;
  guide.open = read !== guide.dataset.version;
  guide.addEventListener("toggle", () => {
    if (!guide.open) localStorage.setItem(readKey, guide.dataset.version);
    if (!guide.open) $("guide-new").hidden = true;
  });
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
  const ours = {
    s: () => $("why").showModal(),
    u: undo,
    backspace: undo,
    n: note,
    z: enlarge,
    r: asWritten,
    g: guidelines,
    l: () => location.assign(`${root}/answers/${encodeURIComponent(page.assessment)}`),
    "?": () => $("help").showModal(),
  }[event.key.toLowerCase()];
  if (ours) {
    event.preventDefault();
    if (!event.repeat) ours(); // a key held down is one answer, and one undo
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
$("raw").addEventListener("click", asWritten);
$("add-note").addEventListener("click", note);
$("show-help").addEventListener("click", () => $("help").showModal());
$("forget").addEventListener("click", () => {
  outbox.remove(outbox.refused);
});
window.addEventListener("beforeunload", (event) => {
  // Unsent answers are safe in this browser, but a person on a borrowed machine should know about them.
  if (outbox.waiting.length) event.preventDefault();
});

document.addEventListener("visibilitychange", () => document.hidden || !choices || fill());

async function begin() {
  $("loading").hidden = false;
  try {
    const { classes, descriptions } = await call("GET", path(page.assessment, "classes"));
    choices = new Choices($("choose"), classes, choose, descriptions);
  } catch (error) {
    trouble(`Could not begin: ${inWords(error)}.`);
    if (!signedOut(error)) setTimeout(begin, 2000);
    return;
  }
  trouble("");
  state();
  for (const entry of outbox.waiting) elsewhere(entry);
  outbox.send();
  await fill();
}

begin();
