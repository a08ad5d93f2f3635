/** The tags of a knowledge base: add, rename, delete. */

import * as api from "../api.js";
import { confirm } from "../confirm.js";
import { h, iconButton } from "../dom.js";
import { foreign } from "../foreign.js";
import { count, t } from "../i18n.js";

export class Tags {
  #kb;
  #hooks;
  #tags = [];
  #editing = null; // {id, input}
  #list = h("ul", { class: "tag-list" });
  #name = h("input", { id: "tag-name", type: "text", maxlength: "50", autocomplete: "off" });

  /** say(text), fail(error), onChanged() */
  constructor(kb, hooks) {
    this.#kb = kb;
    this.#hooks = hooks;
    const form = h(
      "form",
      { class: "field-row" },
      h("label", { for: this.#name.id, data: { i18n: "tags.new" } }, t("tags.new")),
      this.#name,
      h("button", { type: "submit", class: "quiet", data: { i18n: "tags.add" } }, t("tags.add")),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#add();
    });
    this.element = h("div", {}, h("p", { class: "hint", data: { i18n: "tags.hint" } }, t("tags.hint")), form, this.#list);
  }

  get title() {
    return t("tags.of", { title: this.#kb.name });
  }

  get dirty() {
    return Boolean(this.#name.value.trim() || this.#editing?.changed());
  }

  focus() {
    this.#name.focus();
  }

  async load() {
    try {
      this.#tags = await api.listTags(this.#kb.id);
    } catch (error) {
      return this.#hooks.fail(error);
    }
    this.draw();
  }

  draw() {
    if (this.#editing) return; // drawing would take the field away under the fingers
    const empty = h("li", { class: "empty" }, t("tags.none"));
    this.#list.replaceChildren(...(this.#tags.length ? this.#tags.map((tag) => this.#row(tag)) : [empty]));
  }

  #row(tag) {
    const { id, name, document_count: documents } = tag;
    const row = h(
      "li",
      { class: "tag-row", data: { tag: id } },
      foreign("span", { class: "tag-name" }, name),
      h("span", { class: "chip" }, count(this.#kb.kind === "faq" ? "tags.entries" : "tags.documents", documents)),
    );
    const rename = iconButton("pencil", t("tags.rename", { name }), () => this.#edit(row, tag));
    rename.dataset.key = `rename-${id}`;
    row.append(rename, iconButton("trash", t("tags.delete", { name }), () => this.#delete(tag)));
    return row;
  }

  #edit(row, { id, name }) {
    const input = h("input", { type: "text", maxlength: "50", "aria-label": t("tags.rename", { name }) });
    input.value = name;
    const text = () => input.value.trim();
    this.#editing = { changed: () => text() !== name };
    const form = h("form", { class: "field-row" }, input, h("button", { type: "submit", class: "quiet" }, t("edit.save")));
    const stop = () => {
      this.#editing = null;
      this.draw();
      this.#list.querySelector(`[data-key="${CSS.escape(`rename-${id}`)}"]`)?.focus();
    };
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (!text()) return input.focus();
      if (text() !== name && !(await this.#done(() => api.renameTag(id, text())))) return input.focus();
      this.#editing = null;
      await this.load();
      stop();
    });
    form.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.isComposing) return;
      event.preventDefault(); // ends the renaming, not the dialog
      stop();
    });
    row.replaceChildren(form);
    input.select();
  }

  async #add() {
    const name = this.#name.value.trim();
    if (!name) return this.#name.focus();
    if (!(await this.#done(() => api.createTag(this.#kb.id, name)))) return;
    this.#name.value = "";
    await this.load();
  }

  async #delete({ id, name }) {
    if (!(await confirm(t("tags.delete.ask", { name })))) return;
    if (await this.#done(() => api.deleteTag(id))) await this.load();
  }

  /** Whether the server has done it; what it says otherwise is shown. */
  async #done(work) {
    try {
      await work();
    } catch (error) {
      this.#hooks.fail(error);
      return false;
    }
    this.#hooks.say(t("edit.saved"));
    this.#hooks.onChanged();
    return true;
  }
}
