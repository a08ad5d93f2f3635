import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { setLanguage } from "../../web/i18n.js";
import { bars } from "../../web/why/bars.js";
import { forkRequest, knobsFrom, ORDER, parseSettings, PROMPTS, promptsFrom, takesQuestion } from "../../web/why/changes.js";
import { changedParts, differs } from "../../web/why/difference.js";
import { ENGLISH, missingText } from "../../web/why/missing.js";
import { fateOf, filtered, sorted, usedColumns, wayOf } from "../../web/why/ranking.js";
import { shortNumber } from "../../web/why/words.js";

const STAGES = ["load_history", "search_chunks", "collect_results", "rerank", "merge_chunks", "filter_top_k", "generate_answer"].map((stage) => ({ stage }));
const CITED = {
  chunk_id: "水",
  document_title: "b",
  fate: "selected",
  alias: "c1",
  cited: true,
  ranks: { vector: 2, fused: 1, collected: 1, selected: 1 },
  scores: { vector: 0.8, rerank: null },
};
const LEFT = {
  chunk_id: "x",
  document_title: "a",
  fate: "left",
  ranks: { fused: 2, collected: 2 },
  scores: { vector: 0.9 },
  left: { stage: "rerank", reason: "below_threshold", score: 0.1, limit: 0.3 },
};
const MERGED = { chunk_id: "y", fate: "merged", merged_into: "水", merged_by: "joined", ranks: { collected: 3 }, scores: {} };
const EMPTY = { knobs: {}, more: "", question: "", asked: "", prompt: "", promptText: "" };

test("only columns that some passage has something in are shown", () => {
  assert.deepEqual(usedColumns([CITED, LEFT]).map(({ name }) => name), ["vector", "fused", "final"]);
  assert.deepEqual(usedColumns([]), []);
});

test("what was merged into another passage counts as left out", () => {
  assert.deepEqual(filtered([CITED, LEFT, MERGED], "kept"), [CITED]);
  assert.deepEqual(filtered([CITED, LEFT, MERGED], "left"), [LEFT, MERGED]);
  assert.equal(filtered([CITED, LEFT, MERGED], "all").length, 3);
});

test("the best score comes first, and passages without one last in both directions", () => {
  assert.deepEqual(sorted([MERGED, CITED, LEFT], "vector"), [LEFT, CITED, MERGED]);
  assert.deepEqual(sorted([MERGED, CITED, LEFT], "vector", true), [CITED, LEFT, MERGED]);
});

test("a column without scores sorts by place", () => {
  assert.deepEqual(sorted([LEFT, CITED], "fused"), [CITED, LEFT]);
});

test("the order of the record is one of the orders, and sorting changes no list", () => {
  const given = [LEFT, CITED];
  assert.equal(sorted(given, "given"), given);
  assert.deepEqual(sorted(given, "given", true), [CITED, LEFT]);
  assert.deepEqual(given, [LEFT, CITED]);
  assert.deepEqual(sorted([CITED, LEFT], "passage"), [LEFT, CITED]);
});

test("the way of a passage ends where it left", () => {
  const way = wayOf(LEFT, STAGES);
  assert.deepEqual(way.map(({ stage, end }) => [stage, end]), [["search_chunks", "on"], ["collect_results", "on"], ["rerank", "left"]]);
  assert.deepEqual(way[0], { stage: "search_chunks", ranks: { fused: 2 }, scores: { vector: 0.9 }, end: "on" });
});

test("the way of a cited passage ends in the answer", () => {
  const way = wayOf(CITED, STAGES);
  assert.deepEqual(way.map(({ stage, end }) => [stage, end]), [["search_chunks", "on"], ["collect_results", "on"], ["filter_top_k", "on"], ["generate_answer", "cited"]]);
});

test("a merged passage goes out where it got no place any more", () => {
  assert.deepEqual(wayOf(MERGED, STAGES).map(({ stage, end }) => [stage, end]), [["collect_results", "on"], ["merge_chunks", "merged"]]);
  assert.equal(wayOf({ ...MERGED, ranks: { fused: 3 } }, STAGES).at(-1).stage, "collect_results");
});

test("a passage that left at a stage which is not known still ends there", () => {
  const stages = [...STAGES, { stage: "new_stage" }];
  const left = { ...LEFT, left: { stage: "new_stage", reason: "r" } };
  assert.equal(wayOf(left, stages).at(-1).stage, "new_stage");
});

test("what became of a passage", () => {
  assert.deepEqual([CITED, LEFT, MERGED].map(fateOf), ["cited", "left", "merged"]);
  assert.equal(fateOf({ ...CITED, cited: false }), "used");
  assert.equal(fateOf({ ...CITED, cited: false, alias: null }), "pending");
  assert.equal(fateOf({ fate: "pending" }), "pending");
});

