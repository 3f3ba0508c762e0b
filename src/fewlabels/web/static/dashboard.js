// The live view: when the server says that something changed, the page fetches the parts again.

import { root } from "./http.js";

const page = document.body.dataset;
const live = document.getElementById("live");
const saidState = document.getElementById("state");
const RESTS = 5; // a part that takes long to compute is fetched less often, since labelling comes first
let source = null;
let gone = false; // signed out

const say = (words) => (saidState.textContent = words);

async function fetchPart(part) {
  const answer = await fetch(`${root}/part/${part}/${page.path}`, { credentials: "same-origin" });
  if (answer.redirected || !answer.ok) throw new Error(answer.redirected ? "signed out" : `status ${answer.status}`);
  const text = await answer.text();
  const fresh = new DOMParser().parseFromString(text, "text/html");
  for (const section of fresh.querySelectorAll("[data-part]")) {
    const old = live.querySelector(`[data-part="${section.dataset.part}"]`);
    // A box that a person has opened stays open.
    for (const box of section.querySelectorAll("details[id]")) box.open = document.getElementById(box.id)?.open ?? box.open;
    for (const time of section.querySelectorAll("time")) inLocalTime(time);
    if (old) old.replaceWith(document.adoptNode(section));
    else live.append(document.adoptNode(section));
  }
}

const CLOCK = { hour: "numeric", minute: "2-digit" };

// Without this script, times are in UTC.
function inLocalTime(time) {
  const at = new Date(time.dateTime);
  const today = at.toDateString() === new Date().toDateString();
  time.textContent = today ? at.toLocaleTimeString([], CLOCK) : at.toLocaleDateString([], { month: "short", day: "numeric" });
  time.title = at.toLocaleString();
}

// A part of the page that follows the log: fetched when something changed, and not again before a pause.
class Part {
  constructor(name, onFresh = () => {}) {
    this.name = name;
    this.onFresh = onFresh;
    this.changed = false;
    this.busy = false;
  }

  async refresh() {
    this.changed = true;
    if (this.busy) return;
    this.busy = true;
    while (this.changed) {
      this.changed = false;
      const began = performance.now();
      try {
        await fetchPart(this.name);
        this.onFresh();
      } catch (error) {
        if (error.message === "signed out") {
          gone = true;
          source?.close();
          say("signed out: open your link again");
          break;
        }
        say("no connection; trying again");
        this.changed = true;
      }
      await new Promise((resolve) => setTimeout(resolve, Math.max(1000, RESTS * (performance.now() - began))));
    }
    this.busy = false;
  }
}

const parts = [new Part("live", () => say(`as of ${new Date().toLocaleTimeString([], CLOCK)}`)), new Part("work"), new Part("forecast")];
const MINUTE = 60000;

// Listens only while the page is visible: a browser has few connections to one server, and a stream takes one.
function listen() {
  source?.close();
  if (document.hidden || gone) return;
  source = new EventSource(`${root}/api/v1/assessments/${page.path}/live`);
  source.addEventListener("change", () => parts.forEach((part) => part.refresh()));
  source.addEventListener("error", () => {
    say("no connection; trying again");
    // After an error from the server, the browser does not try again by itself.
    if (source.readyState === EventSource.CLOSED) parts[0].refresh().then(() => setTimeout(listen, 5000));
  });
}

document.addEventListener("visibilitychange", listen);
setInterval(() => !document.hidden && !gone && parts[1].refresh(), MINUTE); // who is labelling now depends on the clock
listen();
