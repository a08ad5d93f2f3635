/** The stages of a run as a list: a bar for the time, hits in and out, why some left, and the way to fork. */

import { h } from "../dom.js";
import { count, duration, t } from "../i18n.js";
import { bars } from "./bars.js";
import { ForkForm } from "./fork-form.js";
import { named, plainValue, reasonName, stageName } from "./words.js";

/**
 * @param {object} trace
 * @param {(body: object) => Promise<void>} onFork starts a fork; what it throws is shown in the form
 */
export function timeline(trace, onFork) {
  const places = bars(trace.stages);
  return h(
    "ol",
    { class: "stages" },
    ...trace.stages.map((stage, index) => stageElement(stage, places[index], trace, onFork)),
  );
}

function stageElement(stage, place, trace, onFork) {
  const item = h(
    "li",
    { class: "stage", data: { stage: stage.stage } },
    h(
      "div",
      { class: "stage-head" },
      h("h4", { title: stage.stage }, stageName(stage.stage)),
      h("span", { class: "stage-facts" }, facts(stage).join(" · ")),
      bar(place),
      stage.can_fork ? forkButton(stage, trace, onFork) : null,
    ),
    h("div", { class: "stage-foot" }, recorded(stage), departures(stage.departures ?? {})),
  );
  return item;
}

function facts(stage) {
  const found = [];
  if (typeof stage.duration_ms === "number") found.push(duration(stage.duration_ms));
  const hits = hitsText(stage.hits_in ?? null, stage.hits_out ?? null);
  if (hits) found.push(hits);
  if (stage.progress && stage.progress !== "done") found.push(named("outcome", stage.progress));
  if (stage.attempts > 1) found.push(t("why.attempts", { n: stage.attempts }));
  if (stage.inherited) found.push(t("why.inherited"));
  return found;
}

function hitsText(before, after) {
  if (before !== null && after !== null) return t("why.hits", { before, after });
  if (after !== null) return t("why.hits_out", { after });
  return before === null ? "" : t("why.hits_in", { before });
}

/** Its times are in the text beside it, so the picture says nothing to a screen reader. */
function bar({ from, width }) {
  if (width === null) return h("div", { class: "bar-track", "aria-hidden": "true" });
  const fill = h("span", { class: "bar-fill" });
  // Through the object model: the page's policy refuses style attributes.
  fill.style.marginInlineStart = `${(from * 100).toFixed(2)}%`;
  fill.style.width = `${(width * 100).toFixed(2)}%`;
  return h("div", { class: "bar-track", "aria-hidden": "true" }, fill);
}

function departures(reasons) {
  const entries = Object.entries(reasons);
  if (!entries.length) return null;
  const lines = entries.map(([reason, n]) => t("why.departed", { reason: reasonName(reason), n }));
  return h("ul", { class: "departures" }, ...lines.map((line) => h("li", {}, line)));
}

/** What the stage read, wrote and decided, folded away. */
function recorded({ stage, reads = [], writes = [], output = {} }) {
  const rows = [
    [t("why.reads"), reads.join(", ")],
    [t("why.writes"), writes.join(", ")],
    ...Object.entries(output).map(([name, value]) => [name, plainValue(value)]),
  ].filter(([, value]) => value);
  if (!rows.length) return null;
  return h(
    "details",
    { class: "stage-record" },
    h("summary", {}, t("why.stage_facts"), " ", h("code", {}, stage)),
    h("dl", {}, ...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
  );
}

function forkButton(stage, trace, onFork) {
  const label = t("fork.here_label", { stage: stageName(stage.stage) });
  const button = h("button", { type: "button", class: "quiet fork-here", "aria-label": label, "aria-expanded": "false" }, t("fork.here"));
  let form = null;
  const close = () => {
    form?.element.remove();
    form = null;
    button.setAttribute("aria-expanded", "false");
    button.focus();
  };
  button.addEventListener("click", () => {
    if (form) return close();
    form = new ForkForm({ stage: stage.stage, trace, onFork, onCancel: close });
    button.setAttribute("aria-expanded", "true");
    button.closest(".stage").append(form.element);
    form.focus();
  });
  return button;
}

/** How often the run was interrupted, if it was. */
export function resetsText(events) {
  return events?.resets ? count("why.resets", events.resets) : "";
}
