/** Asks what to do with a question while another answer of the conversation is being written. */

import { t } from "./i18n.js";

export class Busy {
  #panel;

  /** onChoose("queue"|"stop"), onCancel() */
  constructor({ panel, onChoose, onCancel }) {
    this.#panel = panel;
    panel.addEventListener("click", (event) => {
      const choice = event.target.closest("button")?.dataset.choice;
      if (choice === undefined) return;
      this.close();
      if (choice) onChoose(choice);
      else onCancel();
    });
    panel.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.close();
      onCancel();
    });
  }

  /** `waiting`: whether questions wait in line already, which stopping would stop too. */
  offer({ waiting }) {
    const stop = this.#panel.querySelector("[data-choice=stop]");
    stop.textContent = t(waiting ? "busy.stop_all" : "busy.stop");
    this.#panel.hidden = false;
    this.#panel.querySelector("button").focus();
  }

  /** Nothing is left to choose. The focus does not get lost with it. */
  close() {
    if (this.#panel.hidden) return;
    const focused = this.#panel.contains(document.activeElement);
    this.#panel.hidden = true;
    if (focused) document.getElementById("question").focus();
  }
}
