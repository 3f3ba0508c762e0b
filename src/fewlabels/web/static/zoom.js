// A picture as large as the window or larger: by buttons, + and -, 0 for the whole of it, and the wheel with Ctrl.

const STEP = 1.4;
const MOST = 16;

export class Zoom {
  constructor(dialog) {
    this.dialog = dialog;
    this.place = dialog.querySelector("#zoomed");
    const on = (id, what) => dialog.querySelector(id).addEventListener("click", what);
    on("#larger", () => this.by(STEP));
    on("#smaller", () => this.by(1 / STEP));
    on("#whole", () => this.by(0));
    on("#unzoom", () => dialog.close());
    dialog.addEventListener("keydown", (event) => this.press(event));
    this.place.addEventListener("wheel", (event) => this.turn(event), { passive: false });
    this.place.addEventListener("dblclick", () => this.by(this.scale > 1 ? 0 : STEP * STEP));
    dialog.addEventListener("close", () => this.place.replaceChildren());
  }

  open(image) {
    this.image = image.cloneNode();
    this.image.className = image.classList.contains("tiny") ? "tiny" : "";
    this.place.replaceChildren(this.image);
    this.dialog.showModal();
    this.by(0);
    this.place.focus();
  }

  // 0 shows the whole picture. Otherwise what is in the middle stays there.
  by(factor) {
    const { clientWidth: wide, clientHeight: high, scrollLeft, scrollTop } = this.place;
    const before = this.scale;
    this.scale = factor ? Math.min(MOST, Math.max(1, before * factor)) : 1;
    const fits = Math.min(wide / (this.image.naturalWidth || 1), high / (this.image.naturalHeight || 1));
    this.image.style.width = `${Math.floor((this.image.naturalWidth || 1) * fits * this.scale)}px`;
    if (!factor) return;
    const grown = this.scale / before;
    this.place.scrollTo((scrollLeft + wide / 2) * grown - wide / 2, (scrollTop + high / 2) * grown - high / 2);
  }

  press(event) {
    const ours = { "+": STEP, "=": STEP, "-": 1 / STEP, 0: 0 }[event.key];
    if (ours === undefined && event.key !== "z") return;
    event.preventDefault();
    if (event.key === "z") this.dialog.close();
    else this.by(ours);
  }

  turn(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    this.by(event.deltaY < 0 ? STEP : 1 / STEP);
  }
}
