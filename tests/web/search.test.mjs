import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Latest } from "../../web/latest.js";
import { emptyWish, fromHash, isSearch, toHash, toRequest } from "../../web/search/address.js";
import { KNOBS, readKnob } from "../../web/search/knobs.js";
import { movesBetween } from "../../web/search/moves.js";
import { inUnits, recordOf } from "../../web/search/record.js";
import { rangesOf, termsOf } from "../../web/search/terms.js";
import { channelsOf, filtered } from "../../web/why/ranking.js";

const WISH = {
  query: "泵 & gate #1?\n100%",
  kbIds: ["kb1", "kb2"],
  tagIds: ["t1"],
  documentIds: ["d1"],
  rerank: false,
  knobs: { fusion: "rrf", vector_threshold: 0, enable_query_expansion: false, mmr_lambda: 0.5 },
};
const LIMITS = /^ {4}(\w+): [^=\n]*= Field\(\s*([^,]+),([^)]*)\)/gm;

test("a link gives back the search it was made of", () => {
  assert.deepEqual(fromHash(toHash(WISH)), WISH);
  assert.deepEqual(fromHash("#/search"), emptyWish());
  assert.equal(toHash(emptyWish()), "#/search");
});

test("what a link says wrongly is left out", () => {
  const wish = fromHash("#/search?q=%E6%B&kb=a&kb=a&rerank=no&vector_threshold=7&fusion=magic&rerank_top_k=2.5&brand_new=1&mmr_lambda=");
  assert.deepEqual(wish.knobs, {});
  assert.deepEqual(wish.kbIds, ["a"]);
  assert.equal(wish.rerank, true);
});

test("only its own addresses are searches", () => {
  assert.ok(isSearch("#/search") && isSearch("#/search?q=x"));
  assert.ok(!isSearch("#/searches") && !isSearch("#/sessions/s1") && !isSearch(""));
});

test("a request holds what was chosen and nothing else", () => {
  assert.deepEqual(toRequest({ ...emptyWish(), query: "x", kbIds: ["a"] }), { query: "x", knowledge_base_ids: ["a"], trace: true });
  assert.deepEqual(toRequest(WISH), {
    query: WISH.query,
    knowledge_base_ids: ["kb1", "kb2"],
    tag_ids: ["t1"],
    knowledge_ids: ["d1"],
    rerank: false,
    settings: WISH.knobs,
    trace: true,
  });
});

test("a field is read as its knob, and an empty one leaves it", () => {
  assert.deepEqual(readKnob("vector_threshold", " 0.50 "), { value: 0.5 });
  assert.deepEqual(readKnob("vector_threshold", ""), {});
  assert.deepEqual(readKnob("enable_query_expansion", "false"), { value: false });
  assert.deepEqual(readKnob("fusion", "coverage"), { value: "coverage" });
  const faults = [["vector_threshold", "x"], ["vector_threshold", "-1"], ["faq_score_boost", "11"], ["rerank_top_k", "1.5"], ["fusion", "x"]];
  assert.deepEqual(faults.map(([name, text]) => readKnob(name, text).fault), ["bad_number", "too_small", "too_large", "bad_number", "bad_choice"]);
});

test("the limits of the knobs are the server's", () => {
  const source = readFileSync(new URL("../../settings.py", import.meta.url), "utf8");
  const fields = Object.fromEntries([...source.matchAll(LIMITS)].map(([, name, , rest]) => [name, rest]));
  for (const { name, choices, min, max } of KNOBS) {
    if (choices) {
      if (!choices.includes(true)) assert.ok(source.includes(`${name}: Literal[${choices.map((one) => `"${one}"`).join(", ")}]`), name);
      continue;
    }
    assert.ok(fields[name].includes(`ge=${min}`), name);
    assert.equal(/le=([\d_]+)/.exec(fields[name])?.[1], max === undefined ? undefined : String(max), name);
  }
});

const kept = (id, place) => ({ chunk_id: id, fate: "returned", ranks: { selected: place } });
const left = (id) => ({ chunk_id: id, fate: "left", ranks: {} });

test("what came, went, rose and fell is told", () => {
  const before = [kept("a", 1), kept("b", 2), kept("c", 3), left("d"), kept("e", 4), left("f")];
  const after = [kept("b", 1), kept("a", 2), kept("c", 3), kept("d", 4), left("f"), left("g"), { ...left("e"), fate: "merged" }];
  const { moves, gone } = movesBetween(before, after);
  assert.deepEqual(Object.fromEntries(moves), {
    b: { kind: "up", by: 1 },
    a: { kind: "down", by: 1 },
    d: { kind: "back" },
    g: { kind: "new" },
    e: { kind: "out" },
  });
  assert.deepEqual(gone, []);
  assert.deepEqual(movesBetween(before, []).gone.map((one) => one.chunk_id), ["a", "b", "c", "e"]);
});

const highlighted = (question, text) => rangesOf(termsOf([question]), text).map(([start, end]) => text.slice(start, end));

test("the words of a question are found in a passage, in both languages", () => {
  assert.deepEqual(highlighted("How often must the seal kits be replaced?", "Replace the Seal kit; replacing is easy."), ["Replace", "Seal", "kit", "replacing"]);
  assert.deepEqual(highlighted("水渠的设计流量是多少？", "设计时水渠流量为 12，渠道不算。"), ["设计", "水渠流量"]);
  assert.deepEqual(highlighted("ＧＢ／Ｔ 5009 是什么", "见 GB/T 5009。"), ["GB", "T", "5009"]);
});

