"""What parts two questions that are worded alike: another number, a negation, the opposite, another kind.

Embeddings and shared words put such questions closest of all ("2021" and "2022", "开启" and "关闭"), so what
answers one question with the answer to another has to look for these first.
"""

# ruff: noqa: E501  # word lists are read by kind of word, not by line

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

from ..context import Tokens
from .folding import normalised, to_simplified

Difference = Literal["number", "negation", "opposite", "kind", "words", "order"]

_NUMBER = re.compile(r"\d+(?:[.,:/\-]\d+)*%?")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ENGLISH_NOT = re.compile(r"\b(?:not|no|never|none|nor|neither|without|cannot|can't|\w+n't)\b")
# 是不是, 有没有, 能不能 ask, they do not deny.
_A_NOT_A = re.compile(r"(\w)[不没]\1|是否|能否|可否|会否")
_CHINESE_NOT = re.compile(r"[不没未无非别勿莫]")
_NO_DENIAL = re.compile(
    r"不得不|无论|不管|未来|非常|特别|别人|分别|类别|级别|性别|区别|差别|个别|别的|无线|没收|莫非|非洲|除非"
)

# One side of each in one question, the other side in the other one: they ask opposite things.
_OPPOSITES = """
开启|打开|启用|开通|启动/关闭|停用|禁用|关停|停止; 开门|开业|营业/关门|打烊|歇业; 开机|开工/关机|停工; 增加|添加|新增|提高|上调|增长/减少|删除|移除|降低|下调|下降; 之前|以前|前/之后|以后|后;
最大|最高|最多|最长|最晚|最重|上限/最小|最低|最少|最短|最早|最轻|下限; 进口|导入|入口|进入/出口|导出|离开; 收入|收款|进账/支出|付款|出账;
购买|买入|采购/出售|卖出|销售; 借出|出借/归还; 登录|登陆|注册/退出|注销; 连接|绑定|关联/断开|解绑; 安装|部署/卸载; 升级/降级;
锁定|加锁|冻结/解锁|解冻; 国内|境内|内部|室内|院内|校内/国外|境外|国际|外部|室外|院外|校外; 男/女; 上午|白天|日间|早上/下午|晚上|夜间;
入住|入院|入职|入学|入库/退房|出院|离职|毕业|出库; 工作日|平日/周末|休息日|节假日|假日; 公开|公共|公有/私密|私人|私有; 允许|准许/禁止|不准|不许;
同意|接受|通过/拒绝|驳回; 成功/失败; 发送|发出|寄出/接收|收到; 上传/下载; 充值|存款|存入/提现|取款|取出; 开始|起始|启程/结束|终止|到达;
优点|优势|好处/缺点|劣势|坏处; 长期/短期|临时; 全职|专职/兼职; 有偿|付费|收费/无偿|免费; 加密/解密; 成人|大人/儿童|小孩; 单人/双人;
出发|起点/返回|抵达|终点; 上涨/下跌; 首|第一/末|最后; 正面|积极/负面|消极; 必须|必填/可选|选填; 直接/间接; 冬季|冬天/夏季|夏天;
open|enable|activate|start|begin|turn on|switch on/close|disable|deactivate|stop|end|finish|turn off|switch off|shut down;
increase|raise|add|create/decrease|reduce|remove|delete; before|prior to|earlier/after|following|later;
maximum|max|most|highest|longest|largest|latest|upper/minimum|min|least|lowest|shortest|smallest|earliest|lower;
import|upload|enter|input/export|download|exit|output; install|deploy/uninstall;
login|log in|sign in|sign up/logout|log out|sign out; buy|purchase/sell;
domestic|internal|indoor|inside/international|external|outdoor|outside|overseas;
male|men|man|boy/female|women|woman|girl; morning/afternoon|evening|night; weekday/weekend|holiday;
allow|permit|accept|approve/forbid|prohibit|block|reject|deny|decline;
success|succeed|pass/failure|fail; send|sender/receive|receiver|recipient; deposit/withdraw|withdrawal;
lock|freeze/unlock|unfreeze; connect/disconnect; encrypt/decrypt; above|over|exceed/below|under;
advantage|pros|benefit/disadvantage|cons|drawback; full-time/part-time; paid/unpaid|free;
with|include|including/without|exclude|excluding; adult/child|children; summer/winter;
upgrade/downgrade; arrive|arrival/depart|departure; public/private; first|oldest/last|newest;
single/double; required|mandatory/optional; left/right; hot|heat|heating/cold|cool|cooling;
check-in|check in/check-out|check out; direct/indirect
"""

