// Answers on their way: kept in the browser until the server has them, sent in order, each taken once.
//
// An answer is in localStorage before the page moves on, and leaves it only after the server said yes. Each carries a
// key, so that one which was sent but whose "yes" was lost is not counted twice. What the server refuses for good
// (an item that is gone, say) is kept apart and shown: nothing that a person typed disappears.

import { Refused, call, path } from "./http.js";

const WAITS = [500, 1000, 2000, 4000, 8000, 15000];
const AGAIN = new Set([408, 425, 429]); // and everything from 500 up

export class Outbox {
  constructor(assessment, annotator, onChange) {
    this.assessment = assessment;
    this.name = `fewlabels:${annotator}:${assessment}`;
    this.onChange = onChange;
    this.failures = 0;
    this.trouble = "";
    this.sending = null;
    this.timer = null;
    window.addEventListener("online", () => this.send());
    window.addEventListener("storage", (event) => event.key?.startsWith(this.name) && this.onChange());
  }

  read(part = "") {
    try {
      return JSON.parse(localStorage.getItem(this.name + part) ?? "[]");
    } catch {
      return [];
    }
  }

  write(list, part = "") {
    localStorage.setItem(this.name + part, JSON.stringify(list));
    this.onChange();
  }

  get waiting() {
    return this.read();
  }

  get refused() {
    return this.read(":refused");
  }

  has(id) {
    return this.waiting.some((entry) => entry.body.id === id);
  }

  add(verb, body) {
    const key = crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
    this.write([...this.waiting, { verb, body, key }]);
    this.send();
    return key;
  }

  // Take an answer back before it was sent; false if it is gone or on its way.
  cancel(key) {
    const list = this.waiting;
    if (this.sending === key || !list.some((entry) => entry.key === key)) return false;
    this.write(list.filter((entry) => entry.key !== key));
    return true;
  }

  forget() {
    this.write([], ":refused");
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
      this.sending = next.key;
      try {
        await this.post(next);
        this.failures = 0;
        this.trouble = "";
      } catch (error) {
        if (!this.keep(next, error)) return;
      } finally {
        this.sending = null;
      }
      this.write(this.waiting.filter((entry) => entry.key !== next.key));
    }
  }

  post({ verb, body, key }) {
    const { id, label, reason, note } = body;
    const said = {
      tell: { labels: [{ id, label }], note, key },
      skip: { ids: [id], reason: note ? `${reason}: ${note}`.slice(0, 1000) : reason, key },
      retract: { ids: [id], key },
    };
    return call("POST", path(this.assessment, verb), said[verb]);
  }

  // Whether the entry can leave the queue: only when the server has refused it for good, and then it is kept apart.
  keep(entry, error) {
    const status = error instanceof Refused ? error.status : 0;
    this.signedOut = status === 401 || status === 403;
    if (this.signedOut || status === 0 || status >= 500 || AGAIN.has(status)) {
      this.failures += 1;
      this.trouble = status === 0 ? "no connection" : error.message;
      this.onChange();
      return false;
    }
    this.write([...this.refused, { ...entry, why: error.message }], ":refused");
    return true;
  }
}
