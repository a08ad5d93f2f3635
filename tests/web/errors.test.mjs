import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { afterEach, test } from "node:test";

globalThis.document = { documentElement: {}, querySelectorAll: () => [] };
const { CODES, inWords, reasonInWords, SENTENCES } = await import("../../web/errors.js");
const { setLanguage } = await import("../../web/i18n.js");

const ROOT = new URL("../../", import.meta.url);
const PLACES = ["", "api/", "checkpoints/", "ingest/", "ingest/parse/", "models/", "nodes/", "nodes/answering/", "nodes/searching/", "prompts/", "stores/", "text/"];
const TAKEN = { code: "kb_name_taken", message: "There is already a knowledge base named '手册'." };

afterEach(() => setLanguage("en", false));

test("a Chinese page tells a refusal in Chinese, an English one in the server's words", () => {
  assert.equal(inWords(TAKEN), TAKEN.message);
  setLanguage("zh", false);
  assert.match(inWords(TAKEN), /同名/);
});

test("a refusal that the page has no text for is told in the server's words", () => {
  setLanguage("zh", false);
  assert.equal(inWords({ code: "brand_new", message: "rerank_top_k: too small" }), "rerank_top_k: too small");
});

test("details are filled in", () => {
  setLanguage("zh", false);
  const told = inWords({ code: "unsupported_format", message: "", details: { supported: ["txt", "md"] } });
  assert.match(told, /txt、md/);
});

test("the server's words are quoted where they name what is wrong, and stages go by their names", () => {
  setLanguage("zh", false);
  assert.equal(inWords({ code: "bad_setting", message: "rerank_top_k: too small" }), "这项设置不可用：rerank_top_k: too small");
  const told = inWords({ code: "stage_not_reached", message: "", details: { reached: ["rerank", "other"] } });
  assert.match(told, /重排、other/);
});

test("why a document failed is told in the language of the page, with what is still searched", () => {
  const told = "no text found in this file. The version before it is still searched.";
  assert.equal(reasonInWords(told), told);
  setLanguage("zh", false);
  assert.equal(reasonInWords("no text found in this file"), "文件中没有文字。");
  assert.equal(reasonInWords(told), "文件中没有文字。检索用的仍是上一个版本。");
  assert.equal(reasonInWords("something new"), "something new");
});

test("every code and sentence with a text is one that the server says", () => {
  const sources = PLACES.flatMap((place) =>
    readdirSync(new URL(place || ".", ROOT))
      .filter((name) => name.endsWith(".py"))
      .map((name) => readFileSync(new URL(place + name, ROOT), "utf8")),
  ).join("\n");
  assert.deepEqual(CODES.filter((code) => !sources.includes(`"${code}"`)), []);
  assert.deepEqual(SENTENCES.filter((sentence) => !sources.includes(sentence)), []);
});
