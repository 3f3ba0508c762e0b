"use strict";
// A click or Enter on a column name sorts the table. Each body is sorted on its own, so that known and unknown numbers
// never mix.
const value = (cell) => {
  if (cell.dataset.v !== undefined) return cell.dataset.v === "" ? NaN : Number(cell.dataset.v);
  const text = cell.textContent.trim();
  if (text === "–") return NaN;
  if (/^under [\d.]+%$/.test(text)) return 0;
  // A number, or a range such as 5% – 12%, which goes by its low end.
  const low = /^(?:under |over )?([-−]?\d[\d,.]*)%?(?: – .*)?$/.exec(text);
  const number = low ? Number(low[1].replaceAll(",", "").replace("−", "-")) : NaN;
  return Number.isNaN(number) ? text : number;
};
const before = (a, b) => {
  if (typeof a === "string") return a.localeCompare(b, "en", { numeric: true });
  return Number.isNaN(a) - Number.isNaN(b) || a - b;
};
for (const button of document.querySelectorAll("thead button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement;
    const index = head.cellIndex;
    const first = head.classList.contains("t") ? "ascending" : "descending";
    const second = first === "ascending" ? "descending" : "ascending";
    const order = head.getAttribute("aria-sort") === first ? second : first;
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    for (const body of head.closest("table").tBodies) {
      const rows = [...body.rows].filter((row) => !row.classList.contains("divider"));
      let keyed = rows.map((row) => [value(row.cells[index]), row]);
      // Where one is a text, such as the name 1.2.3, all are.
      if (keyed.some(([one]) => typeof one === "string"))
        keyed = keyed.map(([one, row]) => [Number.isNaN(one) ? one : row.cells[index].textContent.trim(), row]);
      const sign = order === "ascending" ? 1 : -1;
      keyed.sort(([a], [b]) => {
        const missing = Number.isNaN(a) - Number.isNaN(b);
        return missing || sign * before(a, b);
      });
      body.append(...keyed.map(([, row]) => row));
    }
    fold();
  });
}
// A long table shows only its first rows on a screen, until the reader asks for all of them or searches. A report about
// one group has no such table.
const table = document.getElementById("table");
const find = document.getElementById("find");
const all = document.getElementById("all");
const everything = () => (table ? [...table.tBodies].flatMap((body) => [...body.rows]) : []);
let open = false;
function fold() {
  if (!table) return;
  const wanted = find.value.trim().toLowerCase();
  const rows = everything();
  const most = Number(table.dataset.fold);
  const long = rows.length > most;
  let shown = 0;
  for (const row of rows) {
    const divider = row.classList.contains("divider");
    const fits = divider ? !wanted : row.cells[0].firstChild.textContent.toLowerCase().includes(wanted);
    const room = open || wanted !== "" || !long || shown < most;
    row.classList.toggle("folded", !(fits && room));
    shown += fits && room && !divider;
  }
  document.getElementById("found").textContent =
    wanted || (long && !open) ? `${shown.toLocaleString("en")} shown` : "";
  all.hidden = !long || open || wanted !== "";
}
if (everything().length > 15) {
  document.querySelector(".tools").hidden = false;
  find.addEventListener("input", fold);
  all.addEventListener("click", () => {
    open = true;
    fold();
  });
}
fold();
// What is folded on a screen is part of what is printed, and of what a link into it leads to.
window.addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
});
