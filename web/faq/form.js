/** One FAQ entry, to be written or changed. */

import * as api from "../api.js";
import { h, iconButton } from "../dom.js";
import { t } from "../i18n.js";
import { TagPicker } from "../kb/tag-picker.js";
import { differs, entryOf, fieldsOf, STRATEGIES } from "./draft.js";

let forms = 0; // for ids that belong labels and fields together

export class EntryForm {
  #kb;
  #entry; // null for a new one
  #hooks;
  #id;
  #before;
  #saved = false;
  #question;
  #similar;
  #negative;
  #answers = h("ol", { class: "answer-fields" });
  #strategy;
  #picker;
  #enabled = h("input", { type: "checkbox" });
  #error = h("div", { class: "form-error", role: "alert" });
  #save = h("button", { type: "submit", class: "primary", data: { i18n: "edit.save" } }, t("edit.save"));

  /** say(text), fail(error), push(view), onChanged() */
  constructor(kb, entry, hooks) {
    this.#kb = kb;
    this.#entry = entry;
    this.#hooks = hooks;
    const fields = fieldsOf(entry ?? {});
    forms += 1;
    this.#id = `faq-${forms}`;
    this.#question = area("question", 2, fields.question);
    this.#similar = area("similar", 3, fields.similar);
    this.#negative = area("negative", 2, fields.negative);
    this.#strategy = h("select", { name: "strategy" }, ...STRATEGIES.map((name) => h("option", { value: name, data: { i18n: `strategy.${name}` } }, t(`strategy.${name}`))));
    this.#strategy.value = fields.strategy;
    this.#picker = new TagPicker(fields.tags);
    this.#enabled.checked = fields.enabled;
    for (const answer of fields.answers) this.#addAnswer(answer);
    this.element = h("form", { class: "faq-form" }, ...this.#parts());
    this.#before = this.#fields;
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
  }

  #parts() {
    const add = h("button", { type: "button", class: "quiet small", data: { i18n: "faq.answer_add" } }, t("faq.answer_add"));
    add.addEventListener("click", () => this.#addAnswer("").focus());
    return [
      this.#labelled(this.#question, "faq.question"),
      this.#labelled(this.#similar, "faq.similar", "faq.similar_hint"),
      this.#labelled(this.#negative, "faq.negative", "faq.negative_hint"),
      h("fieldset", { class: "plain" }, h("legend", { data: { i18n: "faq.answers" } }, t("faq.answers")), this.#answers, add),
      this.#labelled(this.#strategy, "faq.strategy"),
      this.#picker.element,
      h("label", { class: "check" }, this.#enabled, h("span", { data: { i18n: "faq.enabled" } }, t("faq.enabled"))),
      this.#error,
      h("div", { class: "dialog-buttons" }, this.#save),
    ];
  }

  #labelled(field, label, hint = null) {
    field.id = `${this.#id}-${field.name}`;
    if (hint) field.setAttribute("aria-describedby", `${field.id}-hint`);
    return h(
      "div",
      { class: "field" },
      h("label", { for: field.id, data: { i18n: label } }, t(label)),
      field,
      hint ? h("p", { class: "hint", id: `${field.id}-hint`, data: { i18n: hint } }, t(hint)) : null,
    );
  }

  #addAnswer(text) {
    const field = area("answer", 3, text);
    const row = h("li", {}, field);
    row.append(iconButton("trash", t("faq.answer_remove"), () => this.#removeAnswer(row)));
    this.#answers.append(row);
    this.#numberAnswers();
    return field;
  }

  #removeAnswer(row) {
    const next = row.nextElementSibling ?? row.previousElementSibling;
    if (!next) row.querySelector("textarea").value = "";
    else row.remove();
    (next ?? row).querySelector("textarea").focus();
    this.#numberAnswers();
  }

  #numberAnswers() {
    [...this.#answers.children].forEach((row, index) => {
      const name = t("faq.answer", { n: index + 1 });
      row.querySelector("textarea").setAttribute("aria-label", name);
      row.querySelector("button").setAttribute("aria-label", t("faq.answer_remove_label", { name }));
    });
  }

  get #fields() {
    return {
      question: this.#question.value,
      similar: this.#similar.value,
      negative: this.#negative.value,
      answers: [...this.#answers.querySelectorAll("textarea")].map(({ value }) => value),
      strategy: this.#strategy.value,
      tags: this.#picker.chosen,
      enabled: this.#enabled.checked,
    };
  }

  get title() {
    return t(this.#entry ? "faq.edit_title" : "faq.new_title");
  }

  get dirty() {
    return !this.#saved && differs(this.#fields, this.#before);
  }

  focus() {
    this.#question.focus();
  }

  draw() {
    this.#picker.draw();
    this.#numberAnswers();
  }

  async load() {
    try {
      this.#picker.offer((await api.listTags(this.#kb.id)).map(({ name }) => name));
    } catch (error) {
      this.#hooks.fail(error);
    }
  }

  async #send() {
    const entry = entryOf(this.#fields);
    this.#error.replaceChildren();
    if (!entry.question) {
      this.#error.replaceChildren(t("faq.question_empty"));
      return this.#question.focus();
    }
    this.#save.disabled = true;
    try {
      if (this.#entry) await api.changeFaq(this.#entry.id, entry);
      else await api.addFaq(this.#kb.id, entry);
    } catch (error) {
      return this.#refused(error);
    } finally {
      this.#save.disabled = false;
    }
    this.#saved = true;
    this.leave();
    this.#hooks.say(t("edit.saved"));
    this.#hooks.onChanged();
  }

  /** A question that another entry has: that entry can be opened over this one, which stays as it is. */
  #refused(error) {
    const { id, question } = error.details ?? {};
    if (error.code !== "faq_question_taken" || !id) return this.#hooks.fail(error);
    const open = h("button", { type: "button", class: "quiet small", data: { key: "other-entry" } }, t("faq.taken_open"));
    open.addEventListener("click", () => this.#openOther(id));
    this.#error.replaceChildren(h("span", {}, t("faq.taken", { question: question ?? "" })), " ", open);
  }

  async #openOther(id) {
    try {
      this.#hooks.push(new EntryForm(this.#kb, await api.getFaq(id), this.#hooks));
    } catch (error) {
      this.#hooks.fail(error);
    }
  }
}

// Without a limit of its own: a browser cuts what is pasted and says nothing, the server says what is too long.
function area(name, rows, text) {
  const field = h("textarea", { name, rows: String(rows), dir: "auto" });
  field.value = text;
  return field;
}
