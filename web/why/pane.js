/** One of two answers side by side: its text, and the passage behind a citation when it is pressed. */

import { h } from "../dom.js";
import { languageOf, t } from "../i18n.js";
import { renderAnswer } from "../render.js";
import { titleOf, whereabouts } from "./words.js";

export class Pane {
  #citations = [];
  #passageOf;
  #body = h("div", { class: "body" });
  #note = h("p", { class: "note", hidden: true });
  #cited = h("div", { class: "cited-passage", role: "status" });
  #actions = h("div", { class: "actions" });

  /** passageOf(citation): promise of a candidate of the run's record, or null */
  constructor({ title, kind, passageOf }) {
    this.#passageOf = passageOf;
    this.element = h(
      "section",
      { class: "pane", data: { kind } },
      h("h4", {}, title),
      this.#body,
      this.#note,
      this.#cited,
      this.#actions,
    );
    this.#body.addEventListener("click", (event) => {
      const button = event.target.closest("[data-citation]");
      if (button) this.#showPassage(this.#citations[button.dataset.citation]);
    });
  }

  show(text, { running = false, note = "", failed = false } = {}) {
    this.element.dataset.state = running ? "running" : "ended";
    this.#body.lang = languageOf(text);
    this.#body.setAttribute("aria-busy", String(running));
    this.#citations = renderAnswer(this.#body, text, { complete: !running });
    const said = note || (running || text ? "" : t("fork.empty"));
    this.#note.hidden = !said;
    this.#note.dataset.kind = failed ? "failed" : "";
    this.#note.textContent = said;
  }

  setActions(...buttons) {
    this.#actions.replaceChildren(...buttons);
  }

  async #showPassage(citation) {
    const found = await this.#passageOf(citation);
    if (!found) return this.#cited.replaceChildren(h("p", { class: "facts" }, t("sources.missing")));
    this.#cited.replaceChildren(
      h("h5", { lang: languageOf(found.document_title ?? "") }, `${citation.number} · ${titleOf(found)}`),
      h("p", { class: "facts" }, whereabouts(found)),
      h("p", { class: "snippet", lang: languageOf(found.snippet ?? "") }, found.snippet || t("why.text_gone")),
    );
  }
}
