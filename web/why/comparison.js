/** A fork beside the run it came from: both answers, while the fork is still writing too, and what differs. */

import * as api from "../api.js";
import { h, oncePerFrame } from "../dom.js";
import { describe, inWords } from "../errors.js";
import { follow } from "../follow.js";
import { t } from "../i18n.js";
import { answerText, emptyView, ENDED, reduce } from "../stream.js";
import { Pane } from "./pane.js";
import { difference } from "./difference.js";

export class Comparison {
  #origin;
  #fork; // {run_id, session_id, message_id}
  #hooks;
  #status = h("p", { class: "note progress-note", role: "status", hidden: true });
  #difference = h("div", {});
  #panes;
  #records = new Map();
  #view = emptyView();
  element;
  title = t("fork.view");

  /**
   * `fork` is what POST …/fork gave, or only its `run_id`; `answer` is the original's, where known.
   * onOpen(runId)
   */
  constructor({ origin, fork, answer = null }, hooks) {
    this.#origin = origin;
    this.#fork = fork;
    this.#hooks = hooks;
    this.#panes = [
      this.#pane("original", t("fork.original"), origin),
      this.#pane("fork", t("fork.fork"), fork.run_id),
    ];
    this.#panes[0].show(answer ?? "", { running: answer === null });
    this.#panes[1].show("", { running: true });
    this.element = h(
      "div",
      { class: "comparison" },
      this.#status,
      h("div", { class: "panes" }, ...this.#panes.map(({ element }) => element)),
      this.#difference,
    );
  }

  /** Follows the fork to its end, if it has not ended, and shows the difference. Throws refusals. */
  async load(signal) {
    const known = this.#fork.message_id ? null : await this.#compare(signal);
    if (known && ENDED.includes(known.status)) return;
    if (known) this.#fork = { run_id: known.id, session_id: known.session_id, message_id: known.message_id };
    await this.#follow(signal);
    if (signal.aborted) return;
    await this.#compare(signal);
    this.#say("");
  }

  async #follow(signal) {
    const { session_id: session, message_id: message } = this.#fork;
    const open = (after, inner) => api.continueStream(session, message, after, inner);
    this.#say(t("fork.running"));
    this.#panes[1].setActions(this.#stopButton());
    const draw = oncePerFrame(() => {
      if (this.#view.status === "running") this.#panes[1].show(answerText(this.#view), { running: true });
    });
    for await (const event of follow({ open, signal, onState: (state) => this.#connection(state) })) {
      this.#view = reduce(this.#view, event);
      draw();
    }
    this.#say(t("fork.done"));
  }

  #connection(state) {
    this.#say(t(state === "lost" ? "net.lost" : "fork.running"));
  }

  #say(text) {
    this.#status.hidden = !text;
    if (this.#status.textContent !== text) this.#status.textContent = text;
  }

  /** @returns the fork's run */
  async #compare(signal) {
    const diff = await api.diff(this.#origin, this.#fork.run_id, signal);
    const [first, second] = diff.runs;
    this.#panes[0].show(diff.answer[0] ?? "", { running: false });
    this.#panes[1].show(diff.answer[1] ?? "", { running: !ENDED.includes(second.status), ...this.#end(second) });
    this.#panes[0].setActions(this.#traceButton(first.id));
    this.#panes[1].setActions(this.#traceButton(second.id));
    this.#difference.replaceChildren(difference(diff));
    return second;
  }

  #end({ status }) {
    const { error } = this.#view;
    if (status === "stopped") return { note: t("answer.stopped") };
    if (status !== "failed") return {};
    const why = error ? inWords({ code: error.code, message: error.text }) : "";
    return { note: `${t("answer.failed")} ${why}`, failed: true };
  }

  #pane(kind, title, runId) {
    return new Pane({ kind, title, passageOf: (citation) => this.#passageOf(runId, citation) });
  }

  #traceButton(runId) {
    return h("button", { type: "button", class: "quiet small", on: { click: () => this.#hooks.onOpen(runId) } }, t("fork.trace"));
  }

  #stopButton() {
    const { session_id: session, message_id: message } = this.#fork;
    const stop = () => api.stop(session, message).catch((error) => this.#say(describe(error)));
    return h("button", { type: "button", class: "quiet small", on: { click: stop } }, t("fork.stop"));
  }

  /** The passage behind a citation, from the run's record, which is read once and only when asked for. */
  async #passageOf(runId, { chunkId }) {
    if (!this.#records.has(runId)) this.#records.set(runId, api.trace(runId));
    try {
      const { candidates } = await this.#records.get(runId);
      return candidates.find((one) => one.chunk_id === chunkId) ?? null;
    } catch {
      this.#records.delete(runId); // asked again with the next press
      return null;
    }
  }
}
