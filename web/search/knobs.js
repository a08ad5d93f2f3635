/** The knobs of a search, and what a field for one may hold. Pure. */

const SWITCH = [true, false];

/** In the order of the stages that read them. The limits are the server's (`settings.py`, `Knobs`). */
export const KNOBS = [
  { name: "fusion", choices: ["auto", "coverage", "rrf"] },
  { name: "vector_threshold", min: 0, max: 1, step: 0.01, slides: true },
  { name: "keyword_threshold", min: 0, step: 0.1 },
  { name: "embedding_top_k", min: 1, max: 500, step: 1 },
  { name: "enable_query_expansion", choices: SWITCH },
  { name: "faq_search_answers", choices: SWITCH },
  { name: "rerank_threshold", min: 0, max: 1, step: 0.01, slides: true },
  { name: "faq_priority_enabled", choices: SWITCH },
  { name: "faq_score_boost", min: 1, max: 10, step: 0.1 },
  { name: "mmr_lambda", min: 0, max: 1, step: 0.05 },
  { name: "rerank_top_k", min: 1, max: 100, step: 1 },
];

/**
 * What a field says: nothing for an empty one, which leaves the knob as it is set.
 * @returns {{value?: number|string|boolean, fault?: "bad_number"|"too_small"|"too_large"|"bad_choice"}}
 */
export function readKnob(name, text) {
  const { choices, ...range } = KNOBS.find((knob) => knob.name === name);
  const given = text.trim();
  if (!given) return {};
  if (!choices) return readNumber(given, range);
  const value = choices.find((choice) => String(choice) === given);
  return value === undefined ? { fault: "bad_choice" } : { value };
}

function readNumber(text, { min = -Infinity, max = Infinity, step }) {
  const value = Number(text);
  if (!Number.isFinite(value) || (step === 1 && !Number.isInteger(value))) return { fault: "bad_number" };
  if (value < min) return { fault: "too_small" };
  if (value > max) return { fault: "too_large" };
  return { value };
}
