/**
 * Where the words of a question stand in a passage. Pure.
 *
 * This is for the eye: close to how the server cuts words, but not the same. Traditional characters do not
 * find simplified ones, and of English words only common endings fall away.
 */

const STOP = new Set(
  ("a an and are as at be by can do does for from has have how i if in is it its me my of on or so than that the " +
    "their there this to was we what when where which who why will with you your " +
    "的 了 吗 呢 吧 啊 是 在 和 与 及 或 有 我 你 他 她 它 们 这 那 哪 个 些 什么 怎么 怎样 如何 为什么 多少 几 哪些 哪里 哪个 " +
    "请 请问 可以 能 会 要 把 被 对 从 到 为 于 而 就 也 都 很 一 不 没 谁 之 其 应 应该").split(" "),
);
const RUN = /(?<han>\p{Script=Han}+)|(?:(?!\p{Script=Han})[\p{L}\p{M}\p{N}])+/gu;
const LONGEST_HAN = 8;

/** The words of all `questions`, as they are looked for. @returns {Set<string>} */
export function termsOf(questions) {
  const terms = new Set();
  for (const question of questions) {
    const text = folded(question);
    for (const match of text.matchAll(RUN)) {
      const words = match.groups.han ? hanWords(match[0]) : [match[0]];
      for (const word of words) if (!STOP.has(word)) terms.add(match.groups.han ? word : stem(word));
    }
  }
  return terms;
}

/**
 * @param {Set<string>} terms of `termsOf`
 * @returns {[number, number][]} start and end of each place, in order; places that touch are one
 */
export function rangesOf(terms, text) {
  if (!terms.size) return [];
  const longest = Math.min(LONGEST_HAN, Math.max(...[...terms].map((term) => term.length)));
  const ranges = [];
  const add = (start, end) => {
    const last = ranges.at(-1);
    if (last && last[1] === start) last[1] = end;
    else ranges.push([start, end]);
  };
  for (const match of folded(text).matchAll(RUN)) {
    const [run] = match;
    if (!match.groups.han) {
      if (terms.has(stem(run))) add(match.index, match.index + run.length);
      continue;
    }
    for (let at = 0; at < run.length; ) {
      const length = lengthAt(run, at, terms, longest);
      if (length) add(match.index + at, match.index + at + length);
      at += length || 1;
    }
  }
  return ranges;
}

function lengthAt(run, at, terms, longest) {
  for (let length = Math.min(longest, run.length - at); length; length -= 1) {
    if (terms.has(run.slice(at, at + length))) return length;
  }
  return 0;
}

/** Small letters, and full-width ones as plain ones. The length stays, so that places are those of `text`. */
function folded(text) {
  const plain = text.replace(/[\uFF01-\uFF5E]/g, (one) => String.fromCharCode(one.charCodeAt(0) - 0xfee0));
  const small = plain.toLowerCase();
  return small.length === text.length ? small : plain.replace(/[A-Z]/g, (one) => one.toLowerCase());
}

function hanWords(run) {
  if (!globalThis.Intl?.Segmenter) return pairs(run);
  const segments = new Intl.Segmenter("zh", { granularity: "word" }).segment(run);
  return [...segments].map(({ segment }) => segment);
}

const pairs = (run) => (run.length < 3 ? [run] : Array.from({ length: run.length - 1 }, (_, at) => run.slice(at, at + 2)));

/** Without the common endings; words that are then too short keep theirs. */
function stem(word) {
  const short = word.replace(/(?:ies|ied)$/, "y").replace(/(?:ing|ed|es|s)$/, "");
  const base = short.length < 3 ? word : short;
  return base.length > 3 ? base.replace(/e$/, "") : base;
}
