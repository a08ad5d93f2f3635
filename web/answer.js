/** One question and its answer on the page, redrawn from a view (`stream.js`). */

import { plainText } from "./citations.js";
import { h } from "./dom.js";
import { inWords } from "./errors.js";
import { count, day, duration, has, languageOf, t } from "./i18n.js";
import { renderAnswer } from "./render.js";
import { answerText, ENDED, fact, thinkingText } from "./stream.js";

/** @returns {HTMLElement} */
export function questionElement(text, { erased = false } = {}) {
  const bubble = erased
    ? h("p", { class: "bubble erased" }, t("answer.question_erased"))
    : h("p", { class: "bubble", lang: languageOf(text) }, text);
  return h("article", { class: "question" }, h("h3", { class: "hidden" }, t("answer.you")), bubble);
}

/** The field in which a question is written otherwise. `onSend(text)`, `onCancel()`. */
export function questionEditor(text, { onSend, onCancel }) {
  const area = h("textarea", { rows: "2", maxlength: "10000", dir: "auto", "aria-label": t("ask.edit") });
  area.value = text;
  const form = h(
    "form",
    { class: "question-editor" },
    area,
    h("button", { type: "submit", class: "primary" }, t("ask.edit.send")),
    h("button", { type: "button", class: "quiet", on: { click: onCancel } }, t("dialog.cancel")),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (area.value.trim()) onSend(area.value.trim());
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.isComposing) onCancel();
  });
  return form;
}

/**
 * The place of one answer.
 * `onSources(view, citations, citation|null, opener)`: a citation or the list of sources is wanted.
 * `onAsk(text)`: a suggested question is chosen. `onRetry()`: the question shall be asked again.
 * `onAnew()`: it shall be answered anew, `onEdit()`: with another question. `onRate(feedback|null)`: what somebody thinks of it.
 * `onWhy(runId)`: the record of its run is wanted. `onDequeue()`: it shall not wait in line any longer.
 */
export class Answer {
  #view = null;
  #citations = [];
  #connection = "open";
  #last = false;
  #parts;

