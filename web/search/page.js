/** The page on which a search is tried: what is found, what leaves and why, while knobs are turned. */

import * as api from "../api.js";
import { h } from "../dom.js";
import { describe } from "../errors.js";
import { t } from "../i18n.js";
import { Latest } from "../latest.js";
import { fromHash, toHash, toRequest } from "./address.js";
import { KnobFields } from "./knob-fields.js";
import { Results } from "./results.js";
import { Where } from "./where.js";

const LONGEST = "10000"; // characters the server takes

export class SearchPage {
  #root;
  #query = h("textarea", { id: "search-query", rows: "2", maxlength: LONGEST, dir: "auto", enterkeyhint: "search", autocomplete: "off", data: { i18nPlaceholder: "search.placeholder" } });
  #where = new Where(() => this.#changed());
  #knobs = new KnobFields(() => this.#changed());
  #results = new Results();
  #said = h("p", { class: "search-said", role: "status" });
  #error = h("p", { class: "error", role: "alert" });
  #latest;
  #asked = null; // the wish of what is shown
  #kbsKnown = false;
  #open = false;

  constructor(root) {
    this.#root = root;
    this.#latest = new Latest({
      ask: (wish, signal) => {
        this.#remember(wish);
        return api.search(toRequest({ ...wish, kbIds: this.#where.kbIds }), signal);
      },
      onAnswer: (answer, wish) => this.#answered(answer, wish),
      onError: (error) => this.#failed(error),
    });
    root.append(...this.#parts());
  }

  #parts() {
    const copy = h("button", { type: "button", class: "quiet", data: { i18n: "search.copy" } }, t("search.copy"));
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(location.href);
      this.#said.textContent = t("search.copied");
    });
    const form = h(
      "form",
      { class: "search-form", role: "search" },
      h("label", { for: this.#query.id, data: { i18n: "search.query" } }, t("search.query")),
      this.#query,
      h("div", { class: "search-buttons" }, this.#where.element, copy, h("button", { type: "submit", class: "primary", data: { i18n: "search.start" } }, t("search.start"))),
    );
    this.#query.placeholder = t("search.placeholder");
    this.#query.addEventListener("input", () => this.#changed());
    this.#query.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
      event.preventDefault();
      this.#now();
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#now();
    });
    return [form, h("div", { class: "search-columns" }, this.#knobs.element, h("div", { class: "search-main" }, this.#error, this.#said, this.#results.element))];
  }

  /** Shows what a link holds. */
  open(hash) {
    const wish = fromHash(hash);
    this.#open = true;
    this.#root.hidden = false;
    this.#query.value = wish.query;
    this.#knobs.set(wish);
    this.#where.choose(wish);
    if (this.#kbsKnown) this.#now();
    this.#query.focus();
  }

  focus() {
    this.#query.focus();
  }

  close() {
    this.#open = false;
    this.#root.hidden = true;
    this.#latest.stop();
    this.#busy(false);
  }

  setKbs(kbs) {
    const first = !this.#kbsKnown;
    this.#kbsKnown = true;
    this.#where.setKbs(kbs);
    if (first && this.#open) this.#now();
  }

  draw() {
    this.#knobs.draw();
    this.#where.draw();
    this.#results.draw();
    if (this.#asked) this.#said.textContent = this.#results.summary;
  }

  /** What the fields say; null while one of them says something impossible. */
  #wish() {
    const knobs = this.#knobs.read();
    return knobs && { query: this.#query.value.trim(), ...this.#where.chosen, ...knobs };
  }

  #changed() {
    this.#ask((wish) => this.#latest.soon(wish));
  }

  #now() {
    this.#ask((wish) => this.#latest.now(wish));
  }

  #ask(how) {
    const wish = this.#wish();
    this.#error.textContent = "";
    if (!wish) {
      this.#latest.stop(); // what is on the way would be shown as what the fields say
      return this.#busy(false);
    }
    if (!wish.query || !this.#where.kbIds.length) return this.#nothing(wish);
    this.#busy(true);
    how(wish);
  }

  /** Every letter as a place to go back to would bury the page before this one. */
  #remember(wish) {
    if (this.#open) history.replaceState(null, "", toHash(wish));
  }

  #nothing(wish) {
    this.#latest.stop();
    this.#remember(wish);
    this.#busy(false);
    this.#asked = null;
    this.#results.clear();
    this.#said.textContent = wish.query && this.#kbsKnown ? t("scope.empty") : t("search.hint");
  }

  #answered(answer, wish) {
    this.#busy(false);
    this.#error.textContent = "";
    this.#results.show(answer, this.#asked?.query === wish.query);
    this.#asked = wish;
    this.#knobs.tell(answer.trace?.settings);
    this.#said.textContent = this.#results.summary;
  }

  #failed(error) {
    this.#busy(false);
    this.#said.textContent = "";
    this.#asked = null;
    this.#results.clear();
    this.#error.textContent = describe(error);
  }

  #busy(busy) {
    this.#results.element.setAttribute("aria-busy", String(busy));
  }
}
