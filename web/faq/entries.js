/** The entries of an FAQ knowledge base: found, filtered, switched on and off, deleted. */

import * as api from "../api.js";
import { confirm } from "../confirm.js";
import { h, iconButton } from "../dom.js";
import { foreign } from "../foreign.js";
import { count, t } from "../i18n.js";
import { tagChips, TagFilter } from "../kb/tag-filter.js";
import { Latest } from "../latest.js";
import { Pager, pagesOf } from "../pager.js";
import { EntryForm } from "./form.js";
import { Transfer } from "./transfer.js";

const PAGE_SIZE = 20;

export class Entries {
  #hooks;
  #parts;
  #kb = null;
  #entries = [];
  #total = 0;
  #page = 1;
  #selected = new Set();
  #filter;
  #pager = new Pager((page) => this.load({ page }));
  #latest;

  /** say(text), fail(error), push(view), onChanged() */
  constructor({ root, ...hooks }) {
    this.#hooks = hooks;
    const find = (selector) => root.querySelector(selector);
    this.#parts = {
      add: find("#faq-add"),
      transfer: find("#faq-transfer"),
      search: find("#faq-search"),
      enabled: find("#faq-enabled"),
      bulk: find(".faq-bulk"),
      all: find("#faq-all"),
      picked: find(".faq-picked"),
      list: find(".faq-list"),
    };
    this.#filter = new TagFilter(find("#faq-tag"), () => this.load({ page: 1 }));
    this.#latest = new Latest({
      ask: (wanted, signal) => api.listFaq(this.#kb.id, wanted, signal),
      onAnswer: (answer) => this.#show(answer),
      onError: (error) => this.#hooks.fail(error),
    });
    root.append(this.#pager.element);
    this.#listen();
  }

  #listen() {
    const { add, transfer, search, enabled, bulk, all } = this.#parts;
    add.addEventListener("click", () => this.#open(null));
    transfer.addEventListener("click", () => this.#hooks.push(new Transfer(this.#kb, this.#hooks)));
    search.addEventListener("input", () => {
      this.#page = 1;
      this.#latest.soon(this.#wanted);
    });
    search.addEventListener("keydown", (event) => {
      // Escape empties the field, as in every search box, and closes the dialog only when it is empty.
      if (event.key !== "Escape" || !search.value) return;
      event.preventDefault();
      search.value = "";
      this.load({ page: 1 });
    });
    enabled.addEventListener("change", () => this.load({ page: 1 }));
    all.addEventListener("change", () => {
      this.#selected = new Set(all.checked ? this.#entries.map(({ id }) => id) : []);
      this.draw();
    });
    bulk.addEventListener("click", ({ target }) => {
      const { what } = target.closest("button")?.dataset ?? {};
      if (what) this.#bulk(what, [...this.#selected]);
    });
  }

  /** Shows the entries of another knowledge base, or of none. */
  show(kb) {
    this.#latest.stop();
    this.#kb = kb;
    this.#entries = [];
    this.#total = 0;
    this.#page = 1;
    this.#selected.clear();
    this.#parts.search.value = "";
    this.#parts.enabled.value = "";
    this.#filter.clear();
  }

  focus() {
    this.#parts.add.focus();
  }

  async load({ page = this.#page } = {}) {
    const kb = this.#kb;
    if (!kb) return;
    this.#page = page;
    try {
      await this.#filter.load(kb.id);
    } catch (error) {
      return this.#hooks.fail(error);
    }
    if (kb === this.#kb) await this.#latest.now(this.#wanted);
  }

  get #wanted() {
    const { search, enabled } = this.#parts;
    return { page: this.#page, page_size: PAGE_SIZE, search: search.value.trim(), tag_id: this.#filter.chosen, enabled: enabled.value };
  }

  #show({ data, total }) {
    this.#entries = data;
    this.#total = total ?? data.length;
    const last = pagesOf(this.#total, PAGE_SIZE);
    if (this.#page > last) return this.load({ page: last }); // the last ones of it were deleted
    const shown = new Set(data.map(({ id }) => id));
    this.#selected = new Set([...this.#selected].filter((id) => shown.has(id)));
    this.draw();
  }

  get #filtered() {
    const { search, enabled } = this.#parts;
    return Boolean(search.value.trim() || enabled.value || this.#filter.chosen);
  }

  draw() {
    const { list, all, picked, bulk } = this.#parts;
    this.#filter.draw();
    const focused = list.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const none = h("li", { class: "empty" }, t(this.#filtered ? "faq.none_found" : "faq.none"));
    list.replaceChildren(...(this.#entries.length ? this.#entries.map((entry) => this.#row(entry)) : [none]));
    if (focused) list.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
    const n = this.#selected.size;
    picked.textContent = n ? count("faq.picked", n) : t("faq.pick_all");
    all.checked = n > 0 && n === this.#entries.length;
    all.indeterminate = n > 0 && n < this.#entries.length;
    bulk.hidden = !this.#entries.length;
    for (const button of bulk.querySelectorAll("button")) button.disabled = !n;
    this.#pager.show({ page: this.#page, size: PAGE_SIZE, total: this.#total });
  }

  #row(entry) {
    const { id, question, answers, tags, enabled } = entry;
    const box = h("input", { type: "checkbox", "aria-label": t("faq.pick", { question: short(question) }), data: { key: `pick-${id}` } });
    box.checked = this.#selected.has(id);
    box.addEventListener("change", () => {
      if (box.checked) this.#selected.add(id);
      else this.#selected.delete(id);
      this.draw();
    });
    const open = foreign("button", { type: "button", class: "faq-question", data: { key: `open-${id}` }, on: { click: () => this.#open(entry) } }, short(question));
    const remove = iconButton("trash", t("faq.delete", { question: short(question) }), () => this.#bulk("delete", [id], question));
    return h(
      "li",
      { class: "faq-entry", data: { entry: id, enabled: String(enabled) } },
      box,
      h(
        "div",
        { class: "faq-told" },
        open,
        answers.length ? foreign("p", { class: "snippet" }, short(answers[0])) : null,
        h("p", { class: "facts" }, facts(entry)),
        tags.length ? tagChips(tags) : null,
      ),
      enabled ? null : h("span", { class: "chip off" }, t("faq.disabled")),
      remove,
    );
  }

  #open(entry) {
    this.#hooks.push(new EntryForm(this.#kb, entry, this.#hooks));
  }

  async #bulk(what, ids, question = null) {
    const kb = this.#kb.id;
    let said;
    try {
      if (what === "delete") {
        if (!(await confirm(question ? t("faq.delete.ask", { question: short(question) }) : count("faq.delete_many.ask", ids.length)))) return;
        said = count("faq.deleted", (await api.deleteFaq(kb, ids)).deleted);
      } else {
        const enabled = what === "enable";
        const { changed } = await api.enableFaq(kb, ids, enabled);
        said = count(enabled ? "faq.now_enabled" : "faq.now_disabled", changed);
      }
    } catch (error) {
      return this.#hooks.fail(error);
    }
    await this.load();
    this.#hooks.say(said);
    this.#hooks.onChanged();
    if (!this.#parts.list.contains(document.activeElement)) this.#parts.all.focus();
  }
}

const SHORT = 160;

/** The beginning of a long text, as it is on one line. */
function short(text) {
  const characters = [...text.slice(0, 4 * SHORT)];
  return characters.length > SHORT || text.length > 4 * SHORT ? `${characters.slice(0, SHORT).join("")}…` : text;
}

function facts({ similar_questions: similar, negative_questions: negative, answers }) {
  return [
    count("faq.answers_n", answers.length),
    similar.length ? count("faq.similar_n", similar.length) : "",
    negative.length ? count("faq.negative_n", negative.length) : "",
  ]
    .filter(Boolean)
    .join(" · ");
}
