/** What of a run is no longer kept: sentences of the server, in the language of the page where it has them. */

import { language } from "../i18n.js";

const SENTENCES = {
  zh: [
    ["No checkpoint of this run is left: its stages and candidates are not known.", "这次运行的状态已不再保存：各阶段和段落的经过不详。"],
    ["Only the last checkpoint is left: when its stages began is not known.", "这次运行只保留了最后的状态：各阶段何时开始不详，也不能从中途分支。"],
    ["The events of this run are gone: what was tried again is not known.", "这次运行的事件已不再保存：哪些步骤重试过不详。"],
    ["The texts of {n} selected passages are gone: prompts stand without them.", "有 {n} 个选中段落的原文已不再保存：提示词中缺少它们。"],
    ["Deleted since: documents that candidates came from ({n}).", "其后删除的文档：{n} 份，其中的段落没有标题和原文。"],
  ],
};

/** A sentence that is not known stays as the server says it. */
export function missingText(sentence) {
  const number = /\d+/.exec(sentence)?.[0] ?? "";
  const known = SENTENCES[language()]?.find(([english]) => english.replace("{n}", number) === sentence);
  return known ? known[1].replace("{n}", number) : sentence;
}

/** What has a text, for the test that the server says it. */
export const ENGLISH = SENTENCES.zh.map(([english]) => english);
