/** Refusals and failures in the language of the page. The server's own words are English. */

import { has, language, t } from "./i18n.js";

const TEXTS = {
  zh: {
    kb_name_taken: "已经有同名的知识库，请换一个名称。",
    faq_question_taken: "另一条问答里已经有“{question}”。请改那一条，或换一个问题。",
    faq_question_empty: "问题是空的：每条问答都要有问题。",
    faq_question_too_long: "问题太长，最多 {limit} 个字。",
    faq_answer_too_long: "答案太长，最多 {limit} 个字。",
    faq_too_many: "一条问答里的问法、答案或标签太多，最多 {limit} 个。",
    faq_bad_strategy: "答案策略只能是 all、first 或 random。",
    faq_bad_boolean: "是否启用要写“是”或“否”。",
    faq_bad_value: "这一行不是可用的问答：每个字段都要是文字，或文字的列表。",
    faq_too_many_rows: "文件里的行太多，请拆成几个文件。",
    faq_no_rows: "文件里没有问答。",
    faq_no_question_column: "文件里没有名为“问题”或 question 的列。",
    faq_not_json: "这不是有效的 JSON 文件。",
    faq_duplicate_row: "前面已有一行是同样的问题。",
    faq_entry_not_found: "这条问答已不存在。",
    not_a_faq_kb: "这个知识库存放文档，不能加入问答。",
    faq_kb: "这个知识库存放问答，不能加入文档。",
    tag_name_taken: "已经有同名的标签。",
    tag_not_found: "这个标签已不存在。",
    tag_out_of_scope: "所选标签不属于要检索的知识库。",
    bad_tag_name: "标签名称不可用：需要 1 到 50 个可见的字。",
    too_many_tags: "标签太多，最多 {limit} 个。",
    chunk_not_found: "这个段落已不存在，文档可能刚被重新读取。",
    chunk_changed: "这个段落刚被改过，请重新打开后再改。",
    chunk_too_long: "段落太长，最多 {limit} 个字。",
    empty_chunk: "段落不能为空；不想被检索到，请停用它。",
    not_searched: "章节本身不参与检索，不能停用；请停用其中的段落。",
    chunk_of_faq: "这个段落属于一条问答，请修改那条问答。",
    document_out_of_scope: "所选文档不属于要检索的知识库。",
    no_knowledge_base: "请先选择知识库。",
    kb_not_found: "这个知识库已不存在，请另选一个。",
    document_not_found: "这份文档已不存在。",
    session_not_found: "这个会话已不存在，请新建会话。",
    message_not_found: "这条回答已不存在。",
    question_too_long: "问题太长，最多 {limit} 个字。请缩短，或把长文作为文档上传。",
    empty_question: "请先输入问题。",
    session_busy: "本会话的上一个回答还在生成，请等待或先停止。",
    unsupported_format: "无法读取：不支持这种格式，或者内容与扩展名不符、文件已损坏。支持：{supported}。",
    empty_document: "文件是空的。",
    upload_too_large: "文件超过大小上限，请拆分后上传，或调大 HEADRACE_UPLOAD_LIMIT_MB。",
    reindexing: "所选知识库中有的正在重建索引，完成之前可能搜不全。",
    index_rebuilding: "这个知识库的索引正在重建，请稍后再试。",
    embedding_model_mismatch:
      "这个知识库是用另一个向量模型建立索引的。请恢复原来的 HEADRACE_EMBEDDING_* 设置，或把文档加入新的知识库。",
    chat_unauthorized: "语言模型服务拒绝了密钥，请检查 HEADRACE_CHAT_API_KEY。",
    chat_unreachable: "连接不上语言模型服务，请确认它在运行，并检查 HEADRACE_CHAT_BASE_URL。",
    chat_unreadable: "语言模型服务的应答不是 OpenAI 兼容的格式，请检查 HEADRACE_CHAT_BASE_URL。",
    chat_timeout: "语言模型服务太久没有应答。请稍后再问，或调大 HEADRACE_CHAT_TIMEOUT_S 与 HEADRACE_CHAT_IDLE_S。",
    chat_unfinished: "语言模型服务没有说完，或没有说明已经说完，回答的末尾可能缺失。",
    unreadable_rewrite: "语言模型没有按要求改写问题，已按原话检索。",
    empty_answer: "语言模型没有给出内容，请再问一次。",
    queue_full: "本会话排队的问题已满，请等前面的答完，或取消一个再问。",
    run_not_found: "这次运行的记录已不存在。",
    run_erased: "这次运行的内容已被擦除，只留下它发生过这件事。",
    run_trimmed: "这次运行的记录已为节省空间而清理，回答本身仍然保留。",
    checkpoint_gone: "这个阶段的状态已不再保存，无法从这里分支。请改从最后的阶段分支，或再问一次。",
    stage_not_reached: "这次运行没有走到这个阶段，不能从这里分支。走到过的阶段：{reached}。",
    bad_setting: "这项设置不可用：{message}",
    bad_prompt: "提示词不可用：{message}",
    bad_state: "改写的状态不可用：{message}",
    bad_stage: "没有这个阶段，不能从这里分支。",
    disk_full: "服务端磁盘已满，暂时无法保存；腾出空间后会自动恢复，已有内容仍可查看。",
    shutting_down: "服务正在关闭，请稍后再试。",
    internal_error: "服务内部出错，详情见服务端日志。",
  },
};

