/** Where each stage's bar begins and how wide it is, one behind the other. Pure. */

/** @returns {{from: number, width: number|null}[]} parts of 1; null for a stage whose time is not known */
export function bars(stages) {
  const total = stages.reduce((sum, { duration_ms: ms }) => sum + (ms ?? 0), 0);
  let before = 0;
  return stages.map(({ duration_ms: ms }) => {
    const bar = { from: total ? before / total : 0, width: widthOf(ms, total) };
    before += ms ?? 0;
    return bar;
  });
}

function widthOf(ms, total) {
  if (typeof ms !== "number") return null;
  return total ? ms / total : 0;
}
