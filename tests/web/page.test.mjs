import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { sends } from "../../web/composer.js";
import { keys, LANGUAGES, languageOf, preferred, t } from "../../web/i18n.js";
import { chosenOf } from "../../web/scope.js";

const WEB = new URL("../../web/", import.meta.url);
const SOURCES = readdirSync(WEB, { recursive: true })
  .filter((name) => /\.(js|html)$/.test(name) && !/^(texts|vendor)\b/.test(name))
  .map((name) => readFileSync(new URL(name, WEB), "utf8"))
  .join("\n");

test("every text exists in every language", () => {
  for (const language of LANGUAGES) assert.deepEqual(keys(language).sort(), keys("en").sort(), language);
});

test("every language fills in the same names", () => {
  const names = (text) => [...text.matchAll(/\{\w+\}/g)].map(String).sort();
  for (const key of keys("en")) assert.deepEqual(names(t(key, {}, "zh")), names(t(key, {}, "en")), key);
});

test("every text that is asked for exists, and none is left over", () => {
  const asked = new Set([...SOURCES.matchAll(/"([a-z]+(?:\.[a-z_]+)+)"/g)].map((match) => match[1]));
  const built = /^(status|stage|match|step|answer|time|left|intent|outcome|role|knob|prompt|column|kind|mark|verdict|language|channel|cache|cached|move|choice|fault|strategy|mode|imported)\./; // completed from a value of the server
  const known = new Set(keys("en"));
  const left = [...known].filter((key) => !asked.has(key.replace(/\.one$/, "")) && !built.test(key));
  assert.deepEqual(left, []);
  const sections = new Set([...known].map((key) => key.split(".")[0]));
  const missing = [...asked].filter((key) => sections.has(key.split(".")[0]) && !known.has(key) && !key.endsWith(".js"));
  assert.deepEqual(missing, []);
});

test("the language is the first one the browser names that there is", () => {
  assert.equal(preferred(["zh-TW", "en"]), "zh");
  assert.equal(preferred(["fr-FR", "zh"]), "zh");
  assert.equal(preferred(["de"]), "en");
});

test("a text says which language it is in", () => {
  assert.equal(languageOf("水渠 headrace"), "zh-CN");
  assert.equal(languageOf("headrace"), "en");
  assert.equal(languageOf("導水路のゲート"), "ja");
});

test("Enter sends, but not with Shift and not while an input method composes", () => {
  const press = (more) => ({ key: "Enter", shiftKey: false, isComposing: false, keyCode: 13, ...more });
  assert.ok(sends(press()));
  assert.ok(!sends(press({ shiftKey: true })));
  assert.ok(!sends(press({ isComposing: true })));
  assert.ok(!sends(press({ keyCode: 229 })));
  assert.ok(!sends(press({ key: "a" })));
});

test("the first choice that still exists is ticked, otherwise everything", () => {
  const kbs = [{ id: "a" }, { id: "b" }];
  assert.deepEqual(chosenOf(kbs, null, ["b", "gone"]), ["b"]);
  assert.deepEqual(chosenOf(kbs, ["gone"], []), ["a", "b"]);
});
