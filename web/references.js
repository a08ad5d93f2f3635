/** The drawer with the passages an answer was made from. Their text is shown as text, whatever it holds. */

import { orderReferences, referenceOf } from "./citations.js";
import { h } from "./dom.js";
import { marked, quotedRange } from "./highlight.js";
import { has, languageOf, t } from "./i18n.js";

const NARROW = "(max-width: 900px)";

export class Sources {
  #dialog;
  #list;
  #opener = null;

  constructor(dialog) {
    this.#dialog = dialog;
    this.#list = dialog.querySelector(".sources-list");
    dialog.querySelector(".close").addEventListener("click", () => this.close());
    dialog.addEventListener("close", () => this.#opener?.isConnected && this.#opener.focus());
    dialog.addEventListener("click", (event) => event.target === dialog && this.close());
    // A dialog that is not modal does not close by itself.
    dialog.addEventListener("keydown", (event) => event.key === "Escape" && this.close());
  }

  /**
   * Opens the passages of one answer, at the passage of `citation` when there is one. `told` is what
   * the answer says in front of the citation; where the passage says the same, it is marked.
   */
  open({ references, citations, citation, opener, told = "" }) {
    this.#opener = opener;
    const wanted = citation && referenceOf(citation, references);
    const items = orderReferences(references, citations).map(({ reference, number }) => ({
      number,
      reference,
      element: passage(reference, number, reference === wanted ? told : ""),
    }));
    const missing = citation && !wanted ? [missingPassage(citation)] : [];
    const firstOther = items.findIndex(({ number }) => number === null);
    const elements = items.map(({ element }) => element);
    if (firstOther > 0) elements.splice(firstOther, 0, h("h3", {}, t("sources.others")));
    if (!elements.length && !missing.length) elements.push(h("p", { class: "empty" }, t("sources.none")));
    this.#list.replaceChildren(...missing, ...elements);
    if (!this.#dialog.open) this.#show();
    const target = missing[0] ?? items.find(({ reference }) => reference === wanted)?.element;
    for (const { element } of items) element.classList.toggle("current", element === target);
    (target ?? this.#dialog.querySelector("h2")).focus({ preventScroll: true });
    const quoted = target?.querySelector("mark");
    if (quoted) quoted.scrollIntoView({ block: "center" });
    else (target ?? this.#list).scrollIntoView({ block: "nearest" });
  }

  close() {
    if (this.#dialog.open) this.#dialog.close();
  }

  #show() {
    // Beside the answer there is room to read both; a sheet over it must hold the focus.
    if (matchMedia(NARROW).matches) this.#dialog.showModal();
    else this.#dialog.show();
  }
}

function passage(reference, number, told) {
  const text = reference.content ?? "";
  return h(
    "article",
    { class: "passage", tabindex: "-1", data: { chunk: reference.id ?? "" } },
    h(
      "header",
      {},
      number === null ? null : h("span", { class: "number" }, String(number)),
      h("h3", { lang: languageOf(reference.knowledge_title ?? "") }, reference.knowledge_title ?? ""),
    ),
    h("p", { class: "facts" }, facts(reference).join(" · ")),
    h("p", { class: "passage-text", lang: languageOf(text) }, ...marked(text, quoted(told, text))),
    webLink(reference.url),
  );
}

function quoted(told, text) {
  const range = quotedRange(told, text);
  return range ? [range] : [];
}

function missingPassage({ number, title, url }) {
  return h(
    "article",
    { class: "passage current", tabindex: "-1" },
    h("header", {}, h("span", { class: "number" }, String(number)), h("h3", {}, title)),
    h("p", { class: "facts" }, t("sources.missing")),
    webLink(url),
  );
}

function facts({ page, section, score, match_type: match }) {
  const found = [];
  if (page !== null && page !== undefined) found.push(t("sources.page", { n: page }));
  if (section) found.push(t("sources.section", { name: section }));
  if (typeof score === "number") found.push(t("sources.score", { n: score.toFixed(2) }));
  if (has(`match.${match}`)) found.push(t(`match.${match}`));
  return found;
}

function webLink(url) {
  if (!/^https?:\/\//i.test(url ?? "")) return null;
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow" }, t("sources.open"));
}
