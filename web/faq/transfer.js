/** FAQ entries as a file: into the knowledge base, with a report of every row, and out of it. */

import * as api from "../api.js";
import { confirm } from "../confirm.js";
import { h } from "../dom.js";
import { describe, inWords } from "../errors.js";
import { foreign } from "../foreign.js";
import { t } from "../i18n.js";

const FORMATS = ["csv", "xlsx", "json"];
const READ = [...FORMATS, "tsv", "txt", "jsonl", "ndjson"];
const COUNTS = ["created", "updated", "unchanged", "deleted"];

export class Transfer {
  #kb;
  #hooks;
  #file = h("input", { id: "faq-file", type: "file", class: "hidden-input", "aria-describedby": "faq-file-name", accept: READ.map((format) => `.${format}`).join(",") });
  #name = h("span", { id: "faq-file-name", class: "facts" });
  #mode = h("select", { id: "faq-mode" }, ...["append", "replace"].map((mode) => h("option", { value: mode, data: { i18n: `mode.${mode}` } }, t(`mode.${mode}`))));
  #send = h("button", { type: "submit", class: "primary", data: { i18n: "faq.import_start" } }, t("faq.import_start"));
  #place = h("div", { class: "import-report", role: "status" });
  #report = null;

  /** onChanged() */
  constructor(kb, hooks) {
    this.#kb = kb;
    this.#hooks = hooks;
    const form = h(
      "form",
      { class: "faq-form" },
      this.#fileField(),
      labelled(this.#mode, "faq.mode"),
      h("p", { class: "hint", data: { i18n: "faq.import_hint" } }, t("faq.import_hint")),
      this.#send,
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#import();
    });
    const files = FORMATS.map((format) =>
      h("a", { class: "quiet button-link", href: api.faqFile(kb.id, format), download: `${kb.name}.${format}`, "aria-label": t("faq.export_as", { format: format.toUpperCase() }) }, format.toUpperCase()),
    );
    this.element = h(
      "div",
      {},
      h("h3", { data: { i18n: "faq.import" } }, t("faq.import")),
      form,
      this.#place,
      h("h3", { data: { i18n: "faq.export" } }, t("faq.export")),
      h("p", { class: "export-links" }, ...files),
    );
  }

  /** The browser's own field speaks the browser's language, which need not be that of the page. */
  #fileField() {
    const label = h("label", { for: this.#file.id, class: "quiet file-button", data: { i18n: "faq.file" } }, t("faq.file"));
    this.#file.addEventListener("change", () => this.#drawName());
    return h("div", { class: "field file-field" }, this.#file, label, this.#name);
  }

  #drawName() {
    this.#name.replaceChildren(...[...this.#file.files].map(({ name }) => foreign("bdi", {}, name)));
  }

  get title() {
    return t("faq.transfer_title");
  }

  draw() {
    if (this.#report) this.#place.replaceChildren(...reportOf(this.#report));
  }

  async #import() {
    const [file] = this.#file.files;
    if (!file) return this.#file.focus();
    const mode = this.#mode.value;
    if (mode === "replace" && !(await confirm(t("faq.replace.ask", { name: this.#kb.name }), t("faq.replace_yes")))) return;
    this.#send.disabled = true;
    this.#report = null;
    this.#hooks.say("");
    this.#place.replaceChildren(h("p", {}, t("faq.importing")));
    try {
      this.#report = await api.importFaq(this.#kb.id, file, mode);
      this.draw();
    } catch (error) {
      this.#place.replaceChildren(h("p", { class: "error" }, describe(error)));
    } finally {
      this.#send.disabled = false;
      this.#file.value = ""; // choosing the same file again, once it is put right, must count as a change
      this.#drawName();
    }
    this.#hooks.onChanged();
  }
}

function labelled(field, label) {
  return h("div", { class: "field" }, h("label", { for: field.id, data: { i18n: label } }, t(label)), field);
}

function reportOf({ rejected = [], ignored_columns: ignored = [], ...counts }) {
  const told = COUNTS.filter((name) => typeof counts[name] === "number").map((name) => t(`imported.${name}`, { n: counts[name] }));
  return [
    h("p", { class: "note" }, [...told, t("imported.rejected", { n: rejected.length })].join(" · ")),
    ignored.length ? h("p", { class: "hint" }, t("faq.ignored_columns", { names: ignored.join(", ") })) : null,
    rejected.length ? rejections(rejected) : null,
  ].filter(Boolean);
}

function rejections(rows) {
  const head = ["faq.row", "faq.question", "faq.reason"].map((key) => h("th", { scope: "col" }, t(key)));
  const lines = rows.map(({ row, question, reason, code }) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, String(row ?? "")),
      foreign("td", {}, question ?? ""),
      h("td", {}, inWords({ code, message: reason ?? code ?? "" })),
    ),
  );
  return h(
    "div",
    { class: "table-frame", tabindex: "0", role: "region", "aria-label": t("faq.rejected") },
    h("table", { class: "rejected" }, h("caption", {}, t("faq.rejected")), h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...lines)),
  );
}
