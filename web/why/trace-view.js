/** Everything that one run has recorded, from the question to the settings. */

import * as api from "../api.js";
import { h } from "../dom.js";
import { inWords } from "../errors.js";
import { duration, languageOf, t } from "../i18n.js";
import { ENDED } from "../stream.js";
import { calls, settings } from "./calls.js";
import { Candidates } from "./candidates.js";
import { missingText } from "./missing.js";
import { resetsText, timeline } from "./timeline.js";
import { named, stageName } from "./words.js";

export class TraceView {
  #run;
  #hooks;
  #summary = h("div", {});
  element = h("div", { class: "trace-view" });
  title = t("why.title");

  /** onOpen(runId), onCompare({origin, fork}), onForked({trace, forked}) */
  constructor(runId, hooks) {
    this.#run = runId;
    this.#hooks = hooks;
  }

  /** Throws what the server refuses; the view is then empty. */
  async load(signal) {
    const trace = await api.trace(this.#run, signal);
    if (trace.run?.forked_from) this.title = t("why.title.fork");
    this.#summary = this.#summaryOf(trace, signal);
    this.element.replaceChildren(
      this.#summary,
      section("why.stages", timeline(trace, (body) => this.#fork(trace, body))),
      section("why.passages", passages(trace)),
      section("why.calls", calls(trace)),
      settings(trace),
    );
  }

  /** Reads again what may have been added since: the forks. Tables and forms stay as they are. */
  async refresh(signal) {
    const summary = this.#summaryOf(await api.trace(this.#run, signal), signal);
    this.#summary.replaceWith(summary);
    this.#summary = summary;
  }

  async #fork(trace, body) {
    const forked = await api.fork(this.#run, body);
    this.#hooks.onForked({ trace, forked });
  }

  #summaryOf(trace, signal) {
    const { run } = trace;
    return h(
      "div",
      { class: "summary" },
      ENDED.includes(run.status) ? null : this.#unfinished(signal),
      h("dl", {}, ...facts(trace).flatMap(([name, ...value]) => [h("dt", {}, name), h("dd", {}, ...value)])),
      ...(trace.missing ?? []).map((text) => h("p", { class: "note" }, missingText(text))),
      resetsText(trace.events) ? h("p", { class: "note" }, resetsText(trace.events)) : null,
      warnings(trace.warnings ?? []),
      this.#origin(run),
      this.#forks(run),
    );
  }

  #unfinished(signal) {
    const again = h("button", { type: "button", class: "quiet" }, t("why.reload"));
    again.addEventListener("click", () => this.load(signal).catch(() => {}));
    return h("p", { class: "note unfinished" }, t("why.running"), " ", again);
  }

  #origin({ id, forked_from: origin, fork_stage: stage }) {
    if (!origin) return null;
    return h(
      "p",
      { class: "origin" },
      t("why.forked", { stage: stageName(stage) }),
      " ",
      this.#button(t("why.original"), () => this.#hooks.onOpen(origin)),
      " ",
      this.#button(t("why.compare"), () => this.#hooks.onCompare({ origin, fork: id })),
    );
  }

  #forks({ id, forks = [] }) {
    if (!forks.length) return null;
    const items = forks.map((fork, index) => {
      const n = index + 1;
      const compare = this.#button(t("why.fork_compare"), () => this.#hooks.onCompare({ origin: id, fork }));
      compare.setAttribute("aria-label", t("why.fork_compare_label", { n }));
      return h("li", {}, this.#button(t("why.fork_open", { n }), () => this.#hooks.onOpen(fork)), " ", compare);
    });
    return h("div", { class: "forks" }, h("h4", {}, t("why.forks")), h("ul", {}, ...items));
  }

  #button(text, onClick) {
    return h("button", { type: "button", class: "quiet small", on: { click: onClick } }, text);
  }
}

function facts({ run, query, rewritten_query: rewritten, intent, outcome, error }) {
  const total = run.timing?.total_ms;
  const asked = query || run.question || "";
  const understood = rewritten && rewritten !== asked ? quoted(rewritten) : t("why.as_asked");
  const why = error ? ` – ${inWords({ code: error.code, message: error.message ?? "" })}` : "";
  return [
    [t("why.question"), quoted(asked)],
    rewritten ? [t("why.understood"), understood] : null,
    intent ? [t("why.intent"), named("intent", intent)] : null,
    [t("why.outcome"), named("outcome", outcome ?? run.status) + why],
    typeof total === "number" ? [t("why.time"), duration(total)] : null,
  ].filter(Boolean);
}

function quoted(text) {
  return h("span", { lang: languageOf(text) }, text);
}

function warnings(list) {
  if (!list.length) return null;
  const items = list.map(({ stage, code, message }) =>
    h("li", {}, `${stageName(stage)}: ${inWords({ code, message: message || code })}`),
  );
  return h("div", {}, h("h4", {}, t("why.warnings")), h("ul", { class: "warnings" }, ...items));
}

function passages(trace) {
  if (!trace.candidates.length) return h("p", { class: "empty" }, t("why.passages_none"));
  return new Candidates(trace).element;
}

function section(title, content) {
  return h("section", {}, h("h3", {}, t(title)), content);
}
