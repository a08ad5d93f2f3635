/** Untrusted Markdown into the page: sanitised, without remote pictures, citations as buttons. */

import { extractCitations, splitPlaceholders } from "./citations.js";
import { h, patch } from "./dom.js";
import { t } from "./i18n.js";
import { markdownToHtml } from "./markdown.js";
import DOMPurify from "./vendor/dompurify-3.5.0.js";

const ALLOWED = {
  ALLOWED_TAGS: [
    ..."p br hr h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong s del a".split(" "),
    ..."table thead tbody tr th td sup sub".split(" "),
  ],
  ALLOWED_ATTR: ["href", "title", "class", "start"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};
const CLASS = /^align-(left|center|right)$/;
const LINK = /^(https?:\/\/|mailto:)/i;

const purifier = DOMPurify(window);
purifier.addHook("afterSanitizeAttributes", (element) => {
  if (element.hasAttribute?.("class") && !CLASS.test(element.getAttribute("class"))) {
    element.removeAttribute("class"); // else an answer could dress up as a part of the page
  }
  if (element.nodeName !== "A") return;
  if (!LINK.test(element.getAttribute("href") ?? "")) return element.removeAttribute("href");
  element.setAttribute("target", "_blank");
  element.setAttribute("rel", "noopener noreferrer nofollow");
});

/**
 * Shows `text` in `target`.
 * @returns {import("./citations.js").Citation[]} buttons carry the index as `data-citation`
 */
export function renderAnswer(target, text, { complete }) {
  const { text: marked, citations } = extractCitations(text, { complete });
  const fragment = purifier.sanitize(markdownToHtml(marked), ALLOWED);
  placeCitations(fragment, citations);
  patch(target, fragment);
  return citations;
}

function placeCitations(fragment, citations) {
  const walker = document.createTreeWalker(fragment, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const node of texts) {
    const parts = splitPlaceholders(node.data);
    if (!parts.some((part) => typeof part === "number")) continue;
    node.replaceWith(
      ...parts.map((part) => (typeof part === "number" ? mark(citations[part], part) : part)),
    );
  }
}

function mark(citation, index) {
  if (!citation) return "";
  const { number, title, page } = citation;
  const label = t(page ? "cite.label.page" : "cite.label", { n: number, title, page });
  return h(
    "button",
    { type: "button", class: "citation", "aria-label": label, title: label, data: { citation: index } },
    String(number),
  );
}