  constructor({ onSources, onAsk, onRetry, onAnew, onEdit, onRate, onWhy, onDequeue }) {
    const parts = {
      progress: h("summary", { class: "progress" }),
      steps: h("ul", { class: "steps" }),
      thought: h("div", { class: "thought" }),
      verdict: h("p", { class: "verdict" }),
      body: h("div", { class: "body" }),
      note: h("p", { class: "note" }),
      warnings: h("ul", { class: "warnings" }),
      sources: h("button", { type: "button", class: "quiet sources-button" }),
      copy: h("button", { type: "button", class: "quiet" }),
      why: h("button", { type: "button", class: "quiet why-button", "aria-haspopup": "dialog" }),
      retry: h("button", { type: "button", class: "quiet" }),
      anew: h("button", { type: "button", class: "quiet anew" }),
      edit: h("button", { type: "button", class: "quiet edit" }),
      up: h("button", { type: "button", class: "quiet thumb", data: { thumb: "up" } }, "👍"),
      down: h("button", { type: "button", class: "quiet thumb", data: { thumb: "down" } }, "👎"),
      dequeue: h("button", { type: "button", class: "quiet dequeue" }),
      took: h("span", { class: "took" }),
      suggestions: h("div", { class: "suggestions" }),
    };
    parts.trace = h("details", { class: "trace" }, parts.progress, parts.steps);
    parts.thinkingTitle = h("summary", {});
    parts.thinking = h("details", { class: "thinking" }, parts.thinkingTitle, parts.thought);
    parts.heading = h("h3", { class: "hidden" });
    const buttons = [parts.sources, parts.why, parts.copy, parts.retry, parts.anew, parts.edit, parts.up, parts.down, parts.dequeue];
    parts.actions = h("div", { class: "actions" }, ...buttons, parts.took);
    parts.reason = h("input", { type: "text", class: "reason", maxlength: "2000", autocomplete: "off" });
    parts.why_not = h("form", { class: "why-not", hidden: true }, parts.reason, h("button", { type: "submit", class: "quiet" }));
    this.#parts = parts;
    this.element = h(
      "article",
      { class: "answer" },
      parts.heading,
      parts.trace,
      parts.thinking,
      parts.verdict,
      parts.body,
      parts.note,
      parts.warnings,
      parts.actions,
      parts.why_not,
      parts.suggestions,
    );
    parts.body.addEventListener("click", (event) => {
      const button = event.target.closest("[data-citation]");
      if (button) onSources(this.#view, this.#citations, this.#citations[button.dataset.citation], button);
    });
    parts.sources.addEventListener("click", () =>
      onSources(this.#view, this.#citations, null, parts.sources),
    );
    parts.copy.addEventListener("click", () => this.#copy());
    parts.why.addEventListener("click", () => onWhy(this.#view.runId));
    parts.retry.addEventListener("click", onRetry);
    parts.dequeue.addEventListener("click", onDequeue);
    parts.anew.addEventListener("click", onAnew);
    parts.edit.addEventListener("click", onEdit);
    this.#listenToRatings(onRate);
    parts.suggestions.addEventListener("click", (event) => {
      if (event.target.matches("button")) onAsk(event.target.textContent);
    });
  }

  #listenToRatings(onRate) {
    const { up, down, why_not: form, reason } = this.#parts;
    for (const button of [up, down]) {
      button.addEventListener("click", () => {
        const { thumb } = button.dataset;
        const takesBack = this.#view.feedback?.thumb === thumb;
        form.hidden = takesBack || thumb === "up";
        onRate(takesBack ? null : { thumb });
        if (!form.hidden) reason.focus();
      });
    }
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      form.hidden = true;
      onRate({ thumb: "down", reason: reason.value.trim() });
    });
  }

  /** Only the last answer of a conversation can be given anew. */
  set last(last) {
    this.#last = last;
    if (this.#view) this.show(this.#view);
  }

  /** `connection` is "open" or "lost". Draws again in the current language too. */
  show(view, connection = this.#connection) {
    this.#view = view;
    this.#connection = connection;
    const running = view.status === "running";
    const text = answerText(view);
    this.element.dataset.status = view.status;
    this.element.dataset.outcome = view.outcome ?? "";
    this.element.dataset.seq = view.seq;
    this.#parts.heading.textContent = t("answer.it");
    this.#showText(text, running);
    this.#showTrace(view, text, running, connection);
    this.#showThinking(view, text, running);
    this.#showNote(view, text);
    this.#showActions(view, text, running);
  }

  get view() {
    return this.#view;
  }

  /** What is going on, in one line. */
  get progress() {
    return this.#parts.progress.textContent;
  }

  #showText(text, running) {
    const { body } = this.#parts;
    body.lang = languageOf(text);
    // A screen reader waits while `aria-busy` is true instead of reading every piece.
    if (running) body.setAttribute("aria-live", "polite");
    body.setAttribute("aria-busy", String(running));
    this.#citations = renderAnswer(body, text, { complete: !running });
  }

  #showTrace(view, text, running, connection) {
    const { trace, progress, steps, took } = this.#parts;
    trace.hidden = !running && !view.steps.length;
    trace.classList.toggle("running", running);
    progress.textContent = running && connection === "lost" ? t("net.lost") : progressText(view, text);
    steps.replaceChildren(...view.steps.map(stepElement));
    took.textContent = tookText(view);
  }

  #showThinking(view, text, running) {
    const { thinking, thinkingTitle, thought } = this.#parts;
    const thoughts = thinkingText(view);
    thinking.hidden = !thoughts;
    thinkingTitle.textContent = t("answer.thinking") + (running && !text ? "…" : "");
    thought.lang = languageOf(thoughts);
    thought.textContent = thoughts;
  }

