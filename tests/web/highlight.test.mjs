import assert from "node:assert/strict";
import { test } from "node:test";

import { quotedRange } from "../../web/highlight.js";

const marked = (told, passage) => {
  const range = quotedRange(told, passage);
  return range && passage.slice(...range);
};

test("the last sentence in front of the citation is found, wherever lines break", () => {
  assert.equal(marked("First one. The flow is 12 m³/s.", "x The flow\nis 12 m³/s. y"), "The flow\nis 12 m³/s.");
  assert.equal(marked("先说一句。设计流量为 12 m³/s。", "甲。设计流量为\n12 m³/s。乙"), "设计流量为\n12 m³/s。");
});

test("a row of a table is found", () => {
  assert.equal(marked("| 工龄 | 天数 |\n| 满 10 年 | 12 天 | ", "| 满 10 年 | 12 天 |\n| x |"), "| 满 10 年 | 12 天 |");
});

test("what the passage does not say is not marked, nor is a word or two", () => {
  assert.equal(marked("It is said otherwise.", "The flow is 12."), null);
  assert.equal(marked("flow", "The flow is 12."), null);
  assert.equal(marked("", "The flow is 12."), null);
});

test("signs that mean something to a pattern mean themselves", () => {
  assert.equal(marked("f(x) = [a-b]* + $1?", "so f(x) = [a-b]* + $1? yes"), "f(x) = [a-b]* + $1?");
});
