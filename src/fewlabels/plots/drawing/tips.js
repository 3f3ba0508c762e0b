// What a mark means is in its title, which browsers show only to a mouse. A tap shows it as well, and in a drawing that
// has the focus the arrow keys go from mark to mark.
(() => {
  const tip = document.createElement("div");
  tip.className = "fl-tip";
  tip.setAttribute("role", "status");
  document.body.append(tip);
  let at = null;
  const words = (mark) => mark.querySelector(":scope > title")?.textContent ?? "";
  const hide = () => {
    at?.classList.remove("fl-at");
    at = null;
    tip.textContent = "";
  };
  const show = (mark) => {
    hide();
    at = mark;
    mark.classList.add("fl-at");
    tip.textContent = words(mark);
    const place = mark.getBoundingClientRect();
    const left = Math.min(place.left, document.documentElement.clientWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(left, 8) + scrollX}px`;
    tip.style.top = `${place.bottom + scrollY + 6}px`;
  };
  const marked = (node) => {
    for (let mark = node; mark?.closest?.(".fl-plot") && !mark.matches(".fl-plot"); mark = mark.parentElement) {
      if (words(mark)) return mark;
    }
    return null;
  };
  const marks = (plot) => {
    const all = [...plot.querySelectorAll("title")].map((title) => title.parentElement).filter((mark) => mark !== plot);
    return all.filter((mark, i) => all.findIndex((other) => words(other) === words(mark)) === i);
  };
  document.addEventListener("click", (event) => {
    const mark = marked(event.target);
    if (mark) show(mark);
    else hide();
  });
  document.addEventListener("keydown", (event) => {
    const plot = event.target.closest?.(".fl-plot");
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") hide();
    if (!plot || !step) return;
    event.preventDefault(); // the page stays where it is
    const all = marks(plot);
    const now = all.findIndex((mark) => at && words(mark) === words(at));
    if (all.length) show(all[now < 0 ? (step > 0 ? 0 : all.length - 1) : (now + step + all.length) % all.length]);
  });
  document.addEventListener("focusout", hide);
  const reach = () => {
    // The narrow drawing of a figure has numbers of the tips of the wide one.
    for (const figure of document.querySelectorAll(".fl-figure:has(title[data-tip])")) {
      const tips = figure.querySelectorAll(".fl-wide title");
      for (const title of figure.querySelectorAll("title[data-tip]")) {
        title.textContent = tips[title.dataset.tip].textContent;
        title.removeAttribute("data-tip");
      }
    }
    for (const plot of document.querySelectorAll(".fl-plot:not([tabindex])")) plot.setAttribute("tabindex", "0");
  };
  new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
  reach();
})();
