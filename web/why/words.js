/** Names and numbers of a run's record, in the language of the page; what has no text is shown as it is. */

import { has, t } from "../i18n.js";

export function named(kind, value) {
  return has(`${kind}.${value}`) ? t(`${kind}.${value}`) : String(value ?? "");
}

export const stageName = (stage) => named("stage", stage);
export const reasonName = (reason) => named("left", reason);

/** A score, short: two decimals show the difference that matters, except close to 0. */
export function shortNumber(value) {
  if (typeof value !== "number" || Number.isInteger(value)) return String(value ?? "");
  return Math.abs(value) < 0.1 ? value.toPrecision(2) : value.toFixed(2);
}

/** A value of a setting or a channel: text as text, the rest as JSON. */
export function plainValue(value) {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}

/** The title of the document that a passage is from; a deleted one has none. */
export function titleOf({ document_title: title }) {
  return title || t("why.deleted");
}

/** Where in its document a passage stands. */
export function whereabouts({ section, page }) {
  const found = [];
  if (section) found.push(t("sources.section", { name: section }));
  if (page !== null && page !== undefined) found.push(t("sources.page", { n: page }));
  return found.join(" · ");
}