# What a question asks for. The first that fits counts where one holds another.
_KINDS: Mapping[str, str] = {
    "when": r"什么时候|什么时间|何时|几时|几点|哪天|哪一天|哪年|哪一年|几月|几号|\bwhen\b|what (?:time|date|year|day)|which (?:year|day|month)",
    "where": r"什么地方|哪里|哪儿|何处|在哪|\bwhere\b",
    "why": r"为什么|为何|为啥|怎么会|原因|\bwhy\b|\breasons?\b|how come",
    "how long": r"多长时间|多久|几天|多少天|几年|多少年|几个?小时|多少(?:个)?小时|how long|how many (?:days|hours|years|months|weeks|minutes)",
    "how often": r"多久一次|多长时间一次|几次|多少次|how often|how many times|how frequently",
    "how many": r"多少|几|how many|how much|what (?:is|are) the (?:number|amount)",
    "who": r"谁|哪位|什么人|哪些人|\bwho(?:m|se)?\b",
    "how": r"怎么|怎样|如何|咋|步骤|流程|\bhow\b",
    "which": r"哪些|哪个|哪种|哪几|\bwhich\b",
    "what": r"什么|啥|何|\bwhat\b",
    "whether": r"吗|是否|能否|可否|(\w)[不没]\1|^(?:is|are|do|does|did|can|could|may|must|should|will|would|has|have)\b",
}
_KIND = {name: re.compile(pattern) for name, pattern in _KINDS.items()}

# Words that change nothing of what is asked.
_LIGHT = frozenset(
    "请 请问 问 想 想问 知道 想知道 告诉 说 说明 介绍 解释 一下 下 我 我们 你 您 你们 咱们 大家 的话 关于 对于 有关 一般 通常 具体 目前 现在 到底 究竟 呢 啊 吧 呀 谢谢"
    " please tell know like would could want need help ask question me us i we you your our my usually exactly current currently actually just thanks thank hi hello explain".split()
)
# Where one of these stands, who comes first matters.
_DIRECTED = re.compile(
    r"比|到|从|向|给|由|被|先|再|转|换|于|至|对|和|与|\b(?:to|from|than|by|before|after|versus|vs|against|into|for)\b"
)


def conflict(one: str, other: str) -> Difference | None:
    """What makes two questions of one language ask different things, or None; of two languages only numbers."""
    first, second = _folded(one), _folded(other)
    if _numbers(first) != _numbers(second):
        return "number"
    if _is_chinese(first) != _is_chinese(second):
        return None
    if _denials(first) != _denials(second):
        return "negation"
    return "opposite" if _opposed(first, second) else None


def difference(one: str, other: str, tokens: Tokens) -> Difference | None:
    """As `conflict`, and any other word, kind of question or order that could matter: None is the same question."""
    if found := conflict(one, other):
        return found
    first, second = _folded(one), _folded(other)
    if _kind(first) != _kind(second):
        return "kind"
    mine, theirs = _weighty(one, tokens), _weighty(other, tokens)
    if Counter(mine) != Counter(theirs) or not mine:
        return "words"
    directed = [bool(_DIRECTED.search(text)) for text in (first, second)]
    if mine != theirs and (any(directed) or _repeats(mine)):
        return "order"
    return "order" if all(directed) and _asked_first(first) != _asked_first(second) else None


def question_key(text: str, tokens: Tokens) -> str:
    """The words of weight in any order: questions between which there is no `difference` have the same key."""
    return " ".join(sorted(_weighty(text, tokens)))


def _folded(text: str) -> str:
    return to_simplified(normalised(text)).casefold().strip()


def _is_chinese(text: str) -> bool:
    return any("\u3400" <= character <= "\u9fff" for character in text)


def _numbers(text: str) -> Counter[str]:
    return Counter(_NUMBER.findall(_THOUSANDS.sub("", text)))


def _denials(text: str) -> int:
    said = _NO_DENIAL.sub(" ", _A_NOT_A.sub(" ", text))
    return (len(_ENGLISH_NOT.findall(said)) + len(_CHINESE_NOT.findall(said))) % 2


def _kind(text: str) -> str | None:
    return next((name for name, pattern in _KIND.items() if pattern.search(text)), None)


def _asked_first(text: str) -> bool:
    """Whether what is asked for stands before the word that gives a direction: 谁向财务…, 财务向谁…."""
    asked, directed = (_KIND[kind].search(text) if (kind := _kind(text)) else None), _DIRECTED.search(text)
    return bool(asked and directed and asked.start() < directed.start())


def _opposed(one: str, other: str) -> bool:
    for first, second in _SIDES:
        a, b = bool(first.search(one)), bool(second.search(one))
        c, d = bool(first.search(other)), bool(second.search(other))
        if (a and d and not b and not c) or (b and c and not a and not d):
            return True
    return False


def _weighty(text: str, tokens: Tokens) -> list[str]:
    return [token for token in tokens.content(text) if token not in _LIGHT]


def _repeats(words: Sequence[str]) -> bool:
    return any(a == b for a, b in pairwise(sorted(words)))


def _sides(line: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    first, _, second = line.partition("/")
    return _side(first), _side(second)


def _side(words: str) -> re.Pattern[str]:
    patterns = [
        re.escape(word) if _is_chinese(word) else rf"\b{re.escape(word)}(?:s|d|ed|ing)?\b"
        for word in words.split("|")
    ]
    return re.compile("|".join(patterns))


_SIDES = [_sides(pair.strip()) for pair in _OPPOSITES.split(";")]
