/** What differs between two runs, stage by stage. */

import { h } from "../dom.js";
import { duration, languageOf, t } from "../i18n.js";
import { knobName, settingText } from "./calls.js";
import { missingText } from "./missing.js";
import { plainValue, reasonName, stageName, titleOf, whereabouts } from "./words.js";

export function difference(diff) {
  const differing = diff.stages.filter(differs);
  const equal = diff.stages.filter((stage) => !differs(stage)).map(({ stage }) => stageName(stage));
  return h(
    "div",
    { class: "difference" },
    ...[...new Set((diff.missing ?? []).flat())].map((text) => h("p", { class: "note" }, missingText(text))),
    diff.same_answer ? h("p", { class: "note same" }, t("diff.same")) : null,
    h("section", {}, h("h3", {}, t("diff.changed")), changed({ ...diff.settings, ...diff.prompts })),
    h(
      "section",
      {},
      h("h3", {}, t("diff.stages")),
      differing.length ? h("ol", { class: "stages" }, ...differing.map(stageElement)) : null,
      equal.length ? h("p", { class: "hint" }, t("diff.equal", { stages: equal.join(" · ") })) : null,
    ),
  );
}

/** Whether anything but the time is different. */
export function differs({ in: where, entered = [], left = [], moved = [], changed = {}, hits_out: hits }) {
  if (where !== "both" || entered.length || left.length || moved.length) return true;
  return Object.keys(changed).length > 0 || (hits ?? [])[0] !== (hits ?? [])[1];
}

function changed(names) {
  const rows = Object.entries(names);
  if (!rows.length) return h("p", { class: "empty" }, t("diff.nothing"));
  const heads = [t("diff.name"), t("fork.original"), t("fork.fork")];
  return h(
    "div",
    { class: "table-frame" },
    h(
      "table",
      { class: "changes" },
      h("thead", {}, h("tr", {}, ...heads.map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, ...rows.map(([name, values]) => changeRow(knobName(name), values))),
    ),
  );
}

function changeRow(name, [before, after]) {
  return h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, settingText(before)), h("td", {}, settingText(after)));
}

function stageElement(stage) {
  const names = changedParts(stage.changed ?? {});
  return h(
    "li",
    { class: "stage", data: { stage: stage.stage } },
    h("div", { class: "stage-head" }, h("h4", { title: stage.stage }, stageName(stage.stage)), h("span", { class: "stage-facts" }, facts(stage).join(" · "))),
    names.length
      ? h("dl", {}, ...names.flatMap(([name, before, after]) => [h("dt", {}, name), h("dd", {}, `${told(before)} → ${told(after)}`)]))
      : null,
    list("entered", t("diff.entered"), stage.entered, (one) => [passage(one), ...placed(one), ...why(one, "diff.before")]),
    list("left", t("diff.left"), stage.left, (one) => [passage(one), ...placed(one), ...why(one, "diff.why")]),
    list("moved", t("diff.moved"), stage.moved, (one) => [
      passage(one),
      " ",
      h("span", { class: "facts", "aria-label": t("diff.moved_label", { from: one.from, to: one.to }) }, `#${one.from} → #${one.to}`),
    ]),
  );
}

/** Name, value before and after; of objects only the fields that differ. */
export function changedParts(channels) {
  return Object.entries(channels).flatMap(([channel, [before, after]]) => {
    if (!isObject(before) || !isObject(after)) return [[channel, before, after]];
    const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return fields
      .filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
      .map((field) => [`${channel}.${field}`, before[field], after[field]]);
  });
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function told(value) {
  return value === null || value === undefined ? "–" : plainValue(value);
}

function facts({ in: where, duration_ms: times = [], hits_out: hits = [] }) {
  const found = [];
  if (where === "first") found.push(t("diff.first_only"));
  if (where === "second") found.push(t("diff.second_only"));
  if (isPair(times)) found.push(t("diff.time", { before: duration(times[0]), after: duration(times[1]) }));
  if (isPair(hits)) found.push(t("diff.hits", { before: hits[0], after: hits[1] }));
  return found;
}

function isPair(values) {
  return values.length === 2 && values.every((value) => typeof value === "number");
}

const SHOWN = 8; // passages of one list; the others are folded away

function list(kind, title, items = [], content) {
  if (!items.length) return null;
  const entries = items.map((one) => h("li", {}, ...content(one)));
  // One more line says that there is one more line: then it may as well be the line itself.
  const shown = entries.length > SHOWN + 1 ? SHOWN : entries.length;
  const rest = entries.slice(shown);
  return h(
    "div",
    { class: "hit-changes", data: { kind } },
    h("h5", {}, title),
    h("ul", {}, ...entries.slice(0, shown)),
    rest.length ? h("details", {}, h("summary", {}, t("diff.more", { n: rest.length })), h("ul", {}, ...rest)) : null,
  );
}

function placed({ place }) {
  return typeof place === "number" ? [" ", h("span", { class: "facts" }, t("why.place", { n: place }))] : [];
}

/** Why one of the two runs does not have it there. */
function why({ reason }, key) {
  return reason ? [" ", h("span", { class: "facts", title: reason }, t(key, { reason: reasonName(reason) }))] : [];
}

function passage(one) {
  const title = titleOf(one);
  const where = whereabouts(one);
  return h("span", { lang: languageOf(title), title: one.snippet || null }, where ? `${title} (${where})` : title);
}