test("bars follow one another; a stage without a time has none", () => {
  assert.deepEqual(bars([{ duration_ms: 1 }, { duration_ms: null }, { duration_ms: 3 }]), [
    { from: 0, width: 0.25 },
    { from: 0.25, width: null },
    { from: 0.25, width: 0.75 },
  ]);
  assert.deepEqual(bars([{ duration_ms: null }, { duration_ms: 0 }]), [{ from: 0, width: null }, { from: 0, width: 0 }]);
});

test("settings are read line by line; what is no setting is told", () => {
  const { settings, faults } = parseSettings("seed=7\n enable_rewrite = false\nfallback_response＝没有\n\nmmr_lambda=null\nnonsense");
  assert.deepEqual(settings, { seed: 7, enable_rewrite: false, fallback_response: "没有", mmr_lambda: null });
  assert.deepEqual(faults, ["nonsense"]);
});

test("a fork sends only what was changed", () => {
  assert.deepEqual(forkRequest("rerank", EMPTY).body, { from: "rerank" });
  const fields = { ...EMPTY, knobs: { rerank_threshold: "0.1", temperature: " ", chat_model: "7" }, question: " 问 ", asked: "问", more: "seed=7" };
  assert.deepEqual(forkRequest("rerank", fields).body, { from: "rerank", settings: { seed: 7, rerank_threshold: 0.1, chat_model: "7" } });
  assert.deepEqual(forkRequest("rerank", { ...EMPTY, question: "新", asked: "问" }).body.state, { rewritten_query: "新" });
});

test("what cannot be sent is told, all of it", () => {
  const fields = { ...EMPTY, knobs: { temperature: "?" }, more: "x", prompt: "rewrite", promptText: " " };
  assert.deepEqual(forkRequest("rerank", fields).faults.map(({ code }) => code), ["bad_number", "bad_line", "prompt_empty"]);
});

test("a fork offers what its stages still read", () => {
  assert.deepEqual(knobsFrom("filter_top_k").map(({ name }) => name), ["rerank_top_k", "temperature", "chat_model"]);
  assert.equal(knobsFrom("load_history").length, 6);
  assert.equal(knobsFrom("a_new_stage").length, 6);
  assert.ok(!promptsFrom("rerank").some(({ name }) => name === "rewrite"));
  assert.ok(takesQuestion("rerank") && !takesQuestion("understand_query"));
});

test("every prompt on offer may be replaced, and holds what the form says", () => {
  for (const { name, holds } of PROMPTS) {
    const yaml = readFileSync(new URL(`../../prompts/${name}.yaml`, import.meta.url), "utf8");
    assert.ok(!yaml.includes("editable: false"), name);
    for (const place of holds) assert.ok(yaml.includes(`{${place}}`), `${name} ${place}`);
  }
});

test("a stage that only took another time does not differ", () => {
  const same = { in: "both", duration_ms: [1, 2], hits_out: [3, 3], changed: {}, entered: [], left: [], moved: [] };
  assert.ok(!differs(same));
  assert.ok(differs({ ...same, hits_out: [3, 4] }));
  assert.ok(differs({ ...same, in: "second" }));
  assert.ok(differs({ ...same, changed: { intent: ["a", "b"] } }));
});

test("the stages are those of the graph, but for the last one, which reads no setting and no prompt", () => {
  const source = readFileSync(new URL("../../graph/tracing/stages.py", import.meta.url), "utf8");
  const stages = [...source.matchAll(/^ {4}"(\w+)": Part\(/gm)].map(([, name]) => name);
  assert.deepEqual([...ORDER, "finalize"], stages);
});

test("what is no longer kept is told in Chinese where the server's sentence is known", () => {
  globalThis.document = { documentElement: {}, querySelectorAll: () => [] };
  const told = "The texts of 3 selected passages are gone: prompts stand without them.";
  assert.equal(missingText(told), told);
  setLanguage("zh", false);
  assert.match(missingText(told), /有 3 个选中段落/);
  assert.equal(missingText("Something new."), "Something new.");
  setLanguage("en", false);
  const source = readFileSync(new URL("../../graph/tracing/trace.py", import.meta.url), "utf8").replace(/\{len\(\w+\)\}/g, "{n}");
  assert.deepEqual(ENGLISH.filter((sentence) => !source.includes(sentence)), []);
});

test("of an object only the fields that differ are told", () => {
  const budget = [{ kept: 10, dropped: 0, time: "a" }, { kept: 1, dropped: 0, new: [1] }];
  assert.deepEqual(changedParts({ budget, intent: [null, "x"] }), [
    ["budget.kept", 10, 1],
    ["budget.time", "a", undefined],
    ["budget.new", undefined, [1]],
    ["intent", null, "x"],
  ]);
});

test("scores are short, and small ones keep their digits", () => {
  assert.deepEqual([0.714, 0.01234, 12, 7.256, null].map(shortNumber), ["0.71", "0.012", "12", "7.26", ""]);
});
