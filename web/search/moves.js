/** What another search changed: which passages came, went, rose or fell. Pure. */

/**
 * @typedef {object} Move
 * @property {"new"|"back"|"out"|"up"|"down"} kind `new` was not looked at before, `back` was left out
 *   before, `out` is left out now; the others stand in another place
 * @property {number} [by] places
 */

/** The place of a passage among those that are returned, or null. */
export const placeOf = (candidate) => (isKept(candidate) ? (candidate.ranks?.selected ?? null) : null);

const isKept = ({ fate }) => fate === "selected" || fate === "returned";

/**
 * @param {object[]} before candidates of the search before
 * @param {object[]} after candidates of this one
 * @returns {{moves: Map<string, Move>, gone: object[]}} by chunk id; `gone`: kept before, not looked at now
 */
export function movesBetween(before, after) {
  const old = new Map(before.map((one) => [one.chunk_id, one]));
  const now = new Set(after.map((one) => one.chunk_id));
  const moves = new Map();
  for (const candidate of after) {
    const move = moveOf(old.get(candidate.chunk_id), candidate);
    if (move) moves.set(candidate.chunk_id, move);
  }
  return { moves, gone: before.filter((one) => isKept(one) && !now.has(one.chunk_id)) };
}

function moveOf(before, after) {
  if (!before) return { kind: "new" };
  if (isKept(before) !== isKept(after)) return { kind: isKept(after) ? "back" : "out" };
  const [from, to] = [placeOf(before), placeOf(after)];
  if (from === null || to === null || from === to) return null;
  return { kind: to < from ? "up" : "down", by: Math.abs(from - to) };
}
