/** The passages of a document: read, edit, keep from being found. */

import * as api from "../api.js";
import { mayDiscard } from "../confirm.js";
import { h } from "../dom.js";
import { foreign } from "../foreign.js";
import { languageOf, t } from "../i18n.js";
import { Pager } from "../pager.js";
import { named, whereabouts } from "../why/words.js";

const PAGE_SIZE = 20;
const SHOWN = 600; // characters of a passage before somebody asks for the rest
const KINDS = ["text", "parent", "table", "table_summary", "table_column", "image", "chart", "question"];

export class Chunks {
  #document;
  #hooks;
  #chunks = [];
  #page = 1;
  #kind = "";
  #total = 0;
  #whole = new Set(); // ids of chunks that are shown to their end
  #editor = null; // {id, element, changed()}
  #select = h("select", { id: "chunk-kind" }, ...["", ...KINDS].map((kind) => h("option", { value: kind })));
  #list = h("ol", { class: "chunk-list" });
  #pager = new Pager((page) => this.#turn({ page }));

  /** say(text), fail(error), onChanged() */
  constructor(document, hooks) {
    this.#document = document;
    this.#hooks = hooks;
    this.#select.addEventListener("change", () => this.#turn({ kind: this.#select.value, page: 1 }));
    const filter = h("div", { class: "field-row" }, h("label", { for: this.#select.id, data: { i18n: "chunks.kind" } }, t("chunks.kind")), this.#select);
    const hint = h("p", { class: "hint", data: { i18n: "chunks.hint" } }, t("chunks.hint"));
    this.element = h("div", {}, hint, filter, this.#list, this.#pager.element);
    this.draw();
  }

  get title() {
    return t("chunks.title", { title: this.#document.title });
  }

  get dirty() {
    return Boolean(this.#editor?.changed());
  }

  async load() {
    const [page, kind] = [this.#page, this.#kind];
    try {
      const answer = await api.listChunks(this.#document.id, { page, page_size: PAGE_SIZE, kind });
      if (page !== this.#page || kind !== this.#kind) return;
      this.#chunks = answer.data;
      this.#total = answer.total ?? answer.data.length;
    } catch (error) {
      return this.#hooks.fail(error);
    }
    this.draw();
  }

  async #turn({ page = this.#page, kind = this.#kind }) {
    if (await this.#mayLeave()) {
      [this.#page, this.#kind] = [page, kind];
      this.#editor = null;
      this.#list.inert = true; // what is about to leave is not edited
      await this.load();
      this.#list.inert = false;
      this.#list.scrollIntoView({ block: "nearest" });
    }
    this.#select.value = this.#kind;
  }

  async #mayLeave() {
    return !this.dirty || mayDiscard();
  }

  draw() {
    for (const option of this.#select.options) {
      option.textContent = option.value ? named("kind", option.value) : t("chunks.all_kinds");
    }
    const focused = this.#list.contains(document.activeElement) ? document.activeElement : null;
    const rows = this.#chunks.map((chunk) => (chunk.id === this.#editor?.id ? this.#editor.element : this.#row(chunk)));
    this.#list.replaceChildren(...(rows.length ? rows : [h("li", { class: "empty" }, t("chunks.none"))]));
    // A field being written in is the same as before; a button was made anew.
    const again = focused?.isConnected ? focused : this.#list.querySelector(`[data-key="${CSS.escape(focused?.dataset.key ?? "")}"]`);
    again?.focus();
    this.#pager.show({ page: this.#page, size: PAGE_SIZE, total: this.#total });
  }

  #row(chunk) {
    const { id, content, enabled, kind } = chunk;
    return h(
      "li",
      { class: "chunk", data: { chunk: id, enabled: String(enabled) } },
      this.#head(chunk),
      this.#text(id, content),
      h(
        "div",
        { class: "chunk-buttons" },
        this.#button("edit", chunk, t("chunks.edit"), () => this.#edit(chunk)),
        // A section around others is never searched itself.
        kind === "parent" ? null : this.#button("switch", chunk, t(enabled ? "chunks.disable" : "chunks.enable"), () => this.#switch(chunk)),
      ),
    );
  }

  #head(chunk) {
    const where = [named("kind", chunk.kind), whereabouts(chunk)].filter(Boolean).join(" · ");
    return h(
      "p",
      { class: "chunk-head" },
      h("strong", {}, `#${chunk.chunk_index + 1}`),
      h("span", { class: "facts" }, where),
      chunk.revision > this.#document.revision ? h("span", { class: "chip", title: t("chunks.edited_hint") }, t("chunks.edited")) : null,
      chunk.enabled ? null : h("span", { class: "chip off" }, t("chunks.disabled")),
    );
  }

  #button(what, { id, chunk_index: index }, text, onClick) {
    const label = t("chunks.button", { what: text, n: index + 1 });
    return h("button", { type: "button", class: "quiet small", "aria-label": label, data: { key: `${what}-${id}` }, on: { click: onClick } }, text);
  }

  #text(id, content) {
    const cut = content.length > SHOWN && !this.#whole.has(id);
    const text = foreign("p", { class: "passage-text" }, cut ? `${content.slice(0, SHOWN)}…` : content);
    if (!cut) return text;
    const all = () => {
      this.#whole.add(id);
      this.draw();
    };
    const button = h("button", { type: "button", class: "quiet small", on: { click: all } }, t("chunks.whole", { n: content.length }));
    return h("div", {}, text, button);
  }

  async #switch({ id, enabled }) {
    try {
      this.#replace(await api.changeChunk(id, { enabled: !enabled }));
      this.#hooks.say(t(enabled ? "chunks.now_disabled" : "chunks.now_enabled"));
    } catch (error) {
      this.#hooks.fail(error);
    }
  }

  #replace(chunk) {
    this.#chunks = this.#chunks.map((one) => (one.id === chunk.id ? { ...one, ...chunk } : one));
    this.draw();
  }

  /** One editor at a time: what another one holds is asked about first. */
  async #edit(chunk) {
    if (!(await this.#mayLeave())) return;
    this.#editor = editorOf(chunk, { onSave: (text) => this.#save(chunk, text), onCancel: () => this.#leaveEditor() });
    this.draw();
    this.#editor.element.querySelector("textarea").focus();
  }

  async #save({ id }, content) {
    try {
      const chunk = await api.changeChunk(id, { content });
      this.#endEditing();
      this.#replace(chunk);
      this.#hooks.say(t("chunks.saved"));
    } catch (error) {
      this.#hooks.fail(error);
    }
  }

  async #leaveEditor() {
    if (await this.#mayLeave()) this.#endEditing();
  }

  #endEditing() {
    const id = this.#editor?.id;
    this.#editor = null;
    this.draw();
    this.#list.querySelector(`[data-key="${CSS.escape(`edit-${id}`)}"]`)?.focus();
  }
}

function editorOf(chunk, { onSave, onCancel }) {
  const label = t("chunks.button", { what: t("chunks.text"), n: chunk.chunk_index + 1 });
  const lang = languageOf(chunk.content);
  const area = h("textarea", { rows: "10", dir: "auto", lang, "aria-label": label, "aria-describedby": "chunk-edit-hint" });
  area.value = chunk.content;
  const before = area.value; // as the field gives it back: line ends are the same
  const save = h("button", { type: "submit", class: "primary", data: { i18n: "edit.save" } }, t("edit.save"));
  const form = h(
    "form",
    {},
    area,
    h("p", { class: "hint", id: "chunk-edit-hint", data: { i18n: "chunks.edit_hint" } }, t("chunks.edit_hint")),
    h(
      "div",
      { class: "dialog-buttons" },
      h("button", { type: "button", class: "quiet", data: { i18n: "dialog.cancel" }, on: { click: onCancel } }, t("dialog.cancel")),
      save,
    ),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    save.disabled = true;
    await onSave(area.value);
    save.disabled = false;
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing) return;
    event.preventDefault(); // leaves the editor, not the dialog
    onCancel();
  });
  return { id: chunk.id, element: h("li", { class: "chunk editing", data: { chunk: chunk.id } }, form), changed: () => area.value !== before };
}
