/** Inline citation tags of an answer: found, numbered, and kept out of Markdown's way. */

// While Markdown is rendered, a tag is one number between two control characters. The tag itself
// could not stay: a title with `|`, `*` or `]` would be read as table, emphasis or link. Control
// characters also end a bare URL, so a citation behind one does not become part of it.
const OPEN = "\u0002";
const CLOSE = "\u0003";
const MARKS = /[\u0002\u0003]/g;
const PLACEHOLDER = /\u0002(\d+)\u0003/g;

const TAG = /<(kb|web)((?:\s+[\w-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*\/>/g;
const ATTRIBUTE = /([\w-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
// The beginning of a tag whose end has not arrived yet.
const UNFINISHED = /<(?:k|kb|w|we|web|(?:kb|web)\s(?:[^"'<>]|"[^"]*"|'[^']*'|"[^"]*$|'[^']*$)*)?$/;

const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/**
 * @typedef {object} Citation
 * @property {"kb"|"web"} kind
 * @property {number} number from 1, the same for the same passage
 * @property {string} key what makes it the same passage
 * @property {string} title
 * @property {string} chunkId
 * @property {string} documentId
 * @property {string} page
 * @property {string} url
 */

/**
 * @param {string} text the answer as it came
 * @param {{complete?: boolean}} options `complete`: nothing follows, so half a tag is plain text
 * @returns {{text: string, citations: Citation[]}} text with placeholders; one entry per tag
 */
export function extractCitations(text, { complete = true } = {}) {
  const numbers = new Map();
  const citations = [];
  let source = text.replace(MARKS, "");
  if (!complete) source = source.replace(UNFINISHED, "");
  const marked = source.replace(TAG, (_, kind, raw) => {
    const attributes = readAttributes(raw);
    const key = attributes.chunk_id || attributes.knowledge_id || attributes.url || attributes.doc || "";
    if (!numbers.has(key)) numbers.set(key, numbers.size + 1);
    citations.push({
      kind,
      number: numbers.get(key),
      key,
      title: attributes.doc || attributes.title || "",
      chunkId: attributes.chunk_id || "",
      documentId: attributes.knowledge_id || "",
      page: attributes.page || "",
      url: attributes.url || "",
    });
    return `${OPEN}${citations.length - 1}${CLOSE}`;
  });
  return { text: marked, citations };
}

function readAttributes(raw) {
  const attributes = {};
  for (const [, name, double, single] of raw.matchAll(ATTRIBUTE)) {
    attributes[name] = unescapeXml(double ?? single ?? "");
  }
  return attributes;
}

function unescapeXml(text) {
  return text.replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (whole, decimal, hex, name) => {
    if (name) return ENTITIES[name.toLowerCase()] ?? whole;
    const code = decimal ? Number(decimal) : Number.parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

/** Text and citation indexes in turn: `"a\u00020\u0003b"` is `["a", 0, "b"]`. */
export function splitPlaceholders(text) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    if (match.index > end) parts.push(text.slice(end, match.index));
    parts.push(Number(match[1]));
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}

/** The answer without tags, for the clipboard. */
export function plainText(text) {
  return text.replace(TAG, "").replace(MARKS, "");
}

/** The reference a citation means: its chunk, a passage its chunk was joined into, or none. */
export function referenceOf(citation, references) {
  return (
    references.find((reference) => reference.id === citation.chunkId) ??
    references.find((reference) => reference.sub_chunk_ids?.includes(citation.chunkId)) ??
    null
  );
}

/** References in the order of the drawer: cited ones by number, then the others as they came. */
export function orderReferences(references, citations) {
  const numbers = new Map();
  for (const citation of citations) {
    const reference = referenceOf(citation, references);
    if (reference && !numbers.has(reference)) numbers.set(reference, citation.number);
  }
  const cited = [...numbers].map(([reference, number]) => ({ reference, number }));
  const others = references.filter((reference) => !numbers.has(reference));
  return [
    ...cited.sort((a, b) => a.number - b.number),
    ...others.map((reference) => ({ reference, number: null })),
  ];
}