test("parts of words, stop words and empty questions mark nothing", () => {
  assert.deepEqual(highlighted("art", "start party art"), ["art"]);
  assert.deepEqual(highlighted("what is the 的 是 吗", "the is 的 是"), []);
  assert.deepEqual(highlighted("", "text"), []);
  assert.deepEqual(rangesOf(termsOf(["x"]), ""), []);
});

test("places are those of the text as it is", () => {
  const text = "İstanbul 🌊 ＣＡＮＡＬ İ canal";
  assert.deepEqual(highlighted("canal", text), ["ＣＡＮＡＬ", "canal"]);
});

test("ten thousand characters asked of a million take no time worth noticing", () => {
  const question = "水渠设计流量 canal design flow ".repeat(400);
  const begun = performance.now();
  rangesOf(termsOf([question]), "水渠".repeat(250_000) + "canal ".repeat(80_000));
  rangesOf(termsOf(["x".repeat(10_000)]), "x".repeat(1_000_000));
  assert.ok(performance.now() - begun < 5000);
});

test("a record has the end of each passage, departures by stage, and the texts that were returned", () => {
  const record = recordOf({
    knowledge_references: [{ id: "a", content: "whole" }],
    trace: {
      query: "q",
      queries: { en: "q", zh: "问" },
      variants: ["q", "r"],
      stages: [{ stage: "rerank", duration_ms: 1 }, { stage: "merge_chunks", departures: { joined: 2 } }],
      departures: [{ stage: "rerank", reason: "x" }, { stage: "rerank", reason: "x" }, { stage: "other", reason: "y" }],
      candidates: [{ chunk_id: "a", fate: "selected" }, { chunk_id: "b", fate: "left" }],
      cache: null,
    },
  });
  assert.deepEqual(record.candidates.map(({ fate }) => fate), ["returned", "left"]);
  assert.deepEqual(record.stages.map(({ departures }) => departures), [{ x: 2 }, { joined: 2 }]);
  assert.deepEqual([record.queries, record.variants, record.questions], [{ zh: "问" }, ["r"], ["q", "问", "r"]]);
  assert.equal(record.texts.get("a"), "whole");
  assert.deepEqual(recordOf({}).candidates, []);
});

test("places that the server counts in characters are found behind emoji too", () => {
  const text = "🌊🌊 canal 水";
  const [[start, end]] = inUnits(text, [[3, 8]]);
  assert.equal(text.slice(start, end), "canal");
  assert.deepEqual(inUnits("canal", [[0, 5]]), [[0, 5]]);
  assert.deepEqual(inUnits("🌊", [[0, 9]]), []);
  const record = recordOf({ knowledge_references: [{ id: "a", content: text, highlights: [[3, 8]] }, { id: "b", content: "x" }] });
  assert.deepEqual([...record.highlights], [["a", [[5, 10]]]]);
});

test("channels are the places that no stage gives, and one can be looked at alone", () => {
  const candidates = [
    { fate: "returned", ranks: { vector: 1, fused: 1, selected: 1 } },
    { fate: "left", ranks: { keyword: 1, vector: 2, merged: 2, reranked: 1, collected: 3 } },
    { fate: "left" },
  ];
  assert.deepEqual(channelsOf(candidates), ["vector", "keyword"]);
  assert.deepEqual(filtered(candidates, "all", "keyword"), [candidates[1]]);
  assert.deepEqual(filtered(candidates, "kept", "vector"), [candidates[0]]);
});

/** A clock that a test turns, and questions that it answers. */
function asker() {
  const timers = new Map();
  const pending = [];
  const heard = [];
  let count = 0;
  const clock = { set: (work) => (timers.set(++count, work), count), clear: (id) => timers.delete(id) };
  const ask = (wish, signal) => new Promise((answer, refuse) => pending.push({ wish, signal, answer, refuse }));
  const latest = new Latest({ ask, clock, onAnswer: (answer) => heard.push(answer), onError: (error) => heard.push(error.message) });
  const tick = () => {
    const due = [...timers.values()];
    timers.clear();
    for (const work of due) work();
  };
  const settle = () => new Promise(setImmediate);
  return { latest, pending, heard, tick, settle };
}

test("many wishes in a moment are one question", () => {
  const { latest, pending, tick } = asker();
  for (const wish of ["a", "ab", "abc"]) latest.soon(wish);
  assert.equal(pending.length, 0);
  tick();
  assert.deepEqual(pending.map(({ wish }) => wish), ["abc"]);
});

test("an answer or a refusal that comes behind a later question is dropped, even if it was not aborted", async () => {
  const { latest, pending, heard, tick, settle } = asker();
  latest.now("a");
  latest.now("b");
  latest.soon("c");
  tick();
  assert.deepEqual(pending.map(({ signal }) => signal.aborted), [true, true, false]);
  pending[2].answer("C");
  await settle();
  pending[0].answer("A");
  pending[1].refuse(new Error("B"));
  await settle();
  assert.deepEqual(heard, ["C"]);
});

test("nothing is told after a stop, and the refusal of the last question is told", async () => {
  const { latest, pending, heard, tick, settle } = asker();
  latest.now("a");
  latest.soon("b");
  latest.stop();
  tick();
  pending[0].answer("A");
  await settle();
  assert.deepEqual([heard, pending.length], [[], 1]);
  latest.now("c");
  pending[1].refuse(new Error("no"));
  await settle();
  assert.deepEqual(heard, ["no"]);
});
