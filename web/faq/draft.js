/** From the fields of an FAQ entry's form to what is sent, and back. Pure. */

export const STRATEGIES = ["all", "first", "random"];

/**
 * @typedef {object} Fields
 * @property {string} question
 * @property {string} similar one question a line
 * @property {string} negative one question a line
 * @property {string[]} answers
 * @property {"all"|"first"|"random"} strategy
 * @property {string[]} tags names
 * @property {boolean} enabled
 */

/** @returns {Fields} of an entry, or of a new one */
export function fieldsOf(entry = {}) {
  return {
    question: entry.question ?? "",
    similar: (entry.similar_questions ?? []).join("\n"),
    negative: (entry.negative_questions ?? []).join("\n"),
    answers: entry.answers?.length ? [...entry.answers] : [""],
    strategy: entry.answer_strategy ?? "all",
    tags: [...(entry.tags ?? [])],
    enabled: entry.enabled ?? true,
  };
}

/** @param {Fields} fields */
export function entryOf({ question, similar, negative, answers, strategy, tags, enabled }) {
  return {
    question: question.trim(),
    similar_questions: lines(similar),
    negative_questions: lines(negative),
    answers: answers.map((answer) => answer.trim()).filter(Boolean),
    answer_strategy: strategy,
    tags,
    enabled,
  };
}

/** Whether sending the one would say something else than the other. */
export const differs = (a, b) => text(a) !== text(b);

const text = (fields) => {
  const entry = entryOf(fields);
  return JSON.stringify({ ...entry, tags: [...entry.tags].sort() });
};

const lines = (field) =>
  field
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
