/** Where each stage's bar begins and how wide it is, one behind the other. Pure. */

/** @returns {{from: number, width: number}[]} parts of 1; a run without times has bars of nothing */
export function bars(stages) {
  const total = stages.reduce((sum, { duration_ms: ms }) => sum + (ms ?? 0), 0);
  let before = 0;
  return stages.map(({ duration_ms: ms }) => {
    const bar = { from: total ? before / total : 0, width: total ? (ms ?? 0) / total : 0 };
    before += ms ?? 0;
    return bar;
  });
}
