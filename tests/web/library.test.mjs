import assert from "node:assert/strict";
import { test } from "node:test";

import { differs, entryOf, fieldsOf } from "../../web/faq/draft.js";
import { marked } from "../../web/highlight.js";
import { t } from "../../web/i18n.js";
import { tagKey } from "../../web/kb/tag-picker.js";
import { pagesOf } from "../../web/pager.js";

const ENTRY = {
  question: "如何请假？",
  similar_questions: ["怎么休假", "leave?"],
  negative_questions: ["辞职"],
  answers: ["在系统中\n申请。", "Ask."],
  answer_strategy: "first",
  tags: ["人事"],
  enabled: false,
};

test("an entry comes out of its fields as it went in", () => {
  assert.deepEqual(entryOf(fieldsOf(ENTRY)), ENTRY);
});

test("empty lines, empty answers and spaces around are left out; line breaks in an answer stay", () => {
  const fields = { ...fieldsOf(), question: " q ", similar: "\n a \n\n b\n", answers: [" ", " x\ny ", ""] };
  const { question, similar_questions, answers, answer_strategy, enabled } = entryOf(fields);
  assert.deepEqual([question, similar_questions, answers, answer_strategy, enabled], ["q", ["a", "b"], ["x\ny"], "all", true]);
  assert.deepEqual(fieldsOf().answers, [""]);
});

test("fields differ when something else would be sent", () => {
  const fields = fieldsOf(ENTRY);
  assert.ok(!differs(fields, { ...fields, similar: `${fields.similar}\n`, answers: [...fields.answers, ""] }));
  assert.ok(!differs({ ...fields, tags: ["a", "b"] }, { ...fields, tags: ["b", "a"] }));
  assert.ok(differs(fields, { ...fields, enabled: true }));
  assert.ok(differs(fields, { ...fields, answers: [...fields.answers].reverse() }));
});

test("tags are the same in any width and case", () => {
  assert.equal(tagKey("ＨＲ 人事"), tagKey("hr 人事"));
});

test("a list has as many pages as it fills, and at least one", () => {
  assert.deepEqual([0, 1, 20, 21].map((total) => pagesOf(total, 20)), [1, 1, 1, 2]);
});

test("hidden characters that turn text round do not get into sentences", () => {
  assert.equal(t("tags.delete", { name: "a\u202eb\u2066c" }), "Delete the tag “abc”");
});

test("a text without places to mark stays one piece", () => {
  assert.deepEqual(marked("abc", []), ["abc"]);
  assert.deepEqual(marked("", []), []);
});
