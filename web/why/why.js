/** The dialog that explains an answer. It holds a stack of views: a run, a fork beside it, that fork's run… */

import { describe } from "../errors.js";
import { t } from "../i18n.js";
import { Comparison } from "./comparison.js";
import { TraceView } from "./trace-view.js";

export class Why {
  #dialog;
  #title;
  #back;
  #error;
  #status;
  #body;
  #views = []; // {view, controller, scrolled}

  constructor(dialog) {
    this.#dialog = dialog;
    this.#title = dialog.querySelector("h2");
    this.#back = dialog.querySelector(".back");
    this.#error = dialog.querySelector(".error");
    this.#status = dialog.querySelector("[role=status]");
    this.#body = dialog.querySelector(".why-body");
    this.#back.addEventListener("click", () => this.#pop());
    dialog.querySelector(".close").addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    dialog.addEventListener("close", () => this.#clear());
  }

  /** Shows the record of a run. The focus goes back to where it was when the dialog is closed. */
  open(runId) {
    this.#clear();
    this.#dialog.showModal();
    this.#openRun(runId);
  }

  close() {
    if (this.#dialog.open) this.#dialog.close();
  }

  #clear() {
    for (const { controller } of this.#views) controller.abort();
    this.#views = [];
    this.#body.replaceChildren();
  }

  #openRun(runId) {
    this.#push(
      new TraceView(runId, {
        onOpen: (run) => this.#openRun(run),
        onCompare: ({ origin, fork }) => this.#compare({ origin, fork: { run_id: fork } }),
        onForked: ({ trace, forked }) =>
          this.#compare({ origin: trace.run.id, fork: forked, answer: trace.answer ?? "" }),
      }),
    );
  }

  #compare(runs) {
    this.#push(new Comparison(runs, { onOpen: (run) => this.#openRun(run) }));
  }

  #push(view) {
    const before = this.#views.at(-1);
    if (before) before.scrolled = this.#body.scrollTop;
    this.#views.push({ view, controller: new AbortController(), scrolled: 0 });
    this.#load();
  }

  #pop() {
    this.#views.pop()?.controller.abort();
    const { view, scrolled, controller } = this.#views.at(-1);
    this.#show(view);
    this.#body.scrollTop = scrolled;
    view.refresh?.(controller.signal).catch(() => {}); // what is shown stays true without it
  }

  async #load() {
    const { view, controller } = this.#views.at(-1);
    const { signal } = controller;
    this.#show(view);
    this.#status.textContent = t("why.loading");
    this.#body.setAttribute("aria-busy", "true");
    try {
      await view.load(signal);
      if (!signal.aborted) this.#done(view, t("why.loaded"));
    } catch (error) {
      if (signal.aborted) return;
      this.#done(view, "");
      if (this.#views.at(-1)?.view === view) this.#error.textContent = describe(error);
    }
  }

  #done(view, said) {
    if (this.#views.at(-1)?.view !== view) return;
    this.#status.textContent = said;
    this.#body.setAttribute("aria-busy", "false");
    this.#title.textContent = view.title;
  }

  #show(view) {
    this.#error.textContent = "";
    this.#title.textContent = view.title;
    this.#back.hidden = this.#views.length < 2;
    if (this.#body.firstChild !== view.element) this.#body.replaceChildren(view.element);
    this.#body.scrollTop = 0;
    this.#title.focus({ preventScroll: true });
  }
}
