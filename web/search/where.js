/** Where to search: knowledge bases, their tags, their documents. */

import * as api from "../api.js";
import { h } from "../dom.js";
import { foreign } from "../foreign.js";
import { count, t } from "../i18n.js";
import { TagChoice } from "../tag-choice.js";

const MOST_DOCUMENTS = 50; // that are listed at once; the field above finds the others

export class Where {
  #onChange;
  #kbs = [];
  #chosen = new Set();
  #tags = new TagChoice(() => this.#changed());
  #documents = [];
  #documentIds = new Set();
  #loading = null;
  #summary = h("summary", {});
  #list = h("div", { class: "check-list" });
  #find = h("input", { id: "search-documents", type: "search", autocomplete: "off" });
  #found = h("div", { class: "check-list" });
  #documentPart;

  /** onChange(): another place is chosen */
  constructor(onChange) {
    this.#onChange = onChange;
    this.#find.addEventListener("input", () => this.#drawDocuments());
    this.#documentPart = h(
      "details",
      {},
      h("summary", { data: { i18n: "search.documents" } }, t("search.documents")),
      h("label", { for: this.#find.id, class: "hidden", data: { i18n: "search.documents_find" } }, t("search.documents_find")),
      this.#find,
      this.#found,
    );
    this.#documentPart.addEventListener("toggle", () => this.#documentPart.open && this.#loadDocuments());
    this.element = h(
      "details",
      { class: "search-where" },
      this.#summary,
      h("fieldset", { class: "plain" }, h("legend", { data: { i18n: "scope.label" } }, t("scope.label")), this.#list),
      h("p", { class: "hint", data: { i18n: "search.all_kbs" } }, t("search.all_kbs")),
      this.#tags.element,
      this.#documentPart,
    );
    this.element.addEventListener("toggle", () => this.#load());
  }

  /** Every knowledge base there is, where none is ticked. */
  get kbIds() {
    return this.#effective.map(({ id }) => id);
  }

  /** What a link says: nothing for all of them. */
  get chosen() {
    return { kbIds: [...this.#chosen], tagIds: this.#tags.ids, documentIds: [...this.#documentIds] };
  }

  get #effective() {
    const ticked = this.#kbs.filter(({ id }) => this.#chosen.has(id));
    return ticked.length ? ticked : this.#kbs;
  }

  setKbs(kbs) {
    this.#kbs = kbs;
    this.#load();
    this.draw();
  }

  /** @param {import("./address.js").Wish} wish */
  choose({ kbIds, tagIds, documentIds }) {
    this.#chosen = new Set(kbIds);
    this.#tags.choose(tagIds);
    this.#documentIds = new Set(documentIds);
    this.#documents = [];
    this.#load();
    this.draw();
  }

  /** What can be ticked is read when somebody looks. */
  #load() {
    if (!this.element.open) return;
    this.#tags.load(this.#effective);
    if (this.#documentPart.open) this.#loadDocuments();
  }

  async #loadDocuments() {
    const loading = {};
    this.#loading = loading;
    const kbs = this.#effective.filter(({ kind }) => kind !== "faq");
    const found = await Promise.all(kbs.map(({ id }) => api.allDocuments(id).catch(() => [])));
    if (this.#loading !== loading) return;
    this.#documents = found.flat();
    this.#drawDocuments();
  }

  #changed() {
    this.#drawSummary();
    this.#onChange();
  }

  draw() {
    const boxes = this.#kbs.map((kb) => {
      const tick = (ticked) => {
        if (ticked) this.#chosen.add(kb.id);
        else this.#chosen.delete(kb.id);
        this.#documentIds.clear(); // they may be of another knowledge base
        this.#load();
        this.#drawDocuments();
        this.#changed();
      };
      return checkbox(kb.id, kb.name, this.#chosen.has(kb.id), tick);
    });
    this.#list.replaceChildren(...(boxes.length ? boxes : [h("p", { class: "empty" }, t("scope.empty"))]));
    this.#tags.draw();
    this.#drawDocuments();
    this.#drawSummary();
  }

  #drawSummary() {
    const names = this.#effective.length === this.#kbs.length ? t("search.everywhere") : this.#effective.map(({ name }) => name).join(", ");
    const { tagIds, documentIds } = this.chosen;
    const parts = [names, tagIds.length ? count("scope.tags", tagIds.length) : "", documentIds.length ? count("tags.documents", documentIds.length) : ""];
    this.#summary.textContent = t("search.where", { where: parts.filter(Boolean).join(" · ") });
  }

  #drawDocuments() {
    const part = this.#find.value.trim().toLowerCase();
    const matching = this.#documents.filter(({ id, title }) => this.#documentIds.has(id) || title.toLowerCase().includes(part));
    const ticked = matching.filter(({ id }) => this.#documentIds.has(id));
    const others = matching.filter(({ id }) => !this.#documentIds.has(id));
    const shown = [...ticked, ...others.slice(0, Math.max(0, MOST_DOCUMENTS - ticked.length))];
    const boxes = shown.map(({ id, title }) => checkbox(id, title, this.#documentIds.has(id), (on) => this.#tickDocument(id, on)));
    const rest = matching.length - shown.length;
    this.#found.replaceChildren(
      ...(boxes.length ? boxes : [h("p", { class: "empty" }, t("search.documents_none"))]),
      ...(rest > 0 ? [h("p", { class: "hint" }, t("search.documents_more", { n: rest }))] : []),
    );
  }

  #tickDocument(id, ticked) {
    if (ticked) this.#documentIds.add(id);
    else this.#documentIds.delete(id);
    this.#changed();
  }
}

function checkbox(value, text, checked, onTick) {
  const box = h("input", { type: "checkbox", value });
  box.checked = checked;
  box.addEventListener("change", () => onTick(box.checked));
  return h("label", {}, box, foreign("span", {}, text));
}
