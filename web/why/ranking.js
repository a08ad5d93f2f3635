/** Which passages of a record are shown, in which order, and the way each took. Pure. */

/** Columns of numbers: where the score and the place stand in a candidate. */
export const COLUMNS = [
  { name: "vector", score: "vector", rank: "vector" },
  { name: "keyword", score: "keyword", rank: "keyword" },
  { name: "coverage", score: "coverage", rank: null },
  { name: "fused", score: "fused", rank: "fused" },
  { name: "rerank", score: "rerank", rank: "reranked" },
  { name: "composite", score: "composite", rank: null },
  { name: "mmr", score: "mmr", rank: null },
  { name: "final", score: "final", rank: "selected" },
];

// What each stage says about a passage, in the order of the stages. `emit_references` and others say nothing.
const STAGES = {
  search_chunks: { ranks: ["vector", "keyword", "fused"], scores: ["vector", "keyword", "coverage", "fused"] },
  collect_results: { ranks: ["collected"], scores: [] },
  rerank: { ranks: ["reranked"], scores: ["rerank", "composite", "mmr"] },
  merge_chunks: { ranks: ["merged"], scores: [] },
  filter_top_k: { ranks: ["selected"], scores: ["final"] },
  assemble_context: { ranks: [], scores: [] },
  generate_answer: { ranks: [], scores: [] },
};

const STAGE_PLACES = new Set(["fused", "collected", "reranked", "merged", "boosted", "selected"]);

/** The columns in which some candidate has something. */
export function usedColumns(candidates) {
  return COLUMNS.filter(({ score, rank }) =>
    candidates.some((one) => isNumber(one.scores?.[score]) || isNumber(one.ranks?.[rank])),
  );
}

/** @param {"all"|"kept"|"left"} which */
export function filtered(candidates, which, channel = null) {
  const found = channel ? candidates.filter((one) => isNumber(one.ranks?.[channel])) : candidates;
  if (which === "all") return found;
  return found.filter((one) => ["left", "merged"].includes(one.fate) === (which === "left"));
}

/** The channels that found something: every rank that is no place in the list of a stage. */
export function channelsOf(candidates) {
  const names = new Set(candidates.flatMap(({ ranks }) => Object.keys(ranks ?? {})));
  return [...names].filter((name) => !STAGE_PLACES.has(name));
}

/**
 * By a column's score, or its place where it has no score; passages without either come last.
 * `column` "given" keeps the order of the record; `up` turns the order round.
 */
export function sorted(candidates, column, up = false) {
  if (column === "given") return up ? candidates.toReversed() : candidates;
  const valueOf = sortValue(column);
  return candidates.toSorted((a, b) => {
    const [left, right] = [valueOf(a), valueOf(b)];
    if (left === null || right === null) return (left === null) - (right === null);
    const order = typeof left === "string" ? left.localeCompare(right) : right - left;
    return up ? -order : order;
  });
}

function sortValue(column) {
  if (column === "passage") return ({ document_title: title, chunk_id: id }) => title || id;
  const { score, rank } = COLUMNS.find(({ name }) => name === column);
  return ({ scores, ranks }) => {
    if (isNumber(scores?.[score])) return scores[score];
    return isNumber(ranks?.[rank]) ? -ranks[rank] : null;
  };
}

/** Where a passage went out, or into another one; null for one that did not. */
export function lastStage({ fate, left, ranks }) {
  if (left) return left.stage;
  if (fate !== "merged") return null;
  // The record names what holds it now, and the place it did not get any more tells when that was.
  return isNumber(ranks?.collected) ? "merge_chunks" : "collect_results";
}

/**
 * What one passage met, stage by stage, until it left.
 * `end`: "on", "left", "merged", "cited" or "used" (read by the model, not cited).
 */
export function wayOf(candidate, stages) {
  const way = [];
  const last = lastStage(candidate);
  for (const { stage } of stages) {
    const says = STAGES[stage];
    const leaves = stage === last;
    if (!leaves && (!says || !concerns(candidate, stage, says))) continue;
    way.push({
      stage,
      ranks: picked(candidate.ranks, says?.ranks ?? []),
      scores: picked(candidate.scores, says?.scores ?? []),
      end: endAt(candidate, stage, leaves),
    });
    if (leaves) break;
  }
  return way;
}

function concerns(candidate, stage, { ranks, scores }) {
  if (stage === "assemble_context" || stage === "generate_answer") return Boolean(candidate.alias);
  const has = (values, names) => names.some((name) => isNumber(values?.[name]));
  return has(candidate.ranks, ranks) || has(candidate.scores, scores);
}

function endAt(candidate, stage, leaves) {
  if (leaves) return candidate.fate;
  if (stage !== "generate_answer") return "on";
  return candidate.cited ? "cited" : "used";
}

/** What became of a passage in the end: as `end` of `wayOf`, or "pending" where the run ended before. */
export function fateOf(candidate) {
  if (candidate.fate !== "selected") return candidate.fate;
  if (candidate.cited) return "cited";
  return candidate.alias ? "used" : "pending";
}

function picked(values, names) {
  return Object.fromEntries(names.filter((name) => isNumber(values?.[name])).map((name) => [name, values[name]]));
}

const isNumber = (value) => typeof value === "number";
