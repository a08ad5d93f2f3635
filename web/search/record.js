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
  };
}

/** How many left a stage, by reason. */
function reasonsAt(stage, departures) {
  const reasons = {};
  for (const left of departures) if (left.stage === stage) reasons[left.reason] = (reasons[left.reason] ?? 0) + 1;
  return reasons;
}
