/** The question box. */

import { t } from "./i18n.js";

/**
 * Whether a key press sends the question. While an input method composes (pinyin, kana), Enter
 * picks a candidate; Safari reports that Enter as key code 229 after the composition has ended.
 */
export function sends(event) {
  return event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229;
}

export class Composer {
  #form;
  #box;
  #button;
  #next;
  #running = false;
  #hooks;

  /** onSend(text), onStop() */
  constructor({ form, ...hooks }) {
    this.#form = form;
    this.#box = form.querySelector("textarea");
    this.#button = form.querySelector(".send");
    this.#next = form.querySelector(".next");
    this.#hooks = hooks;
    this.#box.addEventListener("keydown", (event) => {
      if (!sends(event)) return;
      event.preventDefault();
      this.#send();
    });
    this.#box.addEventListener("input", () => {
      this.#fit();
      this.draw();
    });
    this.#next.addEventListener("click", () => this.#send());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.#running) this.#hooks.onStop();
      else this.#send();
    });
    this.draw();
  }

  /** While an answer is being written the button stops it; a second one sends what is written meanwhile. */
  setRunning(running) {
    this.#running = running;
    this.draw();
  }

  draw() {
    this.#button.textContent = t(this.#running ? "ask.stop" : "ask.send");
    this.#button.classList.toggle("stop", this.#running);
    this.#next.hidden = !this.#running || !this.#box.value.trim();
  }

  get text() {
    return this.#box.value;
  }

  set text(text) {
    this.#box.value = text;
    this.#fit();
    this.draw();
  }

  focus() {
    this.#box.focus();
  }

  #send() {
    this.#hooks.onSend(this.#box.value.trim());
  }

  #fit() {
    if (CSS.supports("field-sizing", "content")) return;
    this.#box.style.height = "auto";
    this.#box.style.height = `${this.#box.scrollHeight}px`;
  }
}
