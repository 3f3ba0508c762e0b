// Choosing a class: buttons with keys for few classes, search for many. Both end in one call: onChoose(name).

const RESERVED = new Set(["s", "u", "n", "z", "r", "g", "l"]); // skip, undo, note, zoom, raw, guidelines, look back
const KEYS = [..."123456789", ..."abcdefghijklmnopqrstuvwxyz".split("").filter((key) => !RESERVED.has(key))];
export const MOST_BUTTONS = 24;
const SHOWN = 50;
const LONG = 40; // letters: two columns of such names, each of many lines, do not fit beside each other on a phone
const LISTED = 100; // so many classes are listed before anything is typed, in their own order: it gives nothing away

// How well a class matches what was typed: 0 is best, null means no match. What it means counts less than its name.
export function fit(name, typed, means = "") {
  const text = name.toLocaleLowerCase();
  if (text === typed) return 0;
  if (text.startsWith(typed)) return 1;
  if (text.split(/[\s_\-/,.()]+/).some((word) => word.startsWith(typed))) return 2;
  if (text.includes(typed)) return 3;
  const words = typed.split(/\s+/).filter(Boolean);
  if (words.length > 1 && words.every((word) => text.includes(word))) return 4;
  return typed.length > 2 && means.toLocaleLowerCase().includes(typed) ? 5 : null;
}

export function found(classes, typed, means = {}) {
  const wanted = typed.trim().toLocaleLowerCase();
  if (!wanted) return [];
  return classes
    .map((name, i) => ({ name, i, rank: fit(name, wanted, Object.hasOwn(means, name) ? means[name] : "") }))
    .filter((one) => one.rank !== null)
    .sort((a, b) => a.rank - b.rank || a.name.length - b.name.length || a.i - b.i)
    .map((one) => one.name);
}

export class Choices {
  constructor(place, classes, onChoose, means = {}) {
    this.classes = classes;
    this.means = means;
    this.onChoose = onChoose;
    this.few = classes.length <= MOST_BUTTONS;
    if (this.few) this.makeButtons(place);
    else this.makeSearch(place);
  }

  // A name, and below it what the class means if the owner has said so. Bare words in a button would not be broken.
  named(name) {
    const box = Object.assign(document.createElement("span"), { className: "name" });
    box.append(name);
    if (Object.hasOwn(this.means, name)) box.append(Object.assign(document.createElement("small"), { textContent: this.means[name] }));
    return box;
  }

  makeButtons(place) {
    const group = document.createElement("div");
    group.className = "choices";
    group.classList.toggle("long", this.classes.some((name) => name.length > LONG));
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", "Classes");
    this.buttons = this.classes.map((name, i) => {
      const button = document.createElement("button");
      button.type = "button";
      if (KEYS[i]) {
        const key = document.createElement("kbd");
        key.textContent = KEYS[i];
        key.ariaHidden = "true"; // aria-keyshortcuts says it
        button.append(key);
        button.setAttribute("aria-keyshortcuts", KEYS[i]);
      }
      button.append(this.named(name));
      button.addEventListener("click", () => this.onChoose(name));
      group.append(button);
      return button;
    });
    place.replaceChildren(group);
  }

  makeSearch(place) {
    const box = document.createElement("div");
    box.className = "search";
    const label = document.createElement("label");
    label.htmlFor = "search";
    label.textContent = `Type to find one of ${this.classes.length.toLocaleString()} classes`;
    this.input = Object.assign(document.createElement("input"), { id: "search", type: "text", autocomplete: "off", spellcheck: false });
    for (const [name, value] of Object.entries({ role: "combobox", "aria-expanded": "false", "aria-controls": "found", "aria-autocomplete": "list", autocapitalize: "off" })) this.input.setAttribute(name, value);
    this.list = Object.assign(document.createElement("ul"), { id: "found", hidden: true });
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", "Classes found");
    this.matches = Object.assign(document.createElement("p"), { id: "matches", className: "soft small" });
    this.matches.setAttribute("role", "status");
    this.input.setAttribute("aria-describedby", "matches");
    box.append(label, this.input, this.matches, this.list);
    place.replaceChildren(box);
    this.at = 0;
    this.input.addEventListener("input", () => this.show(0));
    this.input.addEventListener("keydown", (event) => this.steer(event));
  }

  // What can be chosen now: what was typed finds some classes, and without it all are there if they can be looked through.
  offered() {
    if (this.input.value.trim()) return found(this.classes, this.input.value, this.means);
    return this.classes.length <= LISTED ? this.classes : [];
  }

  // The classes that can be chosen now, and which of them Enter takes: -1 is none, as long as nothing was typed.
  show(at) {
    const all = this.offered();
    const typed = Boolean(this.input.value.trim());
    const names = typed ? all.slice(0, SHOWN) : all;
    this.at = Math.max(typed ? 0 : -1, Math.min(at, names.length - 1));
    this.list.replaceChildren(
      ...names.map((name, i) => {
        const line = document.createElement("li");
        line.id = `found-${i}`;
        line.setAttribute("role", "option");
        line.setAttribute("aria-selected", String(i === this.at));
        line.append(this.named(name));
        line.addEventListener("click", () => this.take(name));
        return line;
      }),
    );
    this.list.hidden = !names.length;
    this.matches.textContent = typed ? this.counted(all.length) : "";
    this.input.setAttribute("aria-expanded", String(names.length > 0));
    if (this.at >= 0 && names.length) this.input.setAttribute("aria-activedescendant", `found-${this.at}`);
    else this.input.removeAttribute("aria-activedescendant");
    this.list.children[this.at]?.scrollIntoView({ block: "nearest" });
  }

  counted(n) {
    if (!n) return "No class matches. If the right class is missing, skip the item and say so.";
    const words = `${n.toLocaleString()} ${n === 1 ? "class matches" : "classes match"}`;
    return n > SHOWN ? `${words}, the first ${SHOWN} are shown` : words;
  }

  steer(event) {
    if (event.isComposing) return;
    const shown = this.list.children.length;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (shown) this.show((Math.max(this.at, step < 0 ? 0 : -1) + step + shown) % shown);
    } else if (event.key === "Enter" && this.at >= 0 && shown) {
      event.preventDefault();
      this.take(this.offered()[this.at]);
    } else if (event.key === "Escape") {
      if (this.input.value) this.clear();
      else this.input.blur();
    }
  }

  take(name) {
    this.clear();
    this.onChoose(name);
  }

  clear() {
    if (!this.input) return;
    this.input.value = "";
    this.show(-1);
    this.list.scrollTop = 0;
  }

  // Handles a key pressed anywhere on the page, and returns whether it was ours.
  press(key) {
    if (!this.few) {
      if (key !== "/") return false;
      this.input.focus();
      return true;
    }
    const i = KEYS.indexOf(key.toLowerCase());
    if (i < 0 || i >= this.classes.length) return false;
    this.onChoose(this.classes[i]);
    return true;
  }

  // For a new item: clears what was typed and, on machines with a keyboard, gets ready for typing.
  ready(earlier) {
    this.clear();
    if (this.buttons) for (const [i, button] of this.buttons.entries()) button.classList.toggle("chosen", this.classes[i] === earlier);
    else if (matchMedia("(pointer: fine)").matches) this.input.focus({ preventScroll: true });
  }
}
