/** Which knowledge bases a question searches, and the tags it is narrowed to. */

import { h } from "./dom.js";
import { foreign } from "./foreign.js";
import { count, t } from "./i18n.js";
import { TagChoice } from "./tag-choice.js";

const KEY = "headrace.scope";
const AUTO_KEY = "headrace.scope.auto";

/** The ids to tick: what the conversation or an earlier visit chose, as far as it still exists; else all. */
export function chosenOf(kbs, ...choices) {
  const existing = new Set(kbs.map((kb) => kb.id));
  for (const choice of choices) {
    const found = (choice ?? []).filter((id) => existing.has(id));
    if (found.length) return found;
  }
  return kbs.map((kb) => kb.id);
}

export class Scope {
  #details;
  #summary;
  #list;
  #kbs = [];
  #chosen = new Set();
  #auto = storedAuto(); // the server chooses by the question
  #tags = new TagChoice(() => this.draw());

  constructor(details) {
    this.#details = details;
    this.#summary = details.querySelector("summary");
    this.#list = details.querySelector(".scope-list");
    this.#list.addEventListener("change", (event) => this.#tick(event.target));
    this.#list.after(this.#tags.element);
    details.addEventListener("toggle", () => details.open && this.loadTags());
    details.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !details.open) return;
      details.open = false;
      this.#summary.focus();
    });
    for (const name of ["click", "focusin"]) {
      document.addEventListener(name, (event) => {
        if (!event.composedPath().includes(details)) details.open = false;
      });
    }
  }

  /** What is ticked; nothing where the server chooses. */
  get ids() {
    return this.auto ? [] : [...this.#chosen];
  }

  get auto() {
    return this.#auto && this.#kbs.length > 1;
  }

  get tagIds() {
    return this.auto ? [] : this.#tags.ids;
  }

  get kbs() {
    return this.#kbs;
  }

  /** Takes the list as it is now. Ticks stay; a new knowledge base is ticked. */
  setKbs(kbs) {
    const known = new Set(this.#kbs.map((kb) => kb.id));
    const first = !this.#kbs.length;
    this.#kbs = kbs;
    if (first) this.#chosen = new Set(chosenOf(kbs, stored()));
    else {
      const kept = kbs.filter((kb) => this.#chosen.has(kb.id) || !known.has(kb.id));
      this.#chosen = new Set(kept.map((kb) => kb.id));
    }
    this.draw();
    if (this.#details.open) this.loadTags();
  }

  /** Ticks what a conversation was opened with. Tags are of the moment: they do not go along. */
  choose(ids) {
    this.#tags.choose([]);
    if (!ids?.length) return;
    this.#chosen = new Set(chosenOf(this.#kbs, ids, [...this.#chosen]));
    this.draw();
  }

  draw() {
    const chosen = this.#kbs.filter((kb) => this.#chosen.has(kb.id));
    const named = this.auto ? t("scope.auto") : summaryOf(chosen);
    this.#summary.textContent = [named, this.tagIds.length ? count("scope.tags", this.tagIds.length) : ""].filter(Boolean).join(" · ");
    this.#details.classList.toggle("none", !this.auto && !chosen.length);
    this.#tags.draw();
    const focused = this.#list.contains(document.activeElement) ? document.activeElement.value : null;
    this.#list.replaceChildren(
      h("p", { class: "hint" }, t(this.#hint())),
      ...(this.#kbs.length > 1 ? [this.#autoOption()] : []),
      ...this.#kbs.map((kb) => this.#option(kb)),
    );
    if (focused) this.#list.querySelector(`[value="${CSS.escape(focused)}"]`)?.focus();
  }

  #hint() {
    if (!this.#kbs.length) return "scope.empty";
    if (this.auto) return "scope.auto.hint";
    return this.#chosen.size ? "scope.hint" : "scope.plain";
  }

  #autoOption() {
    const box = h("input", { type: "checkbox", class: "auto", value: "auto" });
    box.checked = this.#auto;
    return h("label", {}, box, h("span", {}, t("scope.auto")));
  }

  #option(kb) {
    const box = h("input", { type: "checkbox", value: kb.id, disabled: this.auto });
    box.checked = this.#chosen.has(kb.id);
    return h("label", {}, box, foreign("span", {}, kb.name), kb.kind === "faq" ? h("span", { class: "chip" }, t("scope.faq")) : null);
  }

  #tick(box) {
    if (box.classList.contains("auto")) this.#auto = box.checked;
    else if (box.checked) this.#chosen.add(box.value);
    else this.#chosen.delete(box.value);
    try {
      localStorage.setItem(KEY, JSON.stringify([...this.#chosen]));
      localStorage.setItem(AUTO_KEY, String(this.#auto));
    } catch {
      // Storage can be switched off; the choice then lasts until the page is closed.
    }
    this.draw();
    this.loadTags();
  }

  /** Reads again which tags there are; ticks of those that are gone go. */
  loadTags() {
    return this.#tags.load(this.#kbs.filter((kb) => this.#chosen.has(kb.id)));
  }
}

function summaryOf(kbs) {
  return kbs.length === 1 ? kbs[0].name : t(kbs.length ? "scope.many" : "scope.none", { n: kbs.length });
}

function storedAuto() {
  try {
    return localStorage.getItem(AUTO_KEY) === "true";
  } catch {
    return false;
  }
}

function stored() {
  try {
    const ids = JSON.parse(localStorage.getItem(KEY));
    return Array.isArray(ids) ? ids : null;
  } catch {
    return null;
  }
}
