/** Which tags a document has. */

import * as api from "../api.js";
import { h } from "../dom.js";
import { t } from "../i18n.js";
import { TagPicker, tagKey } from "./tag-picker.js";

export class DocumentTags {
  #document;
  #hooks;
  #picker;
  #before;

  /** say(text), fail(error), onChanged() */
  constructor(document, hooks) {
    this.#document = document;
    this.#hooks = hooks;
    this.#before = (document.tags ?? []).map(({ name }) => name);
    this.#picker = new TagPicker(this.#before);
    this.element = h(
      "form",
      {},
      this.#picker.element,
      h("div", { class: "dialog-buttons" }, h("button", { type: "submit", class: "primary", data: { i18n: "edit.save" } }, t("edit.save"))),
    );
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#save();
    });
  }

  get title() {
    return t("tags.of", { title: this.#document.title });
  }

  get dirty() {
    return String(keys(this.#picker.chosen)) !== String(keys(this.#before));
  }

  async load() {
    try {
      this.#picker.offer((await this.#tags()).map(({ name }) => name));
    } catch (error) {
      this.#hooks.fail(error);
    }
  }

  draw() {
    this.#picker.draw();
  }

  async #save() {
    try {
      const wanted = this.#picker.chosen;
      const tags = new Map((await this.#tags()).map((tag) => [tagKey(tag.name), tag]));
      for (const name of wanted) {
        if (!tags.has(tagKey(name))) tags.set(tagKey(name), await api.createTag(this.#document.knowledge_base_id, name));
      }
      await api.setTags(this.#document.id, wanted.map((name) => tags.get(tagKey(name)).id));
    } catch (error) {
      return this.#hooks.fail(error);
    }
    this.leave();
    this.#hooks.say(t("edit.saved"));
    this.#hooks.onChanged();
  }

  #tags() {
    return api.listTags(this.#document.knowledge_base_id);
  }
}

const keys = (names) => names.map(tagKey).sort();