  #showNote(view, text) {
    const { verdict, note, warnings } = this.#parts;
    const none = ["declined", "fallback"].includes(view.outcome);
    const ready = ["cached", "faq"].includes(view.outcome);
    verdict.hidden = !none && !ready;
    verdict.classList.toggle("ready", ready);
    verdict.textContent = none || ready ? t(`answer.${view.outcome}`) : "";
    const { kind, content } = noteOf(view, text);
    note.hidden = !content;
    note.dataset.kind = kind;
    note.setAttribute("role", kind === "failed" ? "alert" : "note");
    // Writing the same words again would make a screen reader repeat an alert.
    if (note.textContent !== content) note.textContent = content;
    warnings.hidden = !view.warnings.length;
    warnings.replaceChildren(...view.warnings.map(({ text, code }) => h("li", {}, inWords({ code, message: text }) || code)));
  }

  #showActions(view, text, running) {
    const { actions, sources, why, copy, retry, anew, edit, dequeue, suggestions } = this.#parts;
    sources.hidden = !view.references.length;
    sources.textContent = t("answer.sources", { n: view.references.length });
    copy.hidden = running || !text;
    copy.textContent = t("answer.copy");
    why.hidden = !view.runId || Boolean(view.erasedAt) || !ENDED.includes(view.status);
    why.textContent = t("why.open");
    retry.hidden = !["failed", "stopped"].includes(view.status) || Boolean(view.erasedAt);
    retry.textContent = t("ask.again");
    anew.hidden = !this.#last || running || view.status !== "complete" || Boolean(view.erasedAt);
    anew.textContent = t("answer.anew");
    edit.hidden = !this.#last || running || view.status === "waiting" || Boolean(view.erasedAt);
    edit.textContent = t("ask.edit");
    this.#showRatings(view, text, running);
    dequeue.hidden = !view.queued || !view.messageId;
    dequeue.textContent = t("answer.dequeue");
    actions.hidden = running && sources.hidden;
    suggestions.hidden = !view.suggestions.length;
    suggestions.replaceChildren(
      h("p", {}, t("answer.suggestions")),
      ...view.suggestions.map((line) => h("button", { type: "button", class: "quiet" }, line)),
    );
  }

  #showRatings(view, text, running) {
    const { up, down, why_not: form, reason } = this.#parts;
    for (const [button, thumb] of [[up, "up"], [down, "down"]]) {
      button.hidden = running || !text || !view.messageId;
      button.setAttribute("aria-label", t(`answer.thumb.${thumb}`));
      button.setAttribute("aria-pressed", String(view.feedback?.thumb === thumb));
      button.title = thumb === view.feedback?.thumb && view.feedback.reason ? view.feedback.reason : t(`answer.thumb.${thumb}`);
    }
    reason.placeholder = t("answer.reason");
    reason.setAttribute("aria-label", t("answer.reason"));
    form.lastElementChild.textContent = t("answer.reason.send");
  }

  async #copy() {
    await navigator.clipboard.writeText(plainText(answerText(this.#view)));
    this.#parts.copy.textContent = t("answer.copied");
  }
}

function progressText(view, text) {
  if (view.status === "running") {
    if (text) return t("step.writing");
    const step = view.steps.findLast(({ state }) => state === "running");
    return step ? `${stepName(step)}…` : t("step.start");
  }
  const facts = view.steps.flatMap(stepFacts);
  return facts.length ? facts.join(" · ") : view.steps.map(stepName).join(" · ");
}

function stepElement(step) {
  const facts = stepFacts(step);
  if (step.state === "interrupted") facts.push(t("step.interrupted"));
  const took = fact(step, "duration_ms");
  if (typeof took === "number") facts.push(duration(took));
  return h(
    "li",
    { data: { state: step.state } },
    h("span", { class: "step-name" }, stepName(step)),
    facts.length ? h("span", { class: "step-facts" }, facts.join(" · ")) : null,
  );
}

function stepName(step) {
  return has(`step.${step.name}`) ? t(`step.${step.name}`) : step.name;
}

function stepFacts(step) {
  const facts = [];
  const rewritten = fact(step, "rewritten");
  if (typeof rewritten === "string" && rewritten && rewritten !== fact(step, "query")) {
    facts.push(t("step.rewritten", { text: rewritten }));
  }
  // What was searched; the result counts only where something was found.
  const chosen = step.data.arguments?.chosen;
  if (Array.isArray(chosen) && chosen.length) facts.push(t("step.chosen", { names: chosen.map((kb) => kb.name).join(", ") }));
  const kbs = size(step.data.arguments?.knowledge_bases ?? fact(step, "knowledge_bases"));
  if (kbs !== null) facts.push(count("step.kbs", kbs));
  const hits = size(fact(step, "hits"));
  if (hits !== null) facts.push(count("step.hits", hits));
  return facts;
}

function size(value) {
  if (typeof value === "number") return value;
  return Array.isArray(value) ? value.length : null;
}

function tookText(view) {
  const total = view.timing?.total_ms;
  if (typeof total !== "number") return "";
  const time = duration(total);
  return view.model ? t("step.took.model", { time, model: view.model }) : t("step.took", { time });
}

function noteOf(view, text) {
  if (view.erasedAt) {
    return { kind: "erased", content: t("answer.erased", { date: day(view.erasedAt) }) };
  }
  if (view.status === "failed") {
    const why = view.error && inWords({ code: view.error.code, message: view.error.text });
    return { kind: "failed", content: why ? `${t("answer.failed")} ${why}` : t("answer.failed") };
  }
  if (view.status === "stopped") {
    return { kind: "stopped", content: t(text ? "answer.stopped" : "answer.stopped.empty") };
  }
  if (view.status === "waiting") {
    return { kind: "waiting", content: t(view.queued ? "answer.queued" : "answer.waiting") };
  }
  if (view.status === "complete" && !text) return { kind: "empty", content: t("answer.empty") };
  return { kind: "", content: "" };
}
