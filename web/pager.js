/** The way through the pages of a list. */

import { h } from "./dom.js";
import { t } from "./i18n.js";

/** The pages that a list of `total` has: at least one. */
export const pagesOf = (total, size) => Math.max(1, Math.ceil(total / size));

export class Pager {
  #onPage;
  #place = h("span", { class: "facts", role: "status" });
  #back = h("button", { type: "button", class: "quiet small", data: { i18n: "pages.back" } }, t("pages.back"));
  #on = h("button", { type: "button", class: "quiet small", data: { i18n: "pages.on" } }, t("pages.on"));
  #page = 1;

  /** onPage(number) */
  constructor(onPage) {
    this.#onPage = onPage;
    this.#back.addEventListener("click", () => this.#onPage(this.#page - 1));
    this.#on.addEventListener("click", () => this.#onPage(this.#page + 1));
    this.element = h("div", { class: "pager" }, this.#place, this.#back, this.#on);
  }

  show({ page, size, total }) {
    this.#page = page;
    const pages = pagesOf(total, size);
    const from = Math.min((page - 1) * size + 1, total);
    this.#place.textContent = t("pages.place", { from, to: Math.min(page * size, total), total });
    this.#back.disabled = page <= 1;
    this.#on.disabled = page >= pages;
    this.#back.hidden = this.#on.hidden = pages === 1;
    this.element.hidden = !total;
  }
}
