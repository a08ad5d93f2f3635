/** Every text of the page, in English and Chinese, and which of the two is shown. */

const KEY = "headrace.language";

const TEXTS = {
  en: {
    "app.skip": "Skip to the question box",
    "language.switch": "中文",
    "menu.open": "Open the list of conversations",
    "menu.close": "Close the list of conversations",

    "sessions.title": "Conversations",
    "sessions.new": "New conversation",
    "sessions.untitled": "Untitled conversation",
    "sessions.none": "No conversations yet.",
    "sessions.more": "Show older ones",
    "sessions.rename": "Rename “{title}”",
    "sessions.delete": "Delete “{title}”",
    "sessions.delete.ask": "Delete “{title}” with all its questions and answers?",
    "sessions.name": "Title of the conversation",
    "sessions.gone": "This conversation does not exist any more.",

    "ask.label": "Your question",
    "ask.placeholder": "Ask about your documents",
    "ask.send": "Send",
    "ask.stop": "Stop",
    "ask.hint": "Enter sends, Shift+Enter starts a new line",
    "ask.empty": "Write a question first.",
    "ask.busy": "The last answer of this conversation is still being written. Wait for it, or stop it.",
    "ask.again": "Ask again",

    "scope.label": "Knowledge bases to search",
    "scope.none": "No knowledge base",
    "scope.many": "{n} knowledge bases",
    "scope.manage": "Documents…",
    "scope.hint": "Answers come from the knowledge bases that are ticked.",
    "scope.empty": "There is no knowledge base yet.",
    "scope.plain": "No knowledge base is chosen: the answer will not use your documents.",

    "welcome.title": "Ask your documents",
    "welcome.text": "Answers are written from your own documents, and every source can be opened.",
    "welcome.first": "To begin, add a few documents.",
    "welcome.add": "Add documents",

    "notice.extractive":
      "No language model is set up, so answers are sentences quoted from your documents. Set HEADRACE_CHAT_BASE_URL or HEADRACE_CHAT_GGUF to have them written.",

    "answer.you": "You asked",
    "answer.it": "Answer",
    "answer.thinking": "Thinking",
    "answer.copy": "Copy",
    "answer.copied": "Copied",
    "answer.sources": "Sources ({n})",
    "answer.stopped": "Stopped. This is what had been written until then.",
    "answer.stopped.empty": "Stopped before anything was written.",
    "answer.failed": "The answer could not be finished.",
    "answer.waiting": "This answer waits for a decision.",
    "answer.declined": "No answer in the documents",
    "answer.fallback": "Nothing found in the chosen knowledge bases",
    "answer.empty": "The answer is empty.",
    "answer.suggestions": "You could ask next",
    "answer.written": "Answer complete.",

    "step.start": "Starting…",
    "step.writing": "Writing the answer…",
    "step.query_understand": "Understanding the question",
    "step.knowledge_search": "Searching the documents",
    "step.rewritten": "understood as “{text}”",
    "step.hits.one": "1 passage",
    "step.hits": "{n} passages",
    "step.kbs.one": "1 knowledge base",
    "step.kbs": "{n} knowledge bases",
    "step.interrupted": "interrupted",
    "step.took": "Took {time}",
    "step.took.model": "Took {time} · {model}",
    "time.ms": "{n} ms",
    "time.s": "{n} s",

    "net.lost": "Connection lost. Trying again…",
    "net.failed": "The server cannot be reached.",
    "net.refused": "The server refused ({status}).",

    "sources.title": "Sources",
    "sources.close": "Close the sources",
    "sources.none": "No passages were used.",
    "sources.missing": "This passage is not among the ones kept with the answer.",
    "sources.page": "page {n}",
    "sources.section": "section {name}",
    "sources.score": "score {n}",
    "sources.others": "Found, but not cited",
    "sources.open": "Open the page",
    "cite.label": "Source {n}: {title}",
    "cite.label.page": "Source {n}: {title}, page {page}",

    "match.vector": "by meaning",
    "match.keyword": "by words",
    "match.both": "by meaning and words",
    "match.faq": "from the FAQ",
    "match.web": "from the web",
    "match.graph": "by relations",
    "match.history": "from the conversation",
    "match.data_analysis": "computed",

    "docs.title": "Documents",
    "docs.close": "Close the documents",
    "docs.kb": "Knowledge base",
    "docs.kb.new": "New knowledge base",
    "docs.kb.name": "Name",
    "docs.kb.create": "Create",
    "docs.kb.delete": "Delete this knowledge base",
    "docs.kb.delete.ask": "Delete the knowledge base “{name}” with all its documents?",
    "docs.kb.first": "Create a knowledge base, then add documents to it.",
    "docs.drop": "Drop files here",
    "docs.choose": "Choose files",
    "docs.formats": "{formats} · up to {mb} MB each",
    "docs.formats.only": "{formats}",
    "docs.limit": "up to {mb} MB each",
    "docs.list": "Documents in this knowledge base",
    "docs.none": "No documents yet.",
    "docs.more": "Show more",
    "docs.delete": "Delete “{title}”",
    "docs.delete.ask": "Delete the document “{title}”?",
    "docs.chunks.one": "1 passage",
    "docs.chunks": "{n} passages",
    "docs.toolarge": "Larger than the limit of {mb} MB.",
    "docs.unsupported": "This format is not supported. Supported: {formats}",
    "docs.emptyfile": "The file is empty.",
    "docs.uploading": "Uploading",
    "docs.dismiss": "Remove “{title}” from the list",
    "status.pending": "Waiting",
    "status.processing": "Working",
    "status.ready": "Ready",
    "status.failed": "Failed",
    "status.deleting": "Being deleted",
    "stage.parse": "Reading",
    "stage.chunk": "Cutting into passages",
    "stage.embed": "Embedding",
    "stage.index": "Indexing",
    "stage.publish": "Publishing",

    "dialog.cancel": "Cancel",
    "dialog.delete": "Delete",
  },
  zh: {
    "app.skip": "跳到提问框",
    "language.switch": "English",
    "menu.open": "打开会话列表",
    "menu.close": "关闭会话列表",

    "sessions.title": "会话",
    "sessions.new": "新会话",
    "sessions.untitled": "未命名会话",
    "sessions.none": "还没有会话。",
    "sessions.more": "显示更早的会话",
    "sessions.rename": "重命名“{title}”",
    "sessions.delete": "删除“{title}”",
    "sessions.delete.ask": "要删除“{title}”及其全部问答吗？",
    "sessions.name": "会话标题",
    "sessions.gone": "这个会话已不存在。",

    "ask.label": "你的问题",
    "ask.placeholder": "就你的文档提问",
    "ask.send": "发送",
    "ask.stop": "停止",
    "ask.hint": "Enter 发送，Shift+Enter 换行",
    "ask.empty": "请先输入问题。",
    "ask.busy": "本会话的上一个回答还在生成，请等待或先停止。",
    "ask.again": "再问一次",

    "scope.label": "要检索的知识库",
    "scope.none": "未选知识库",
    "scope.many": "{n} 个知识库",
    "scope.manage": "文档…",
    "scope.hint": "回答取自勾选的知识库。",
    "scope.empty": "还没有知识库。",
    "scope.plain": "未选择知识库：回答不会用到你的文档。",

    "welcome.title": "向你的文档提问",
    "welcome.text": "回答依据你自己的文档写成，每个出处都可以打开查看。",
    "welcome.first": "先添加几份文档吧。",
    "welcome.add": "添加文档",

    "notice.extractive":
      "尚未配置语言模型，回答是从文档中摘录的原句。设置 HEADRACE_CHAT_BASE_URL 或 HEADRACE_CHAT_GGUF 后即可由模型撰写。",

    "answer.you": "你的提问",
    "answer.it": "回答",
    "answer.thinking": "思考过程",
    "answer.copy": "复制",
    "answer.copied": "已复制",
    "answer.sources": "出处（{n}）",
    "answer.stopped": "已停止，以上是停止前写出的内容。",
    "answer.stopped.empty": "已停止，尚未写出内容。",
    "answer.failed": "回答未能完成。",
    "answer.waiting": "这个回答正在等待确认。",
    "answer.declined": "文档中没有答案",
    "answer.fallback": "所选知识库中未找到相关内容",
    "answer.empty": "回答为空。",
    "answer.suggestions": "接下来可以问",
    "answer.written": "回答完成。",

    "step.start": "开始…",
    "step.writing": "正在撰写回答…",
    "step.query_understand": "理解问题",
    "step.knowledge_search": "检索文档",
    "step.rewritten": "理解为“{text}”",
    "step.hits.one": "1 个段落",
    "step.hits": "{n} 个段落",
    "step.kbs.one": "1 个知识库",
    "step.kbs": "{n} 个知识库",
    "step.interrupted": "已中断",
    "step.took": "用时 {time}",
    "step.took.model": "用时 {time} · {model}",
    "time.ms": "{n} 毫秒",
    "time.s": "{n} 秒",

    "net.lost": "连接中断，正在重试…",
    "net.failed": "无法连接服务器。",
    "net.refused": "服务器拒绝了请求（{status}）。",

    "sources.title": "出处",
    "sources.close": "关闭出处",
    "sources.none": "没有用到任何段落。",
    "sources.missing": "这个段落不在随回答保存的内容中。",
    "sources.page": "第 {n} 页",
    "sources.section": "章节 {name}",
    "sources.score": "得分 {n}",
    "sources.others": "检索到但未引用",
    "sources.open": "打开网页",
    "cite.label": "出处 {n}：{title}",
    "cite.label.page": "出处 {n}：{title}，第 {page} 页",

    "match.vector": "语义匹配",
    "match.keyword": "关键词匹配",
    "match.both": "语义与关键词匹配",
    "match.faq": "来自问答库",
    "match.web": "来自网页",
    "match.graph": "关系匹配",
    "match.history": "来自会话历史",
    "match.data_analysis": "计算得出",

    "docs.title": "文档",
    "docs.close": "关闭文档",
    "docs.kb": "知识库",
    "docs.kb.new": "新建知识库",
    "docs.kb.name": "名称",
    "docs.kb.create": "创建",
    "docs.kb.delete": "删除这个知识库",
    "docs.kb.delete.ask": "要删除知识库“{name}”及其全部文档吗？",
    "docs.kb.first": "先创建一个知识库，再添加文档。",
    "docs.drop": "把文件拖到这里",
    "docs.choose": "选择文件",
    "docs.formats": "{formats} · 每个不超过 {mb} MB",
    "docs.formats.only": "{formats}",
    "docs.limit": "每个不超过 {mb} MB",
    "docs.list": "这个知识库中的文档",
    "docs.none": "还没有文档。",
    "docs.more": "显示更多",
    "docs.delete": "删除“{title}”",
    "docs.delete.ask": "要删除文档“{title}”吗？",
    "docs.chunks.one": "1 个段落",
    "docs.chunks": "{n} 个段落",
    "docs.toolarge": "超过 {mb} MB 的上限。",
    "docs.unsupported": "不支持这种格式。支持：{formats}",
    "docs.emptyfile": "文件是空的。",
    "docs.uploading": "正在上传",
    "docs.dismiss": "从列表移除“{title}”",
    "status.pending": "等待中",
    "status.processing": "处理中",
    "status.ready": "就绪",
    "status.failed": "失败",
    "status.deleting": "正在删除",
    "stage.parse": "读取",
    "stage.chunk": "切分段落",
    "stage.embed": "向量化",
    "stage.index": "建立索引",
    "stage.publish": "发布",

    "dialog.cancel": "取消",
    "dialog.delete": "删除",
  },
};

