// What readers take along: a picture as SVG or PNG, for slides, and a table as text, for a spreadsheet.
(() => {
  const NS = "http://www.w3.org/2000/svg";
  const SIZE = 17; // of the heading above a picture, in pixels
  const LOOKS = ["fill", "stroke", "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline"];
  const styled = (from, to) => {
    const look = getComputedStyle(from);
    for (const name of LOOKS) to.setAttribute(name, look.getPropertyValue(name));
    [...from.children].forEach((child, i) => styled(child, to.children[i]));
  };
  const made = (name, attributes, words = "") => {
    const node = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.textContent = words;
    return node;
  };
  // A heading in lines that fit; a letter is hardly wider than 0.6 of its height.
  const lines = (text, width) => {
    const most = Math.max(12, Math.floor(width / (0.6 * SIZE)));
    return text.split(" ").reduce((done, word) => {
      const last = done.at(-1);
      if (last !== undefined && last.length + word.length < most) done[done.length - 1] = `${last} ${word}`;
      else done.push(word);
      return done;
    }, []);
  };
  // A picture on its own, in the colours of the page and with its heading.
  const alone = (svg, heading) => {
    const [x, y, width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    const copy = svg.cloneNode(true);
    styled(svg, copy);
    copy.setAttribute("xmlns", NS);
    const head = lines(heading, width);
    const room = 14 + 1.35 * SIZE * head.length;
    copy.setAttribute("viewBox", `${x} ${y - room} ${width} ${height + room}`);
    copy.setAttribute("width", width);
    copy.setAttribute("height", height + room);
    const page = getComputedStyle(document.documentElement);
    const colour = (name) => page.getPropertyValue(`--fl-${name}`).trim();
    const family = getComputedStyle(document.body).fontFamily;
    const look = { x: x + 4, fill: colour("ink"), "font-family": family, "font-size": SIZE, "font-weight": 600 };
    copy.prepend(
      made("rect", { x, y: y - room, width, height: height + room, fill: colour("paper") }),
      ...head.map((line, i) => made("text", { ...look, y: y - room + 1.35 * SIZE * (i + 1) }, line)),
    );
    return { width, height: height + room, text: new XMLSerializer().serializeToString(copy) };
  };
  const download = (blob, name) => {
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const asPng = (picture, name) => {
    const image = new Image();
    image.onload = () => {
      const canvas = Object.assign(document.createElement("canvas"), {
        width: 2 * picture.width,
        height: 2 * picture.height,
      });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => download(blob, name));
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(picture.text)}`;
  };
  const words = (node) => node.textContent.replace(/\s+/g, " ").trim();
  const tabbed = (table) =>
    [...table.rows]
      .map((row) => [...row.cells].map((cell) => words(cell.querySelector(".paper, .plain") ?? cell)).join("\t"))
      .join("\n");
  const copied = async (text, button) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = Object.assign(document.createElement("textarea"), { value: text });
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    const before = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = before), 1500);
  };
  const offer = (after, ...buttons) => {
    const line = Object.assign(document.createElement("p"), { className: "take" });
    for (const [label, what, act] of buttons) {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: label });
      button.setAttribute("aria-label", `${label}: ${what}`);
      button.addEventListener("click", () => act(button));
      line.append(button);
    }
    after.after(line);
  };
  for (const svg of document.querySelectorAll(".fl-wide")) {
    const around = svg.closest(".plot");
    const heading = words(around.querySelector("h2, summary b") ?? around.closest("section").querySelector("h3, h2"));
    const name = heading.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 60);
    const svgFile = () =>
      download(new Blob([alone(svg, heading).text], { type: "image/svg+xml" }), `${name || "picture"}.svg`);
    const pngFile = () => asPng(alone(svg, heading), `${name || "picture"}.png`);
    const narrow = svg.nextElementSibling?.matches(".fl-narrow") ? svg.nextElementSibling : svg;
    offer(narrow, ["Save as SVG", heading, svgFile], ["Save as PNG", heading, pngFile]);
  }
  for (const region of document.querySelectorAll(".scroll")) {
    const table = region.querySelector("table");
    const what = region.getAttribute("aria-label") ?? words(document.getElementById(region.getAttribute("aria-labelledby")));
    if (table) offer(region, ["Copy table", what, (button) => copied(tabbed(table), button)]);
  }
})();
