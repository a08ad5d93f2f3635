import assert from "node:assert/strict";
import { test } from "node:test";

import { markdownToHtml } from "../../web/markdown.js";

test("HTML in an answer is text", () => {
  assert.match(markdownToHtml("<img src=x onerror=alert(1)>"), /&lt;img/);
});

test("a picture becomes a link, so nothing is fetched", () => {
  const html = markdownToHtml("![the map](https://example.org/map.png)");
  assert.match(html, /<a href="https:\/\/example.org\/map.png">the map<\/a>/);
  assert.doesNotMatch(html, /<img/);
});

test("a link that runs a script is not a link", () => {
  assert.doesNotMatch(markdownToHtml("[x](javascript:alert(1))"), /href/);
});

test("emphasis beside Chinese punctuation is emphasis", () => {
  assert.match(markdownToHtml("**注意：**请关闭阀门"), /<strong>注意：<\/strong>请/);
  assert.match(markdownToHtml("水位**“过高”**时"), /<strong>“过高”<\/strong>/);
});

test("emphasis in front of a citation is emphasis", () => {
  assert.match(markdownToHtml("**Note.**\u00020\u0003"), /<strong>Note\.<\/strong>/);
});

test("asterisks that multiply stay asterisks", () => {
  assert.match(markdownToHtml("2 * 3 * 4"), /2 \* 3 \* 4/);
});

test("the alignment of a table is a class, since the page allows no style attribute", () => {
  const html = markdownToHtml("|a|b|\n|:-|-:|\n|1|2|");
  assert.match(html, /<td class="align-right">2/);
  assert.doesNotMatch(html, /style=/);
});

test("a citation behind a bare address does not become part of it", () => {
  assert.match(markdownToHtml("https://example.org/a\u00020\u0003"), /example.org\/a<\/a>\u00020\u0003/);
});
