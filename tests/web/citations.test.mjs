import assert from "node:assert/strict";
import { test } from "node:test";

import { extractCitations, orderReferences, plainText, referenceOf, splitPlaceholders } from "../../web/citations.js";

const tag = (chunk, doc = "Manual", more = "") =>
  `<kb doc="${doc}" knowledge_id="d1" chunk_id="${chunk}"${more}/>`;

test("the same passage has the same number, in order of first mention", () => {
  const { citations } = extractCitations(`x${tag("b")}y${tag("a")}z${tag("b")}`);
  assert.deepEqual(citations.map(({ chunkId, number }) => [chunkId, number]), [["b", 1], ["a", 2], ["b", 1]]);
});

test("attributes are read back as they were written", () => {
  const doc = "a|b &amp; &quot;c&quot; &lt;d&gt; &apos;e&apos; &#27700;&#x6e20;";
  const [citation] = extractCitations(tag("c", doc, ' page="3"')).citations;
  assert.equal(citation.title, `a|b & "c" <d> 'e' 水渠`);
  assert.equal(citation.page, "3");
});

test("a title with an unescaped bracket does not end the tag", () => {
  const { text, citations } = extractCitations(tag("c", "1 > 0"));
  assert.equal(citations[0].title, "1 > 0");
  assert.deepEqual(splitPlaceholders(text), [0]);
});

test("no part of a tag is shown while it arrives", () => {
  const whole = `水${tag("c", "1 > 0", ' page="3"')}`;
  for (let end = 1; end < whole.length; end += 1) {
    const { text, citations } = extractCitations(whole.slice(0, end), { complete: false });
    assert.deepEqual([text, citations.length], ["水", 0], whole.slice(0, end));
  }
});

test("a lesser-than sign that begins no tag stays", () => {
  const { text } = extractCitations("a < b, <kbd>x</kbd>", { complete: false });
  assert.equal(text, "a < b, <kbd>x</kbd>");
});

test("half a tag at the very end is plain text once nothing follows", () => {
  assert.equal(extractCitations("x <kb", { complete: true }).text, "x <kb");
});

test("marks in the answer itself cannot stand for a citation", () => {
  const { text } = extractCitations("\u00020\u0003 text");
  assert.deepEqual(splitPlaceholders(text), ["0 text"]);
});

test("web tags are citations too", () => {
  const [citation] = extractCitations('<web url="https://e.org/?a=1&amp;b=2" title="T"/>').citations;
  assert.deepEqual([citation.kind, citation.url, citation.title], ["web", "https://e.org/?a=1&b=2", "T"]);
});

test("the clipboard gets no tags", () => {
  assert.equal(plainText(`甲${tag("c")}乙`), "甲乙");
});

test("a citation finds its reference by chunk, or the passage its chunk was joined into", () => {
  const references = [{ id: "p", sub_chunk_ids: ["s"] }, { id: "c" }];
  assert.equal(referenceOf({ chunkId: "c" }, references).id, "c");
  assert.equal(referenceOf({ chunkId: "s" }, references).id, "p");
  assert.equal(referenceOf({ chunkId: "unknown" }, references), null);
});

test("cited references come first by number, then the others as they were", () => {
  const references = [{ id: "x" }, { id: "b" }, { id: "a" }];
  const { citations } = extractCitations(tag("a") + tag("b"));
  const ordered = orderReferences(references, citations).map(({ reference, number }) => [reference.id, number]);
  assert.deepEqual(ordered, [["a", 1], ["b", 2], ["x", null]]);
});

test("ten thousand brackets take no time worth noticing", () => {
  const began = performance.now();
  extractCitations("<kb ".repeat(10_000), { complete: false });
  assert.ok(performance.now() - began < 2000);
});
