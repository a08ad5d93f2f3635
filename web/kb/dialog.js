/** The dialog of the knowledge bases: choosing, making and deleting one, and the views of what it holds. */

import * as api from "../api.js";
import { confirm, mayDiscard } from "../confirm.js";
import { h } from "../dom.js";
import { describe } from "../errors.js";
import { Entries } from "../faq/entries.js";
import { t } from "../i18n.js";
import { toHash } from "../search/address.js";
import { DocumentList } from "./documents.js";
import { Tags } from "./tags.js";

export class KnowledgeBases {
  #dialog;
  #parts;
  #hooks;
  #kbs = [];
  #kb = null; // id
  #views = []; // {view, opener}: what lies over the list, the last one on top
  #asking = false;
  #shared; // what views and lists may call
  #documents;
  #entries;

  /** onKbs(): knowledge bases were made or deleted; onChanged(): documents, entries or tags came or went */
  constructor({ dialog, ...hooks }) {
    this.#dialog = dialog;
    this.#hooks = hooks;
    const find = (selector) => dialog.querySelector(selector);
    this.#parts = {
      title: find("#documents-title"),
      back: find(".back"),
      main: find(".kb-main"),
      view: find(".kb-view"),
      select: find("#kb-select"),
      create: find("#kb-create"),
      name: find("#kb-name"),
      kind: find("#kb-kind"),
      remove: find("#kb-delete"),
      links: find(".kb-links"),
      tags: find("#kb-tags"),
      search: find("#kb-search"),
      alert: find("[role=alert]"),
      status: find(".said"),
    };
    const shared = {
      say: (text) => this.say(text),
      fail: (error) => this.fail(error),
      push: (view) => this.push(view),
      onChanged: hooks.onChanged,
    };
    this.#shared = shared;
    this.#parts.documents = find(".document-part");
    this.#parts.entries = find(".faq-part");
    this.#documents = new DocumentList({ root: this.#parts.documents, ...shared, needKb: () => this.#parts.name.focus() });
    this.#entries = new Entries({ root: this.#parts.entries, ...shared });
    this.#listen();
  }

  #listen() {
    const { select, create, remove, back, tags, search } = this.#parts;
    const dialog = this.#dialog;
    dialog.querySelector(".close").addEventListener("click", () => this.close());
    dialog.addEventListener("click", (event) => event.target === dialog && this.close());
    dialog.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.isComposing && !event.defaultPrevented) this.#guard(event);
    });
    dialog.addEventListener("cancel", (event) => event.target === dialog && this.#guard(event));
    // Some browsers close a dialog whatever the page says; what was being written is then still there.
    dialog.addEventListener("close", () => this.#documents.stop());
    addEventListener("beforeunload", (event) => this.#dirty && event.preventDefault());
    // A file dropped beside the zone would otherwise replace the page.
    for (const name of ["dragover", "drop"]) dialog.addEventListener(name, (event) => event.preventDefault());
    select.addEventListener("change", () => this.#choose(select.value));
    create.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#create();
    });
    remove.addEventListener("click", () => this.#deleteKb());
    back.addEventListener("click", () => this.#goBack());
    tags.addEventListener("click", () => this.push(new Tags(this.#current, this.#shared)));
    search.addEventListener("click", () => this.#dialog.close());
  }

  /** Asks before a key closes what holds something unsaved. */
  #guard(event) {
    if (!this.#dirty) return;
    event.preventDefault();
    this.close();
  }

  get #dirty() {
    return this.#views.some(({ view }) => view.dirty);
  }

  get #current() {
    return this.#kbs.find((kb) => kb.id === this.#kb) ?? null;
  }

  get #isFaq() {
    return this.#current?.kind === "faq";
  }

  setInfo(info) {
    this.#documents.setInfo(info);
  }

  setKbs(kbs) {
    this.#kbs = kbs;
    if (!this.#current) this.#kb = kbs[0]?.id ?? null;
    this.draw();
  }

  async open() {
    if (!this.#dialog.open) this.#dialog.showModal();
    if (this.#views.length) return; // it was closed over something unsaved
    this.say("");
    await this.#choose(this.#kb);
    if (!this.#kb) this.#parts.name.focus();
  }

  async close() {
    if (this.#asking) return;
    this.#asking = true;
    const leaves = !this.#dirty || (await mayDiscard());
    this.#asking = false;
    if (!leaves) return;
    this.#views = [];
    this.#showTop();
    this.#dialog.close();
  }

  /**
   * Lays a view over the list. It has `element` and `title`; `dirty`, `load()`, `draw()`, `focus()` where it needs them.
   * It is given `leave()`, which takes it away.
   */
  push(view) {
    this.say("");
    view.leave = () => this.#drop(view);
    this.#views.push({ view, opener: document.activeElement?.dataset.key ?? null });
    this.#showTop();
    view.load?.();
    (view.focus ?? (() => this.#parts.title.focus())).call(view);
  }

  async #goBack() {
    const top = this.#views.at(-1);
    if (top?.view.dirty && !(await mayDiscard())) return;
    this.#drop(top?.view);
  }

  /** Takes a view away; the focus goes to what opened it. */
  #drop(view) {
    const top = this.#views.at(-1);
    if (!top || top.view !== view) return;
    this.#views.pop();
    this.say("");
    this.#showTop();
    const under = this.#views.at(-1)?.view;
    if (under) under.load?.();
    else this.#part?.load();
    const opener = top.opener && this.#dialog.querySelector(`[data-key="${CSS.escape(top.opener)}"]`);
    (opener || this.#parts.title).focus();
  }

  #showTop() {
    const { main, view: place, back } = this.#parts;
    const top = this.#views.at(-1)?.view;
    main.hidden = Boolean(top);
    place.hidden = !top;
    back.hidden = !top;
    if (place.firstChild !== (top?.element ?? null)) place.replaceChildren(...(top ? [top.element] : []));
    this.#drawTitle();
    this.#dialog.scrollTop = 0;
  }

  #drawTitle() {
    this.#parts.title.textContent = this.#views.at(-1)?.view.title ?? t("docs.title");
  }

  /** The list of what the knowledge base holds. */
  get #part() {
    if (!this.#kb) return null;
    return this.#isFaq ? this.#entries : this.#documents;
  }

  async #choose(kb) {
    this.#kb = kb;
    this.#documents.show(this.#isFaq ? null : this.#current);
    this.#entries.show(this.#isFaq ? this.#current : null);
    this.draw();
    await this.#part?.load();
  }

  async #create() {
    const name = this.#parts.name.value.trim();
    if (!name) return this.#parts.name.focus();
    try {
      const kb = await api.createKb(name, this.#parts.kind.value);
      this.#parts.name.value = "";
      this.say("");
      await this.#hooks.onKbs();
      await this.#choose(kb.id);
      this.#part.focus();
    } catch (error) {
      this.fail(error);
    }
  }

  async #deleteKb() {
    const kb = this.#current;
    if (!kb || !(await confirm(t("docs.kb.delete.ask", { name: kb.name })))) return;
    try {
      await api.deleteKb(kb.id);
      await this.#hooks.onKbs();
      await this.#choose(this.#kb);
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error) {
    this.#parts.status.textContent = "";
    this.#parts.alert.textContent = describe(error);
  }

  /** Something went right; said to a screen reader too. */
  say(text) {
    this.#parts.alert.textContent = "";
    this.#parts.status.textContent = text;
  }

  draw() {
    const { select, remove, links, search, documents, entries } = this.#parts;
    documents.hidden = this.#isFaq;
    entries.hidden = !this.#isFaq;
    select.replaceChildren(...this.#kbs.map((kb) => h("option", { value: kb.id }, optionText(kb))));
    select.value = this.#kb ?? "";
    select.disabled = !this.#kbs.length;
    remove.disabled = !this.#kb;
    links.hidden = !this.#kb;
    if (this.#kb) search.href = toHash({ kbIds: [this.#kb] });
    this.#documents.draw();
    this.#entries.draw();
    for (const { view } of this.#views) view.draw?.();
    this.#drawTitle();
  }
}

function optionText(kb) {
  return kb.kind === "faq" ? t("docs.kb.faq", { name: kb.name }) : kb.name;
}
