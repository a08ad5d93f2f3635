/** A choice of one tag, and tags as they stand beside what has them. */

import * as api from "../api.js";
import { h } from "../dom.js";
import { foreign } from "../foreign.js";
import { t } from "../i18n.js";

export class TagFilter {
  #field;
  #select;
  #tags = [];

  /** @param {HTMLElement} field a label and its select, hidden while there are no tags; onChange(): another choice */
  constructor(field, onChange) {
    this.#field = field;
    this.#select = field.querySelector("select");
    this.#select.addEventListener("change", onChange);
    this.draw();
  }

  /** The id of the tag, or null for all. */
  get chosen() {
    return this.#select.value || null;
  }

  get tags() {
    return this.#tags;
  }

  clear() {
    this.#tags = [];
    this.#select.value = "";
    this.draw();
  }

  async load(kb) {
    this.#tags = await api.listTags(kb);
    this.draw();
  }

  draw() {
    const chosen = this.chosen;
    const options = this.#tags.map(({ id, name }) => foreign("option", { value: id }, name));
    this.#select.replaceChildren(h("option", { value: "" }, t("tags.all")), ...options);
    this.#select.value = this.#tags.some(({ id }) => id === chosen) ? chosen : "";
    this.#field.hidden = !this.#tags.length;
  }
}

export function tagChips(names) {
  const chips = names.map((name) => foreign("li", { class: "tag" }, name));
  return h("ul", { class: "tags", "aria-label": t("tags.title") }, ...chips);
}
