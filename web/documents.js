/** The dialog with the documents of a knowledge base: upload, progress, delete. */

import * as api from "./api.js";
import { confirm } from "./confirm.js";
import { h, iconButton } from "./dom.js";
import { reasonInWords } from "./errors.js";
import { count, has, languageOf, t } from "./i18n.js";
import { isFinal, Progress } from "./progress.js";

const PAGE_SIZE = 50;
const MB = 1024 * 1024;

/** Why a file cannot be uploaded, as a key and values of a text, or null. */
export function refusalOf(file, info = {}) {
  const { formats } = info;
  const limit = limitOf(info);
  if (!file.size) return { key: "docs.emptyfile", values: {} };
  if (limit && file.size > limit * MB) return { key: "docs.toolarge", values: { mb: limit } };
  if (formats?.length && !formats.some((suffix) => hasSuffix(file.name, suffix))) {
    return { key: "docs.unsupported", values: { formats: shown(formats) } };
  }
  return null;
}

function limitOf(info) {
  return info.upload_limit_mb ?? info.limits?.upload_mb ?? null;
}

function hasSuffix(name, suffix) {
  return name.toLowerCase().endsWith(`.${suffix.toLowerCase().replace(/^\./, "")}`);
}

function shown(formats) {
  return formats.map((suffix) => suffix.replace(/^\./, "").toUpperCase()).join(", ");
}

export class Documents {
  #dialog;
  #parts;
  #hooks;
  #info = {};
  #kbs = [];
  #kb = null;
  #documents = [];
  #total = 0;
  #pages = 1;
  #uploads = []; // {name, file, error: string|null}, files that are not documents yet
  #sending = false;
  #queue = [];
  #progress;

