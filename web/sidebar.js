/** The column of conversations, which a narrow screen shows as a sheet over the page. */

import { t } from "./i18n.js";

export class Sidebar {
  #panel;
  #button;
  #rest;
  #narrow = matchMedia("(max-width: 760px)");

  constructor({ panel, button, rest }) {
    this.#panel = panel;
    this.#button = button;
    this.#rest = rest;
    button.addEventListener("click", () => this.#set(true));
    panel.querySelector(".close").addEventListener("click", () => this.close());
    panel.addEventListener("keydown", (event) => event.key === "Escape" && this.close());
    document.getElementById("shade").addEventListener("click", () => this.close());
    this.#narrow.addEventListener("change", () => this.#set(false));
  }

  close() {
    if (!this.#panel.classList.contains("open")) return;
    this.#set(false);
    this.#button.focus();
  }

  #set(open) {
    const over = open && this.#narrow.matches;
    this.#panel.classList.toggle("open", over);
    document.getElementById("shade").hidden = !over;
    this.#rest.inert = over;
    this.#button.setAttribute("aria-expanded", String(over));
    this.#button.setAttribute("aria-label", t("menu.open"));
    if (over) this.#panel.querySelector("button").focus();
  }
}
