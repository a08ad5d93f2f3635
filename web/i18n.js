/** The language of the page, and its texts (`texts/`) in that language. */

import { en } from "./texts/en.js";
import { zh } from "./texts/zh.js";

const KEY = "headrace.language";

const TEXTS = { en, zh };

export const LANGUAGES = Object.keys(TEXTS);

/** The language of the page for what a browser prefers: the first one it names that there is. */
export function preferred(languages) {
  for (const tag of languages) {
    const language = tag.toLowerCase().split("-")[0];
    if (TEXTS[language]) return language;
  }
  return "en";
}

let current = "en";
const listeners = new Set();

/** Picks the language: an earlier choice on this browser, or the browser's own. */
export function startLanguage() {
  let stored = null;
  try {
    stored = localStorage.getItem(KEY);
  } catch {
    // Storage can be switched off; the browser's language is then all there is.
  }
  setLanguage(TEXTS[stored] ? stored : preferred(navigator.languages ?? [navigator.language]), false);
}

export function setLanguage(language, remember = true) {
  current = language;
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  for (const element of document.querySelectorAll("[data-i18n]")) {
    element.textContent = t(element.dataset.i18n);
  }
  for (const element of document.querySelectorAll("[data-i18n-label]")) {
    element.setAttribute("aria-label", t(element.dataset.i18nLabel));
    if (element.dataset.i18nTitle !== undefined) element.title = t(element.dataset.i18nLabel);
  }
  for (const element of document.querySelectorAll("[data-i18n-placeholder]")) {
    element.placeholder = t(element.dataset.i18nPlaceholder);
  }
  if (remember) {
    try {
      localStorage.setItem(KEY, language);
    } catch {
      // See above: the choice then lasts until the page is closed.
    }
  }
  for (const listener of listeners) listener(language);
}

export function language() {
  return current;
}

export function onLanguage(listener) {
  listeners.add(listener);
}

// They are not seen, and turn round what stands behind them in a sentence.
const REORDERING = /[\u202A-\u202E\u2066-\u2069]/g;

/** The text of `key` with `{names}` filled in. A key without a text shows itself. */
export function t(key, values = {}, language = current) {
  const text = TEXTS[language][key] ?? TEXTS.en[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => plain(values[name]) ?? whole);
}

const plain = (value) => (typeof value === "string" ? value.replace(REORDERING, "") : value);

/** As `t`, for a number of things: `key.one` where the number is 1. */
export function count(key, n) {
  return t(n === 1 ? `${key}.one` : key, { n });
}

export function has(key) {
  return TEXTS.en[key] !== undefined;
}

export function duration(ms) {
  if (ms < 1000) return t("time.ms", { n: Math.round(ms) });
  return t("time.s", { n: (ms / 1000).toFixed(ms < 10_000 ? 1 : 0) });
}

/** The day of an ISO time, as the language of the page writes it; what is no time stays as it is. */
export function day(time) {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? time : date.toLocaleDateString(current === "zh" ? "zh-CN" : "en");
}

/** The `lang` of a piece of text: which fonts and which voice suit it. */
export function languageOf(text) {
  if (/[\u3040-\u30FF]/.test(text)) return "ja";
  return /\p{Script=Han}/u.test(text) ? "zh-CN" : "en";
}

/** All keys by language, for the test that no text is missing. */
export function keys(language) {
  return Object.keys(TEXTS[language]);
}
