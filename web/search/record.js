/** The answer of a search, as the views of a run's record read it. Pure. */

/** @param {{knowledge_references: object[], trace: object}} answer of POST /search with `trace` */
export function recordOf({ knowledge_references: references = [], trace = {} }) {
  const { candidates = [], stages = [], departures = [], queries = {}, variants = [], channels = {}, cache = {} } = trace;
  const others = Object.entries(queries).filter(([, text]) => text && text !== trace.query);
  return {
    // No answer was written from them: what was selected was returned, and that is its end.
    candidates: candidates.map((one) => (one.fate === "selected" ? { ...one, fate: "returned" } : one)),
    stages: stages.map((stage) => ({ ...stage, departures: stage.departures ?? reasonsAt(stage.stage, departures) })),
    warnings: trace.warnings ?? [],
    verdict: trace.rerank_verdict ?? null,
    calls: trace.calls ?? [],
    settings: trace.settings ?? {},
    queries: Object.fromEntries(others),
    variants: variants.filter((text) => text && text !== trace.query),
    channels,
    cache: cache ?? {},
    questions: [...new Set([trace.query ?? "", ...Object.values(queries), ...variants])],
    texts: new Map(references.map(({ id, content }) => [id, content ?? ""])),
    // The places the server names are those of its own words, and so better than what is guessed here.
    highlights: new Map(references.filter((one) => one.highlights).map(({ id, content, highlights }) => [id, inUnits(content ?? "", highlights)])),
  };
}

/** The server counts characters, a text here is counted in units of UTF-16: an emoji has two. */
export function inUnits(text, ranges) {
  if (!/[\uD800-\uDBFF]/.test(text)) return ranges;
  const at = [0];
  for (const character of text) at.push(at.at(-1) + character.length);
  return ranges.filter(([, end]) => end < at.length).map(([start, end]) => [at[start], at[end]]);
}

/** How many left a stage, by reason. */
function reasonsAt(stage, departures) {
  const reasons = {};
  for (const left of departures) if (left.stage === stage) reasons[left.reason] = (reasons[left.reason] ?? 0) + 1;
  return reasons;
}
