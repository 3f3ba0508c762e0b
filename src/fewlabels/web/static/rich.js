// The parts of an item on the page. Texts come as trees of a few elements (see web/rich.py), and are inserted as texts:
// nothing that a pool says becomes markup.

const TAGS = new Set(
  "p h3 h4 h5 h6 ul ol li blockquote pre code em strong s a hr br table thead tbody tr th td span section".split(" "),
);
const KINDS = new Set("key string number constant turn keyword comment name added removed".split(" "));
const WEB = /^https?:\/\//i;

const made = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

const link = (href, ...children) => made("a", { href, target: "_blank", rel: "noopener noreferrer nofollow" }, ...children);

export function tree(nodes) {
  return nodes.map((node) => {
    if (typeof node === "string") return node;
    const children = tree(node.children ?? []);
    if (!TAGS.has(node.tag) || (node.tag === "a" && !WEB.test(node.href))) return made("span", {}, ...children);
    if (node.tag === "a") return link(node.href, ...children);
    return made(node.tag, KINDS.has(node.kind) ? { className: node.kind } : {}, ...children);
  });
}

// A picture is a button that enlarges it.
function picture(part, onZoom) {
  const figure = made("figure");
  const image = made("img", { alt: part.alt ?? "The item to label" });
  const button = made("button", { type: "button", className: "picture", title: "Enlarge (z)" }, image);
  image.addEventListener("load", () => image.classList.toggle("tiny", image.naturalWidth < 64));
  image.addEventListener("error", () => {
    figure.className = "notice bad";
    figure.textContent = "This image could not be loaded. Skip the item and tell the owner.";
  });
  button.setAttribute("aria-label", `Enlarge: ${image.alt}`);
  button.addEventListener("click", () => onZoom(image));
  image.src = part.value;
  figure.append(button);
  return figure;
}

export function shown(part, { raw = false, onZoom = () => {} } = {}) {
  if (part.kind === "image") return picture(part, onZoom);
  if (part.kind === "link") return WEB.test(part.value) ? link(part.value, part.value) : made("div", { className: "text" }, part.value);
  if (part.rich && !raw) return made("div", { className: "rich" }, ...tree(part.rich));
  return made("div", { className: "text" }, part.value);
}