// Why a document failed comes as a sentence without a code.
const REASONS = {
  zh: {
    "the file is empty": "文件是空的",
    "no text found in this file": "文件中没有文字",
    "no text found in this PDF": "这份 PDF 中没有文字",
    "no text found, only pictures: it needs OCR, which is not available here":
      "文件中只有图片、没有文字：请先用其他软件做文字识别（OCR），这里还不支持",
    "the PDF is encrypted; save it without a password": "PDF 已加密，请去掉密码后另存再上传",
    "the file is encrypted; save it without a password": "文件已加密，请去掉密码后另存再上传",
    "the PDF is damaged: open it in a viewer and print it to a new PDF":
      "PDF 已损坏，请用阅读器打开后重新打印成 PDF",
    "the file is damaged: it is no Word document": "文件已损坏，不是有效的 Word 文档",
    "the file is damaged: it is no presentation": "文件已损坏，不是有效的演示文稿",
    "the file is damaged: it is no workbook": "文件已损坏，不是有效的工作簿",
    "the file is damaged: it cannot be unpacked": "文件已损坏，无法解压",
    "this is not text: no encoding makes it readable": "这不是文本文件：没有任何编码能读懂它",
    "the parser crashed on this file": "解析这个文件时程序崩溃",
    "its original is gone: add the file again": "原始文件已丢失，请重新上传",
    "The version before it is still searched": "检索用的仍是上一个版本",
  },
};

/**
 * What to tell a person about `{code, message, details?}`: a text of the page where it has one for
 * the code, else the server's words, which may say more.
 */
export function inWords({ code, message, details = {} }) {
  const text = TEXTS[language()]?.[code];
  if (!text) return message;
  const values = { message, ...details };
  const names = [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  if (names.some((name) => values[name] === undefined)) return message; // it would have holes
  return text.replace(/\{(\w+)\}/g, (_, name) => [values[name]].flat().map(named).join("、"));
}

/** Stages are told by their names, everything else as it is. */
function named(value) {
  return has(`stage.${value}`) ? t(`stage.${value}`) : value;
}

/** What to tell a person about a call that failed (`ApiError`). */
export function describe(error) {
  if (error.message && error.status) return inWords(error);
  return error.status ? t("net.refused", { status: error.status }) : t("net.failed");
}

/** The same for why a document failed: sentences that the page knows, or the server's words. */
export function reasonInWords(reason) {
  const known = REASONS[language()];
  const sentences = reason.replace(/\.$/, "").split(". ");
  if (!known || !sentences.every((sentence) => known[sentence])) return reason;
  return `${sentences.map((sentence) => known[sentence]).join("。")}。`;
}

/** What has a text, for the test that the server says it. */
export const CODES = Object.keys(TEXTS.zh);
export const SENTENCES = Object.keys(REASONS.zh);
