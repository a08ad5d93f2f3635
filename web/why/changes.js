/** From the fields of the fork's form to the request, and back to what a person reads. Pure. */

/** The stages, in the order of the graph. */
export const ORDER = [
  "load_history",
  "match_ready_answer",
  "answer_from_faq",
  "answer_from_cache",
  "understand_query",
  "choose_kbs",
  "search_chunks",
  "collect_results",
  "rerank",
  "boost_wiki",
  "merge_chunks",
  "filter_top_k",
  "assemble_context",
  "emit_references",
  "generate_answer",
  "fallback",
];

/** Settings that are often tried, and the last stage that reads them: behind it they change nothing. */
export const KNOBS = [
  { name: "embedding_top_k", until: "search_chunks", min: 1, max: 500, step: 1 },
  { name: "rerank_threshold", until: "rerank", min: 0, max: 1, step: "any" },
  { name: "mmr_lambda", until: "rerank", min: 0, max: 1, step: "any" },
  { name: "rerank_top_k", until: "filter_top_k", min: 1, max: 100, step: 1 },
  { name: "temperature", until: "fallback", min: 0, max: 2, step: "any" },
  { name: "chat_model", until: "fallback", text: true },
];

/** Prompts of the library that may be replaced, the last stage that reads each, and what is filled in. */
export const PROMPTS = [
  { name: "rewrite", until: "understand_query", holds: [] },
  { name: "system_prompt", until: "fallback", holds: [] },
  { name: "context_template", until: "fallback", holds: ["contexts", "query", "current_time"] },
  { name: "fallback", until: "fallback", holds: [] },
];

const place = (stage) => ORDER.indexOf(stage);

/** The knobs that a fork from `stage` can still change; all of them for a stage that is not known. */
export function knobsFrom(stage) {
  return KNOBS.filter(({ until }) => place(stage) <= place(until));
}

export function promptsFrom(stage) {
  return PROMPTS.filter(({ until }) => place(stage) <= place(until));
}

/** Whether the question as searched may be given: the stage that writes it must be over. */
export function takesQuestion(stage) {
  return place(stage) > place("understand_query");
}

/** `name=value` lines. A value is JSON where it can be read so, else text. */
export function parseSettings(text) {
  const settings = {};
  const faults = [];
  for (const line of text.split("\n").map((one) => one.trim()).filter(Boolean)) {
    const match = /^([\w.]+)\s*[=＝]\s*(.*)$/u.exec(line);
    if (match) settings[match[1]] = valueOf(match[2]);
    else faults.push(line);
  }
  return { settings, faults };
}

function valueOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * The body of POST /runs/{id}/fork. Fields left empty or as they were are not sent.
 * @param {{knobs: Object<string, string>, more: string, question: string, asked: string,
 *   prompt: string, promptText: string}} fields
 * @returns {{body: object, faults: {code: string, value: string}[]}}
 */
export function forkRequest(stage, fields) {
  const { settings, faults: lines } = parseSettings(fields.more);
  const { chosen, faults: numbers } = knobValues(fields.knobs);
  const faults = [...numbers, ...lines.map((value) => ({ code: "bad_line", value }))];
  if (fields.prompt && !fields.promptText.trim()) faults.push({ code: "prompt_empty", value: fields.prompt });
  const body = { from: stage };
  Object.assign(settings, chosen);
  if (Object.keys(settings).length) body.settings = settings;
  if (fields.prompt) body.prompts = { [fields.prompt]: fields.promptText };
  const question = fields.question.trim();
  if (question && question !== fields.asked) body.state = { rewritten_query: question };
  return { body, faults };
}

function knobValues(knobs) {
  const chosen = {};
  const faults = [];
  for (const [name, given] of Object.entries(knobs)) {
    const text = given.trim();
    if (!text) continue;
    const isText = KNOBS.find((knob) => knob.name === name)?.text;
    const value = isText ? text : Number(text);
    if (isText || Number.isFinite(value)) chosen[name] = value;
    else faults.push({ code: "bad_number", value: name });
  }
  return { chosen, faults };
}
