import assert from "node:assert/strict";
import { test } from "node:test";

import { answerText, emptyView, fact, reduce, thinkingText, viewOfMessage } from "../../web/stream.js";

let seq = 0;
const a = (response_type, more = {}) => ({ seq: (seq += 1), response_type, content: "", data: {}, ...more });
const piece = (text, segment = 1, kind = "answer") => a(kind, { content: text, data: { segment } });
const viewOf = (...events) => events.reduce(reduce, emptyView());

test("answer pieces are joined in order of arrival", () => {
  const view = viewOf(piece("水渠"), piece(" carries"), piece(" water"));
  assert.equal(answerText(view), "水渠 carries water");
});

test("an event seen twice changes nothing", () => {
  const events = [piece("a"), piece("b")];
  const once = events.reduce(reduce, emptyView());
  assert.equal(events.reduce(reduce, once), once);
});

test("reset drops the segments it names and no others", () => {
  const view = viewOf(
    piece("kept ", 1),
    piece("void", 2),
    piece("thought", 3, "thinking"),
    a("reset", { data: { segments: [2] } }),
    piece("again", 4),
  );
  assert.equal(answerText(view), "kept again");
  assert.equal(thinkingText(view), "thought");
});

test("the last references count", () => {
  const view = viewOf(
    a("references", { knowledge_references: [{ id: "old" }] }),
    a("references", { knowledge_references: [{ id: "new" }] }),
  );
  assert.deepEqual(view.references, [{ id: "new" }]);
});

test("a step is running until its result comes and tells facts from either place", () => {
  const call = a("tool_call", { data: { tool_call_id: "1", tool_name: "knowledge_search" } });
  const result = a("tool_result", { data: { tool_call_id: "1", result: { hits: 7 }, duration_ms: 12 } });
  assert.equal(viewOf(call).steps[0].state, "running");
  const [step] = viewOf(call, result).steps;
  assert.equal(step.state, "done");
  assert.equal(fact(step, "hits"), 7);
  assert.equal(fact(step, "duration_ms"), 12);
});

test("an interrupted call and a call without a result are shown as interrupted", () => {
  const call = (id) => a("tool_call", { data: { tool_call_id: id, tool_name: "x" } });
  const view = viewOf(
    call("1"),
    call("2"),
    a("tool_result", { data: { tool_call_id: "1", interrupted: true } }),
    a("stop", { done: true }),
  );
  assert.deepEqual(view.steps.map(({ state }) => state), ["interrupted", "interrupted"]);
  assert.equal(view.status, "stopped");
});

test("the ends of a run", () => {
  const done = a("complete", { data: { outcome: "declined", timing: { total_ms: 5 }, model: "m" } });
  const complete = viewOf(done);
  assert.deepEqual(
    [complete.status, complete.outcome, complete.timing.total_ms, complete.model],
    ["complete", "declined", 5, "m"],
  );
  const failed = viewOf(a("error", { content: "The model is down.", data: { code: "dependency_failed" } }));
  assert.deepEqual([failed.status, failed.error.text], ["failed", "The model is down."]);
});

test("a title and suggestions may follow the end", () => {
  const view = viewOf(
    a("complete"),
    a("session_title", { content: "标题" }),
    a("suggested_questions", { data: { questions: ["b?"] } }),
  );
  assert.deepEqual([view.status, view.title, view.suggestions], ["complete", "标题", ["b?"]]);
});

test("an event of an unknown kind only moves the number", () => {
  const one = a("something_new");
  assert.equal(viewOf(one).seq, one.seq);
});

test("the first event names the answer", () => {
  assert.equal(viewOf(a("agent_query", { assistant_message_id: "m1" })).messageId, "m1");
});

test("a stored message is shown as it ended, a running one from its events", () => {
  const stored = viewOfMessage({ id: "m", status: "stopped", content: "half", knowledge_references: null });
  assert.deepEqual([stored.status, answerText(stored), stored.references], ["stopped", "half", []]);
  const running = viewOfMessage({ id: "m", status: "running", content: "half" });
  assert.deepEqual([running.status, answerText(running), running.seq], ["running", "", 0]);
  const failed = viewOfMessage({ id: "m", status: "failed", content: "", error: { code: "c", message: "why" } });
  assert.equal(failed.error.text, "why");
});
