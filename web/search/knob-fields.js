/** A field for every knob of a search. An empty one leaves the knob as it is set. */

import { h } from "../dom.js";
import { t } from "../i18n.js";
import { named, plainValue } from "../why/words.js";
import { KNOBS, readKnob } from "./knobs.js";

const NARROW = "(max-width: 760px)"; // where open fields would push what was found out of sight

export class KnobFields {
  #fields = {}; // by name: {input, slider, fault}
  #rerank = h("input", { type: "checkbox", id: "knob-rerank" });
  #effective = {}; // what the last search was made with

  /** onChange(): a field says something else */
  constructor(onChange) {
    const reset = h("button", { type: "button", class: "quiet small", data: { i18n: "search.reset" } }, t("search.reset"));
    reset.addEventListener("click", () => {
      this.set({ rerank: true, knobs: {} });
      onChange();
    });
    this.#rerank.addEventListener("change", onChange);
    this.element = h(
      "details",
      { class: "knobs", open: !matchMedia(NARROW).matches },
      h("summary", { data: { i18n: "search.knobs" } }, t("search.knobs")),
      h("div", { class: "knob-fields" }, ...KNOBS.map((knob) => this.#field(knob, onChange))),
      h("label", { class: "check" }, this.#rerank, h("span", { data: { i18n: "search.rerank" } }, t("search.rerank"))),
      reset,
    );
    this.set({ rerank: true, knobs: {} });
  }

  #field({ name, choices, slides, ...range }, onChange) {
    const id = `knob-${name}`;
    const key = `knob.${name}`;
    const input = choices ? h("select", { id, name }) : h("input", { id, name, type: "number", inputmode: "decimal", autocomplete: "off", ...range, step: "any" });
    const fault = h("p", { class: "error", id: `${id}-fault`, role: "alert" });
    input.setAttribute("aria-describedby", fault.id);
    const slider = slides ? h("input", { type: "range", ...range, data: { i18nLabel: key }, "aria-label": t(key) }) : null;
    this.#fields[name] = { input, slider, fault };
    const changed = () => {
      this.#drawSlider(name);
      onChange();
    };
    input.addEventListener(choices ? "change" : "input", changed);
    slider?.addEventListener("input", () => {
      input.value = slider.value;
      onChange();
    });
    return h("div", { class: "knob" }, h("label", { for: id, title: name, data: { i18n: key } }, t(key)), input, slider, fault);
  }

  /** Shows the knobs of a link. */
  set({ rerank, knobs }) {
    this.#rerank.checked = rerank;
    this.draw(); // a choice needs its options before it can be made
    for (const [name, { input }] of Object.entries(this.#fields)) input.value = knobs[name] === undefined ? "" : String(knobs[name]);
    for (const name of Object.keys(this.#fields)) this.#drawSlider(name);
  }

  /** What the fields say, or null when one says something impossible; then it is shown there. */
  read() {
    const knobs = {};
    let possible = true;
    for (const [name, { input, fault }] of Object.entries(this.#fields)) {
      // A number field gives "" for what is no number; that must not pass for "as it is set".
      const found = readKnob(name, input.validity.badInput ? "?" : input.value);
      fault.textContent = found.fault ? t(`fault.${found.fault}`, { least: input.min, most: input.max }) : "";
      input.setAttribute("aria-invalid", String(Boolean(found.fault)));
      if (found.fault) possible = false;
      if (found.value !== undefined) knobs[name] = found.value;
    }
    return possible ? { rerank: this.#rerank.checked, knobs } : null;
  }

  /** Says beside every empty field what holds. @param {object} settings the ones a search was made with */
  tell(settings) {
    this.#effective = settings ?? {};
    this.draw();
  }

  draw() {
    for (const { name, choices } of KNOBS) {
      const { input } = this.#fields[name];
      const now = this.#now(name);
      if (!choices) {
        input.placeholder = now;
        this.#drawSlider(name);
        continue;
      }
      const chosen = input.value;
      const options = choices.map((value) => h("option", { value: String(value) }, named("choice", value)));
      input.replaceChildren(h("option", { value: "" }, now), ...options);
      input.value = chosen;
    }
  }

  /** What holds while nothing is chosen here; a choice made here is not what is set. */
  #now(name) {
    const value = this.#fields[name].input.value === "" ? this.#effective[name] : undefined;
    if (value === undefined || value === null) return t("why.settings_default");
    return t("fork.now", { value: typeof value === "number" ? plainValue(value) : named("choice", value) });
  }

  #drawSlider(name) {
    const { input, slider } = this.#fields[name];
    if (!slider) return;
    const value = input.value === "" ? this.#effective[name] : input.value;
    slider.value = String(value ?? slider.min);
  }
}