export const LANGUAGES = Object.keys(TEXTS);

/** The language of the page for what a browser prefers: the first one it names that there is. */
export function preferred(languages) {
  for (const tag of languages) {
    const language = tag.toLowerCase().split("-")[0];
    if (TEXTS[language]) return language;
  }
  return "en";
}

let current = "en";
const listeners = new Set();

/** Picks the language: an earlier choice on this browser, or the browser's own. */
export function startLanguage() {
  let stored = null;
  try {
    stored = localStorage.getItem(KEY);
  } catch {
    // Storage can be switched off; the browser's language is then all there is.
  }
  setLanguage(TEXTS[stored] ? stored : preferred(navigator.languages ?? [navigator.language]), false);
}

export function setLanguage(language, remember = true) {
  current = language;
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  for (const element of document.querySelectorAll("[data-i18n]")) {
    element.textContent = t(element.dataset.i18n);
  }
  for (const element of document.querySelectorAll("[data-i18n-label]")) {
    element.setAttribute("aria-label", t(element.dataset.i18nLabel));
    if (element.dataset.i18nTitle !== undefined) element.title = t(element.dataset.i18nLabel);
  }
  for (const element of document.querySelectorAll("[data-i18n-placeholder]")) {
    element.placeholder = t(element.dataset.i18nPlaceholder);
  }
  if (remember) {
    try {
      localStorage.setItem(KEY, language);
    } catch {
      // See above: the choice then lasts until the page is closed.
    }
  }
  for (const listener of listeners) listener(language);
}

export function language() {
  return current;
}

export function onLanguage(listener) {
  listeners.add(listener);
}

/** The text of `key` with `{names}` filled in. A key without a text shows itself. */
export function t(key, values = {}, language = current) {
  const text = TEXTS[language][key] ?? TEXTS.en[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

/** As `t`, for a number of things: `key.one` where the number is 1. */
export function count(key, n) {
  return t(n === 1 ? `${key}.one` : key, { n });
}

export function has(key) {
  return TEXTS.en[key] !== undefined;
}

export function duration(ms) {
  if (ms < 1000) return t("time.ms", { n: Math.round(ms) });
  return t("time.s", { n: (ms / 1000).toFixed(ms < 10_000 ? 1 : 0) });
}

/** The `lang` of a piece of text: which fonts and which voice suit it. */
export function languageOf(text) {
  if (/[\u3040-\u30FF]/.test(text)) return "ja";
  return /\p{Script=Han}/u.test(text) ? "zh-CN" : "en";
}

/** All keys by language, for the test that no text is missing. */
export function keys(language) {
  return Object.keys(TEXTS[language]);
}
