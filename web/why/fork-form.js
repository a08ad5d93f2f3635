/** What to change before a run goes on from one of its stages. */

import { h } from "../dom.js";
import { describe } from "../errors.js";
import { has, t } from "../i18n.js";
import { forkRequest, knobsFrom, promptsFrom, takesQuestion } from "./changes.js";
import { named, plainValue, stageName } from "./words.js";

let forms = 0; // for ids that belong labels and fields together

export class ForkForm {
  #stage;
  #asked;
  #hooks;
  #id;
  #knobs = {};
  #more;
  #question = null;
  #prompt;
  #promptText;
  #error = h("p", { class: "error", role: "alert" });
  #start = h("button", { type: "submit", class: "primary" }, t("fork.start"));

  /** onFork(body): promise, rejected with the refusal; onCancel() */
  constructor({ stage, trace, ...hooks }) {
    this.#stage = stage;
    this.#asked = trace.rewritten_query || trace.query || "";
    this.#hooks = hooks;
    forms += 1;
    this.#id = `fork-${forms}`;
    this.element = h("form", { class: "fork-form", "aria-labelledby": this.#id }, ...this.#parts(trace));
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.isComposing) return;
      event.preventDefault(); // else the dialog around it would close, and what was typed be lost
      event.stopPropagation();
      hooks.onCancel();
    });
  }

  focus() {
    this.element.querySelector("input, textarea, select").focus();
  }

  #parts(trace) {
    return [
      h("h5", { id: this.#id }, t("fork.title", { stage: stageName(this.#stage) })),
      h("p", { class: "hint" }, t("fork.hint")),
      h("div", { class: "fork-fields" }, ...knobsFrom(this.#stage).map((knob) => this.#knob(knob, trace.settings ?? {}))),
      ...this.#questionField(),
      ...this.#promptFields(),
      ...this.#moreField(),
      this.#error,
      h(
        "div",
        { class: "dialog-buttons" },
        h("button", { type: "button", class: "quiet", on: { click: () => this.#hooks.onCancel() } }, t("fork.cancel")),
        this.#start,
      ),
    ];
  }

  #knob({ name, text, ...range }, settings) {
    const now = settings[name] ?? null;
    const input = h("input", {
      type: text ? "text" : "number",
      id: `${this.#id}-${name}`,
      name,
      autocomplete: "off",
      placeholder: t("fork.now", { value: now === null ? t("why.settings_default") : plainValue(now) }),
      ...range,
    });
    this.#knobs[name] = input;
    return h("div", { class: "fork-field" }, h("label", { for: input.id, title: name }, named("knob", name)), input);
  }

  #questionField() {
    if (!takesQuestion(this.#stage)) return [];
    this.#question = h("textarea", { id: `${this.#id}-question`, rows: "2", maxlength: "10000" });
    this.#question.value = this.#asked;
    return [labelled(this.#question, t("fork.question"))];
  }

  #promptFields() {
    const prompts = promptsFrom(this.#stage);
    const option = ({ name }) => h("option", { value: name }, promptName(name));
    this.#prompt = h("select", { id: `${this.#id}-prompt` }, h("option", { value: "" }, t("fork.prompt_none")), ...prompts.map(option));
    this.#promptText = h("textarea", { id: `${this.#id}-prompt-text`, rows: "4" });
    const text = labelled(this.#promptText, t("fork.prompt_text"));
    const holds = h("p", { class: "hint" });
    text.append(holds);
    text.hidden = true;
    this.#prompt.addEventListener("change", () => {
      const chosen = prompts.find(({ name }) => name === this.#prompt.value);
      text.hidden = !chosen;
      const names = (chosen?.holds ?? []).map((name) => `{${name}}`).join(" ");
      holds.textContent = names ? t("fork.prompt_holds", { names }) : "";
    });
    return [labelled(this.#prompt, t("fork.prompt")), text];
  }

  #moreField() {
    this.#more = h("textarea", { id: `${this.#id}-more`, rows: "2", spellcheck: "false", placeholder: "max_tokens=800" });
    return [h("details", { class: "fork-more" }, h("summary", {}, t("fork.more_title")), labelled(this.#more, t("fork.more")))];
  }

  async #send() {
    const { body, faults } = forkRequest(this.#stage, {
      knobs: Object.fromEntries(Object.entries(this.#knobs).map(([name, input]) => [name, given(input)])),
      more: this.#more.value,
      question: this.#question?.value ?? "",
      asked: this.#asked,
      prompt: this.#prompt.value,
      promptText: this.#promptText.value,
    });
    this.#error.textContent = faults.map(faultText).join(" ");
    if (faults.length) return;
    this.#start.disabled = true;
    try {
      await this.#hooks.onFork(body);
      this.#hooks.onCancel();
    } catch (error) {
      this.#error.textContent = describe(error);
    } finally {
      this.#start.disabled = false;
    }
  }
}

/** A number field gives "" for what is no number; that must not pass for "not changed". */
function given(input) {
  return input.validity.badInput ? "?" : input.value;
}

function faultText({ code, value }) {
  if (code === "bad_line") return t("fork.bad_line", { line: value });
  if (code === "bad_number") return t("fork.bad_number", { name: named("knob", value) });
  return t("fork.prompt_empty");
}

function promptName(name) {
  return has(`prompt.${name}`) ? `${t(`prompt.${name}`)} (${name})` : name;
}

function labelled(field, text) {
  return h("div", { class: "fork-field wide" }, h("label", { for: field.id }, text), field);
}
