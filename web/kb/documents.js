/** The documents of a knowledge base: upload, progress, tags, delete. */

import * as api from "../api.js";
import { confirm } from "../confirm.js";
import { h, iconButton } from "../dom.js";
import { describe, reasonInWords } from "../errors.js";
import { foreign } from "../foreign.js";
import { count, has, t } from "../i18n.js";
import { isFinal, Progress } from "../progress.js";
import { Chunks } from "./chunks.js";
import { DocumentTags } from "./document-tags.js";
import { tagChips, TagFilter } from "./tag-filter.js";

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

export class DocumentList {
  #parts;
  #hooks;
  #info = {};
  #kb = null;
  #filter;
  #documents = [];
  #addedCount = 0; // uploaded so far: tells a list that was asked for before the last of them
  #total = 0;
  #pages = 1;
  #uploads = []; // {name, file, kb, error: string|null}, files that are not documents yet
  #sending = false;
  #queue = [];
  #progress;

  /** say(text), fail(error), push(view), onChanged(): documents came or went; needKb(): one must be made first */
  constructor({ root, ...hooks }) {
    this.#hooks = hooks;
    this.#progress = new Progress((document) => this.#update(document));
    const find = (selector) => root.querySelector(selector);
    this.#parts = {
      zone: find(".drop"),
      file: find("input[type=file]"),
      limits: find(".limits"),
      list: find(".document-list"),
      more: find(".more"),
    };
    this.#filter = new TagFilter(find("#document-tag"), () => this.#reload());
    this.#listen();
  }

  #listen() {
    const { zone, file, more } = this.#parts;
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
    more.addEventListener("click", () => {
      this.#pages += 1;
      this.load();
    });
  }

  setInfo(info) {
    this.#info = info;
    this.#parts.file.accept = (info.formats ?? []).map((suffix) => `.${suffix.replace(/^\./, "")}`).join(",");
    this.draw();
  }

  /** Shows the documents of another knowledge base, or of none. */
  show(kb) {
    this.stop();
    this.#kb = kb;
    this.#documents = [];
    this.#uploads = this.#uploads.filter((upload) => !upload.error);
    this.#pages = 1;
    this.#total = 0;
    this.#filter.clear();
  }

  stop() {
    this.#progress.stop();
  }

  focus() {
    this.#parts.file.focus();
  }

  async load() {
    const kb = this.#kb;
    if (!kb) return;
    const added = this.#addedCount;
    const found = [];
    try {
      await this.#filter.load(kb.id);
      for (let page = 1; page <= this.#pages; page += 1) {
        const wanted = { page, page_size: PAGE_SIZE, tag_id: this.#filter.chosen };
        const answer = await api.listDocuments(kb.id, wanted);
        found.push(...answer.data);
        this.#total = answer.total ?? found.length;
      }
    } catch (error) {
      return this.#hooks.fail(error);
    }
    if (kb !== this.#kb) return;
    if (added !== this.#addedCount) return this.load(); // this list may lack what was uploaded meanwhile
    this.#documents = found;
    for (const document of found) if (!isFinal(document)) this.#progress.follow(document.id);
    this.draw();
  }

  #reload() {
    this.#pages = 1;
    return this.load();
  }

  /** Uploads files to the knowledge base that is shown, one after the other. */
  add(files) {
    if (!this.#kb) return this.#hooks.needKb();
    for (const file of files) {
      const refusal = refusalOf(file, this.#info);
      const upload = { name: file.name, file, kb: this.#kb.id, error: refusal && t(refusal.key, refusal.values) };
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
        if (upload.kb === this.#kb?.id) for (const document of documents) this.#added(document);
      } catch (error) {
        upload.error = describe(error);
      }
      this.draw();
    }
    this.#sending = false;
    this.#hooks.onChanged();
  }

  #added(document) {
    this.#addedCount += 1;
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
      this.#hooks.say("");
      await this.load();
      this.#hooks.onChanged();
    } catch (error) {
      this.#hooks.fail(error);
    }
  }

  draw() {
    const { zone, limits, list, more } = this.#parts;
    zone.hidden = !this.#kb;
    limits.textContent = this.#limits();
    this.#filter.draw();
    const rows = [
      ...this.#uploads.map((upload) => this.#uploadRow(upload)),
      ...this.#documents.map((document) => this.#documentRow(document)),
    ];
    const none = this.#filter.chosen ? "docs.none_tagged" : "docs.none";
    const empty = h("li", { class: "empty" }, t(this.#kb ? none : "docs.kb.first"));
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
      title: foreign("span", { class: "document-title", title: name }, name),
      name,
      status: error ? "failed" : "uploading",
      label: error ? t("status.failed") : t("docs.uploading"),
      error,
      buttons: error ? [dismiss] : [],
    });
  }

  #documentRow(document) {
    const { id, title, status, error, chunk_count: chunks, progress, tags = [] } = document;
    const stage = progress?.stage;
    const label =
      status === "ready" && typeof chunks === "number"
        ? count("docs.chunks", chunks)
        : t(status === "processing" && has(`stage.${stage}`) ? `stage.${stage}` : `status.${status}`);
    return row({
      id,
      title: this.#titleButton(document),
      name: title,
      status,
      label,
      error: error && reasonInWords(error),
      progress,
      tags,
      buttons: this.#buttons(document),
    });
  }

  #titleButton(document) {
    const { id, title } = document;
    const open = () => this.#hooks.push(new Chunks(document, this.#hooks));
    const label = t("docs.open", { title });
    return foreign("button", { type: "button", class: "document-title", title: label, data: { key: `open-${id}` }, on: { click: open } }, title);
  }

  #buttons(document) {
    const { id, title } = document;
    const tag = iconButton("tag", t("tags.of", { title }), () => this.#hooks.push(new DocumentTags(document, this.#hooks)));
    const remove = iconButton("trash", t("docs.delete", { title }), () => this.#delete(document));
    tag.dataset.key = `tags-${id}`;
    remove.dataset.key = `delete-${id}`;
    return [tag, remove];
  }
}

function row({ id = "", title, name, status, label, error = null, progress = null, tags = [], buttons = [] }) {
  const working = ["uploading", "pending", "processing"].includes(status);
  return h(
    "li",
    { class: "document", data: { status, document: id } },
    h("div", { class: "document-head" }, title, h("span", { class: "chip" }, label), ...buttons),
    tags.length ? tagChips(tags.map((tag) => tag.name)) : null,
    working ? bar(name, progress) : null,
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
