/** The model calls of a run, and the settings it was made with. */

import { h } from "../dom.js";
import { inWords } from "../errors.js";
import { duration, has, languageOf, t } from "../i18n.js";
import { named, plainValue, stageName } from "./words.js";

export function calls(trace) {
  if (!trace.calls?.length) return h("p", { class: "empty" }, t("why.calls_none"));
  return h("ul", { class: "calls" }, ...trace.calls.map(callElement));
}

function callElement(call) {
  const facts = [call.model, ...measures(call)].filter(Boolean);
  return h(
    "li",
    {},
    h("p", { class: "call-head" }, h("strong", {}, `${named("role", call.role)}`), " ", h("span", { class: "facts" }, [stageName(call.stage), ...facts].join(" · "))),
    call.error ? h("p", { class: "error" }, t("why.call_failed", { code: inWords({ code: call.error, message: call.error }) })) : null,
    prompt(call),
  );
}

function measures({ duration_ms: ms, usage }) {
  const found = [];
  if (typeof ms === "number") found.push(duration(ms));
  if (usage?.prompt_tokens !== undefined) {
    found.push(t("why.call_tokens", { prompt: usage.prompt_tokens, completion: usage.completion_tokens ?? 0 }));
  }
  return found;
}

function prompt({ role, messages, exact }) {
  if (messages === undefined) return null; // a search keeps no prompts, so none is missing
  if (!messages?.length) {
    // Rerankers and embedders have texts but no prompt, so nothing of them is missing.
    return role === "chat" || role === "understand" ? h("p", { class: "hint" }, t("why.call_prompt_gone")) : null;
  }
  return h(
    "details",
    { class: "prompt" },
    h("summary", {}, t("why.call_prompt")),
    exact === false ? h("p", { class: "hint" }, t("why.call_inexact")) : null,
    ...messages.map(message),
  );
}

function message({ role, content }) {
  const text = plainValue(content ?? "");
  return h(
    "section",
    { class: "prompt-message" },
    h("h5", {}, named("role", role)),
    h("pre", { tabindex: "0", lang: languageOf(text) }, text),
  );
}

export function settings(trace) {
  const rows = Object.entries(trace.settings ?? {});
  const prompts = Object.entries(trace.prompts ?? {});
  return h(
    "details",
    { class: "settings" },
    h("summary", {}, t("why.settings")),
    h("dl", {}, ...rows.flatMap(([name, value]) => [h("dt", {}, knobName(name)), h("dd", {}, settingText(value))])),
    prompts.length ? h("h5", {}, t("why.prompts")) : null,
    ...prompts.map(([name, text]) => message({ role: name, content: text })),
  );
}

export function knobName(name) {
  return has(`knob.${name}`) ? `${t(`knob.${name}`)} (${name})` : name;
}

export function settingText(value) {
  return value === null || value === undefined ? t("why.settings_default") : plainValue(value);
}