  /** onKbs(): knowledge bases were made or deleted; onChanged(): documents came or went */
  constructor({ dialog, ...hooks }) {
    this.#dialog = dialog;
    this.#hooks = hooks;
    this.#progress = new Progress((document) => this.#update(document));
    const find = (selector) => dialog.querySelector(selector);
    this.#parts = {
      select: find("#kb-select"),
      create: find("#kb-create"),
      name: find("#kb-name"),
      remove: find("#kb-delete"),
      zone: find(".drop"),
      file: find("input[type=file]"),
      limits: find(".limits"),
      list: find(".document-list"),
      more: find(".more"),
      message: find("[role=alert]"),
    };
    this.#listen();
  }

  #listen() {
    const { select, create, remove, zone, file, more } = this.#parts;
    this.#dialog.querySelector(".close").addEventListener("click", () => this.#dialog.close());
    this.#dialog.addEventListener("click", (event) => event.target === this.#dialog && this.#dialog.close());
    this.#dialog.addEventListener("close", () => this.#progress.stop());
    select.addEventListener("change", () => this.#choose(select.value));
    create.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#create();
    });
    remove.addEventListener("click", () => this.#deleteKb());
    file.addEventListener("change", () => {
      this.add([...file.files]);
      file.value = ""; // choosing the same file again must count as a change
    });
    zone.addEventListener("dragover", (event) => {
      event.preventDefault();
      zone.classList.add("over");
    });
    zone.addEventListener("dragleave", () => zone.classList.remove("over"));
    zone.addEventListener("drop", (event) => {
      event.preventDefault();
      zone.classList.remove("over");
      this.add([...event.dataTransfer.files]);
    });
    // A file dropped beside the zone would otherwise replace the page.
    for (const name of ["dragover", "drop"]) {
      this.#dialog.addEventListener(name, (event) => event.preventDefault());
    }
    more.addEventListener("click", () => {
      this.#pages += 1;
      this.#load();
    });
  }

  setInfo(info) {
    this.#info = info;
    this.#parts.file.accept = (info.formats ?? []).map((suffix) => `.${suffix.replace(/^\./, "")}`).join(",");
    this.draw();
  }

  setKbs(kbs) {
    this.#kbs = kbs;
    if (!kbs.some((kb) => kb.id === this.#kb)) this.#kb = kbs[0]?.id ?? null;
    this.draw();
  }

  async open() {
    if (!this.#dialog.open) this.#dialog.showModal();
    this.#say("");
    await this.#choose(this.#kb);
    if (!this.#kb) this.#parts.name.focus();
  }

  async #choose(kb) {
    this.#progress.stop();
    this.#kb = kb;
    this.#documents = [];
    this.#uploads = this.#uploads.filter((upload) => !upload.error);
    this.#pages = 1;
    this.#total = 0;
    this.draw();
    if (kb) await this.#load();
  }

  async #load() {
    const kb = this.#kb;
    const found = [];
    try {
      for (let page = 1; page <= this.#pages; page += 1) {
        const answer = await api.listDocuments(kb, page, PAGE_SIZE);
        found.push(...answer.data);
        this.#total = answer.total ?? found.length;
      }
    } catch (error) {
      return this.#fail(error);
    }
    if (kb !== this.#kb) return;
    this.#documents = found;
    for (const document of found) if (!isFinal(document)) this.#progress.follow(document.id);
    this.draw();
  }

  async #create() {
    const name = this.#parts.name.value.trim();
    if (!name) return this.#parts.name.focus();
    try {
      const kb = await api.createKb(name);
      this.#parts.name.value = "";
      this.#say("");
      await this.#hooks.onKbs();
      await this.#choose(kb.id);
      this.#parts.file.focus();
    } catch (error) {
      this.#fail(error);
    }
  }

  async #deleteKb() {
    const kb = this.#kbs.find((one) => one.id === this.#kb);
    if (!kb || !(await confirm(t("docs.kb.delete.ask", { name: kb.name })))) return;
    try {
      await api.deleteKb(kb.id);
      await this.#hooks.onKbs();
      await this.#choose(this.#kb);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Uploads files to the knowledge base that is shown, one after the other. */
  add(files) {
    if (!this.#kb) return this.#parts.name.focus();
    for (const file of files) {
      const refusal = refusalOf(file, this.#info);
      const upload = { name: file.name, file, kb: this.#kb, error: refusal && t(refusal.key, refusal.values) };
      this.#uploads.push(upload);
      if (!refusal) this.#queue.push(upload);
    }
    this.draw();
    this.#send();
  }

  async #send() {
    if (this.#sending) return;
    this.#sending = true;
    // One file per request: one that is refused then does not take its neighbours with it.
    while (this.#queue.length) {
      const upload = this.#queue.shift();
      try {
        const documents = await api.upload(upload.kb, upload.file);
        this.#uploads = this.#uploads.filter((one) => one !== upload);
        if (upload.kb === this.#kb) for (const document of documents) this.#added(document);
      } catch (error) {
        upload.error = this.#hooks.describe(error);
      }
      this.draw();
    }
    this.#sending = false;
    this.#hooks.onChanged();
  }

  #added(document) {
    const others = this.#documents.filter((one) => one.id !== document.id);
    if (others.length === this.#documents.length) this.#total += 1;
    this.#documents = [document, ...others];
    // Followed even when it is ready already: the full record has its number of passages.
    this.#progress.follow(document.id);
  }

  #update(document) {
    const index = this.#documents.findIndex((one) => one.id === document.id);
    if (index < 0) return;
    this.#documents[index] = { ...this.#documents[index], ...document };
    this.draw();
    if (isFinal(document)) this.#hooks.onChanged();
  }

  async #delete(document) {
    if (!(await confirm(t("docs.delete.ask", { title: document.title })))) return;
    try {
      await api.deleteDocument(document.id);
      this.#progress.forget(document.id);
      this.#say("");
      await this.#load();
      this.#hooks.onChanged();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error) {
    this.#say(this.#hooks.describe(error));
  }

  #say(text) {
    this.#parts.message.textContent = text;
  }

  draw() {
    const { select, remove, zone, limits, list, more } = this.#parts;
    select.replaceChildren(...this.#kbs.map((kb) => h("option", { value: kb.id }, kb.name)));
    select.value = this.#kb ?? "";
    select.disabled = !this.#kbs.length;
    remove.disabled = !this.#kb;
    zone.hidden = !this.#kb;
    limits.textContent = this.#limits();
    const rows = [
      ...this.#uploads.map((upload) => this.#uploadRow(upload)),
      ...this.#documents.map((document) => this.#documentRow(document)),
    ];
    const empty = h("li", { class: "empty" }, t(this.#kb ? "docs.none" : "docs.kb.first"));
    const focused = list.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    list.replaceChildren(...(rows.length ? rows : [empty]));
    if (focused) list.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
    more.hidden = this.#documents.length >= this.#total;
  }

  #limits() {
    const { formats } = this.#info;
    const mb = limitOf(this.#info);
    if (formats?.length) {
      return t(mb ? "docs.formats" : "docs.formats.only", { formats: shown(formats), mb });
    }
    return mb ? t("docs.limit", { mb }) : "";
  }

  #uploadRow(upload) {
    const { name, error } = upload;
    const dismiss = iconButton("close", t("docs.dismiss", { title: name }), () => {
      this.#uploads = this.#uploads.filter((one) => one !== upload);
      this.draw();
    });
    return row({
      title: name,
      status: error ? "failed" : "uploading",
      label: error ? t("status.failed") : t("docs.uploading"),
      error,
      button: error ? dismiss : null,
    });
  }

  #documentRow(document) {
    const { id, title, status, error, chunk_count: chunks, progress } = document;
    const remove = iconButton("trash", t("docs.delete", { title }), () => this.#delete(document));
    remove.dataset.key = id;
    const stage = progress?.stage;
    const label =
      status === "ready" && typeof chunks === "number"
        ? count("docs.chunks", chunks)
        : t(status === "processing" && has(`stage.${stage}`) ? `stage.${stage}` : `status.${status}`);
    return row({ id, title, status, label, error: error && reasonInWords(error), progress, button: remove });
  }
}

function row({ id = "", title, status, label, error = null, progress = null, button = null }) {
  const working = ["uploading", "pending", "processing"].includes(status);
  return h(
    "li",
    { class: "document", data: { status, document: id } },
    h(
      "div",
      { class: "document-head" },
      h("span", { class: "document-title", lang: languageOf(title), title }, title),
      h("span", { class: "chip" }, label),
      button,
    ),
    working ? bar(title, progress) : null,
    error ? h("p", { class: "error" }, error) : null,
  );
}

function bar(title, progress) {
  const known = progress?.total > 1; // of a single step there is nothing to see until it is done
  return h("progress", {
    "aria-label": title,
    max: known ? progress.total : null,
    value: known ? progress.done : null,
  });
}
