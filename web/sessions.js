/** The list of conversations: open, rename, delete. */

import * as api from "./api.js";
import { confirm } from "./confirm.js";
import { h, iconButton } from "./dom.js";
import { languageOf, t } from "./i18n.js";

const PAGE_SIZE = 50;

export class SessionList {
  #list;
  #more;
  #hooks;
  #sessions = [];
  #total = 0;
  #pages = 1;
  #current = null;
  #editing = null;

  /** onOpen(id), onDeleted(id), onChanged(): the list was read again, onError(error) */
  constructor({ list, more, ...hooks }) {
    this.#list = list;
    this.#more = more;
    this.#hooks = hooks;
    more.addEventListener("click", () => {
      this.#pages += 1;
      this.refresh();
    });
  }

  /** Reads the list again. A server that does not answer leaves the old one. */
  async refresh() {
    const found = [];
    try {
      for (let page = 1; page <= this.#pages; page += 1) {
        const answer = await api.listSessions(page, PAGE_SIZE);
        found.push(...answer.data);
        this.#total = answer.total ?? found.length;
      }
    } catch (error) {
      return this.#hooks.onError(error);
    }
    this.#sessions = found;
    this.draw();
    this.#hooks.onChanged();
  }

  title(id) {
    return this.#sessions.find((session) => session.id === id)?.title || "";
  }

  select(id) {
    this.#current = id;
    this.draw();
  }

  draw() {
    if (this.#editing) return; // drawing would take the field away under the fingers
    const focused = this.#list.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    this.#list.replaceChildren(...this.#sessions.map((session) => this.#row(session)));
    if (!this.#sessions.length) this.#list.append(h("li", { class: "empty" }, t("sessions.none")));
    this.#more.hidden = this.#sessions.length >= this.#total;
    if (focused) this.#list.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  #row(session) {
    const title = session.title || t("sessions.untitled");
    const open = h(
      "a",
      {
        href: `#/sessions/${encodeURIComponent(session.id)}`,
        class: "session-link",
        title,
        lang: languageOf(title),
        "aria-current": session.id === this.#current ? "page" : null,
        data: { key: `open-${session.id}` },
        on: { click: () => this.#hooks.onOpen(session.id) },
      },
      title,
    );
    const row = h("li", { class: "session", data: { session: session.id, pinned: String(Boolean(session.pinned)) } }, open);
    const pin = iconButton("pin", t(session.pinned ? "sessions.unpin" : "sessions.pin", { title }), () => this.#pin(session));
    pin.setAttribute("aria-pressed", String(Boolean(session.pinned)));
    pin.dataset.key = `pin-${session.id}`;
    const rename = iconButton("pencil", t("sessions.rename", { title }), () => this.#edit(row, session));
    const remove = iconButton("trash", t("sessions.delete", { title }), () => this.#delete(session, title));
    rename.dataset.key = `rename-${session.id}`;
    remove.dataset.key = `delete-${session.id}`;
    row.append(pin, rename, remove);
    return row;
  }

  async #pin(session) {
    try {
      await api.pinSession(session.id, !session.pinned);
    } catch (error) {
      return this.#hooks.onError(error);
    }
    await this.refresh();
  }

  #edit(row, session) {
    const input = h("input", { type: "text", maxlength: "200", "aria-label": t("sessions.name") });
    input.value = session.title ?? "";
    this.#editing = session.id;
    const finish = async (save) => {
      if (this.#editing !== session.id) return;
      this.#editing = null;
      const title = input.value.trim();
      try {
        if (save && title && title !== session.title) await api.renameSession(session.id, title);
      } catch (error) {
        this.#hooks.onError(error);
      }
      await this.refresh();
      this.#list.querySelector(`[data-key="rename-${CSS.escape(session.id)}"]`)?.focus();
    };
    input.addEventListener("keydown", (event) => {
      if (event.isComposing || event.keyCode === 229) return;
      if (event.key === "Enter") finish(true);
      if (event.key === "Escape") finish(false);
      if (event.key === "Enter" || event.key === "Escape") event.stopPropagation();
    });
    input.addEventListener("blur", () => finish(true));
    row.replaceChildren(input);
    input.select();
  }

  async #delete(session, title) {
    if (!(await confirm(t("sessions.delete.ask", { title })))) return;
    try {
      await api.deleteSession(session.id);
    } catch (error) {
      return this.#hooks.onError(error);
    }
    this.#hooks.onDeleted(session.id);
    await this.refresh();
  }
}
