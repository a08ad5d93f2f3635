/** Making elements. Text always goes in as text, never as HTML. */

/**
 * @param {string} tag
 * @param {object} [properties] attributes; `class`, `on: {event: listener}`, `data: {name: value}`
 * @param {...(Node|string|null)} children
 */
export function h(tag, { on = {}, data = {}, ...attributes } = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  for (const [name, listener] of Object.entries(on)) element.addEventListener(name, listener);
  Object.assign(element.dataset, data);
  element.append(...children.filter((child) => child !== null));
  return element;
}

const ICONS = {
  pencil: "M4 20h4L19 9l-4-4L4 16v4zM13 7l4 4",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  close: "M6 6l12 12M18 6L6 18",
  more: "M9 6l6 6-6 6",
  tag: "M4 4h8l8 8-8 8-8-8zM8 8h.01",
  pin: "M9 4h6l-1 6 4 4H6l4-4-1-6zM12 14v6",
};
const SVG = "http://www.w3.org/2000/svg";

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** A button that shows an icon and says its name. */
export function iconButton(name, label, onClick) {
  return h("button", { type: "button", class: "icon-button", "aria-label": label, title: label, on: { click: onClick } }, icon(name));
}

/** Does `work` at most once per frame, however often it is asked for. */
export function oncePerFrame(work) {
  let planned = false;
  return () => {
    if (planned) return;
    planned = true;
    requestAnimationFrame(() => {
      planned = false;
      work();
    });
  };
}

/**
 * Makes `target` look like `fragment`, leaving equal children in place: focus, selection and
 * scroll position in finished paragraphs survive while the last one grows.
 */
export function patch(target, fragment) {
  const wanted = [...fragment.childNodes];
  wanted.forEach((node, index) => {
    const present = target.childNodes[index];
    if (!present) target.append(node);
    else if (!present.isEqualNode(node)) present.replaceWith(node);
  });
  while (target.childNodes.length > wanted.length) target.lastChild.remove();
}
