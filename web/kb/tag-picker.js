/** Fields to choose tags by name: those there are, and new ones. */

import { h } from "../dom.js";
import { foreign } from "../foreign.js";
import { t } from "../i18n.js";

let pickers = 0; // for ids that belong labels and fields together

/** Names with the same key are one tag to the server: width and letter case do not matter. */
export const tagKey = (name) => name.normalize("NFKC").toLowerCase();

export class TagPicker {
  #chosen; // key → name
  #names; // all on offer, key → name
  #list = h("div", { class: "check-list" });
  #name;

  /** @param {string[]} chosen names */
  constructor(chosen) {
    this.#chosen = keyed(chosen);
    this.#names = new Map(this.#chosen);
    pickers += 1;
    this.#name = h("input", { id: `new-tag-${pickers}`, type: "text", maxlength: "50", autocomplete: "off" });
    this.#name.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing || event.keyCode === 229) return;
      event.preventDefault(); // adds the tag, and does not send the form around it
      this.#add();
    });
    this.element = h(
      "fieldset",
      { class: "plain tag-picker" },
      h("legend", { data: { i18n: "tags.title" } }, t("tags.title")),
      this.#list,
      h(
        "div",
        { class: "field-row" },
        h("label", { for: this.#name.id, data: { i18n: "tags.new" } }, t("tags.new")),
        this.#name,
        h("button", { type: "button", class: "quiet", data: { i18n: "tags.add" }, on: { click: () => this.#add() } }, t("tags.add")),
      ),
    );
    this.draw();
  }

  /** Names; one that is typed but not added yet counts too. */
  get chosen() {
    const typed = this.#name.value.trim();
    return [...keyed([...this.#chosen.values(), ...(typed ? [typed] : [])]).values()];
  }

  /** Takes the names there are. What is ticked stays. */
  offer(names) {
    this.#names = new Map([...keyed(names), ...this.#chosen]);
    this.draw();
  }

  draw() {
    const boxes = [...this.#names].map(([key, name]) => {
      const box = h("input", { type: "checkbox", value: name });
      box.checked = this.#chosen.has(key);
      box.addEventListener("change", () => (box.checked ? this.#chosen.set(key, name) : this.#chosen.delete(key)));
      return h("label", {}, box, foreign("span", {}, name));
    });
    this.#list.replaceChildren(...(boxes.length ? boxes : [h("p", { class: "empty" }, t("tags.none"))]));
  }

  #add() {
    const name = this.#name.value.trim();
    if (name && !this.#chosen.has(tagKey(name))) this.#chosen.set(tagKey(name), this.#names.get(tagKey(name)) ?? name);
    this.#name.value = "";
    this.offer([...this.#names.values()]);
    this.#name.focus();
  }
}

const keyed = (names) => new Map(names.map((name) => [tagKey(name), name]));
