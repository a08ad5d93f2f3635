/** The tags of some knowledge bases as boxes to tick. */

import * as api from "./api.js";
import { h } from "./dom.js";
import { foreign } from "./foreign.js";
import { t } from "./i18n.js";

export class TagChoice {
  #onChange;
  #kbs = []; // {id, name, tags} of those that have tags
  #chosen = new Set();
  #loading = null;
  #list = h("div", { class: "check-list" });
  #hint = h("p", { class: "hint" });
  #legend = h("legend", {});
  element = h("fieldset", { class: "plain tag-choice", hidden: true }, this.#legend, this.#list, this.#hint);

  /** onChange(): other tags are ticked */
  constructor(onChange) {
    this.#onChange = onChange;
  }

  get ids() {
    return [...this.#chosen];
  }

  choose(ids) {
    this.#chosen = new Set(ids);
    this.draw();
  }

  /** Takes the tags of these knowledge bases; ticks of others go. Without an answer nothing can be ticked. */
  async load(kbs) {
    const loading = {};
    this.#loading = loading;
    const found = await Promise.all(
      kbs.map(async ({ id, name }) => ({ id, name, tags: await api.listTags(id).catch(() => null) })),
    );
    if (this.#loading !== loading) return;
    this.#kbs = found.filter(({ tags }) => tags?.length);
    // Of a knowledge base that did not answer nothing is known, so its ticks stay.
    if (found.every(({ tags }) => tags)) this.#forget(new Set(found.flatMap(({ tags }) => tags.map(({ id }) => id))));
    this.draw();
  }

  #forget(existing) {
    const kept = this.ids.filter((id) => existing.has(id));
    if (kept.length === this.#chosen.size) return;
    this.#chosen = new Set(kept);
    this.#onChange();
  }

  draw() {
    const focused = this.#list.contains(document.activeElement) ? document.activeElement.value : null;
    this.element.hidden = !this.#kbs.length;
    this.#legend.textContent = t("scope.tags_title");
    this.#hint.textContent = this.#chosen.size ? t("scope.tags_hint") : "";
    const groups = this.#kbs.flatMap((kb) => [
      this.#kbs.length > 1 ? foreign("p", { class: "facts" }, kb.name) : null,
      ...kb.tags.map((tag) => this.#option(tag)),
    ]);
    this.#list.replaceChildren(...groups.filter(Boolean));
    if (focused) this.#list.querySelector(`[value="${CSS.escape(focused)}"]`)?.focus();
  }

  #option({ id, name }) {
    const box = h("input", { type: "checkbox", value: id });
    box.checked = this.#chosen.has(id);
    box.addEventListener("change", () => {
      if (box.checked) this.#chosen.add(id);
      else this.#chosen.delete(id);
      this.#onChange();
      this.draw();
    });
    return h("label", {}, box, foreign("span", {}, name));
  }
}
