// Answers on their way to the server: kept in the browser until it has them, sent in order, each taken once.
//
// An answer is in localStorage before the page moves on, and leaves it only after the server has confirmed it. Each has
// its own entry, so that two tabs cannot overwrite each other's, and a key, so that an answer whose confirmation was lost
// is not counted twice. Answers that the server refuses for good (about an item that is gone, say) are kept apart and
// shown: nothing that a person typed disappears. Entries belong to one person, assessment and pool: nobody else's page
// sends them.

import { call, inWords, path, signedOut } from "./http.js";

const WAITS = [500, 1000, 2000, 4000, 8000, 15000];
const AGAIN = new Set([408, 425, 429]); // and everything from 500 up

const newKey = () => crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

export class Outbox {
  // `wanted()` says how many items to ask for along with an answer; `onItems(requests)` gets them.
  constructor({ assessment, annotator, pool }, { onChange, onElsewhere, wanted, onItems }) {
    this.assessment = assessment;
    this.wanted = wanted;
    this.onItems = onItems;
    this.name = `fewlabels:${JSON.stringify([pool, annotator, assessment])}`;
    this.onChange = onChange;
    this.failures = 0;
    this.trouble = "";
    this.signedOut = false;
    this.timer = null;
    window.addEventListener("online", () => this.send());
    document.addEventListener("visibilitychange", () => document.hidden || this.send());
    window.addEventListener("storage", (event) => {
      if (!event.key?.startsWith(this.name)) return;
      if (event.newValue && event.key.startsWith(`${this.name}:waiting:`)) onElsewhere(JSON.parse(event.newValue));
      this.onChange();
      if (!this.signedOut) this.send(); // should the other tab not be able to
    });
  }

  list(part) {
    const start = `${this.name}:${part}:`;
    const places = Object.keys(localStorage).filter((place) => place.startsWith(start));
    const entries = places.sort().map((place) => ({ place, ...JSON.parse(localStorage.getItem(place)) }));
    return entries.filter((entry) => entry.key); // without those that another tab has just removed
  }

  put(part, entry) {
    const last = this.list(part).at(-1)?.place.slice(this.name.length + part.length + 2);
    const order = Math.max(Date.now(), Number.parseInt(last ?? "0", 10) + 1);
    localStorage.setItem(`${this.name}:${part}:${String(order).padStart(15, "0")}:${entry.key}`, JSON.stringify(entry));
  }

  get waiting() {
    return this.list("waiting");
  }

  get refused() {
    return this.list("refused");
  }

  has(id) {
    return this.waiting.some((entry) => entry.body.id === id);
  }

  add(verb, body) {
    this.put("waiting", { verb, body, key: newKey() });
    this.onChange();
    this.send();
  }

  remove(entries) {
    for (const entry of entries) localStorage.removeItem(entry.place);
    this.onChange();
  }

  // One sender at a time, in all tabs of this browser.
  send() {
    clearTimeout(this.timer);
    if (this.busy) return this.busy;
    const work = () => this.sendAll();
    this.busy = (navigator.locks ? navigator.locks.request(this.name, work) : work()).finally(() => {
      this.busy = null;
      if (this.waiting.length && !this.signedOut) this.timer = setTimeout(() => this.send(), WAITS[Math.min(this.failures, WAITS.length - 1)]);
    });
    return this.busy;
  }

  async sendAll() {
    for (let next = this.waiting[0]; next; next = this.waiting[0]) {
      let requests = null;
      try {
        ({ requests } = await this.post(next));
        this.failures = 0;
        this.trouble = "";
        this.signedOut = false;
      } catch (error) {
        if (!this.keep(next, error)) return;
      }
      this.remove([next]);
      if (requests?.length) this.onItems(requests);
    }
  }

  post({ verb, body, key }) {
    const { id, label, reason, note } = body;
    const next = this.waiting.length > 1 ? 0 : this.wanted(); // with the last of several
    const said = {
      tell: { labels: [{ id, label }], note, key, next },
      skip: { ids: [id], reason: note ? `${reason}: ${note}`.slice(0, 1000) : reason, key, next },
      retract: { ids: [id], key },
    };
    return call("POST", path(this.assessment, verb), said[verb]);
  }

  // Returns whether the entry can leave the queue: only if the server has refused it for good, and then it is kept apart.
  keep({ verb, body, key }, error) {
    const status = error.status ?? 0;
    this.signedOut = signedOut(error);
    if (this.signedOut || status === 0 || status >= 500 || AGAIN.has(status)) {
      this.failures += 1;
      this.trouble = inWords(error);
      this.onChange();
      return false;
    }
    this.put("refused", { verb, body, key, why: error.message });
    return true;
  }
}
