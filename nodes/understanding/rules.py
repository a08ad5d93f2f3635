"""What a question asks for and what it leaves unsaid, by rules: used where no model can rewrite.

Small talk is recognised only when nothing else stands in the message. A follow-up is made complete by
putting its new term in the place of the old one where the two are evidently parallel; otherwise the
salient words of the last complete question are carried over, since losing the topic costs more than
a superfluous word.
"""

# ruff: noqa: E501  # a lexicon is read by kind of phrase, not by line

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...state import Intent, Turn
from ..answering.citations import cited_titles, without_tags

# --- small talk -------------------------------------------------------------------------------

_GREETING = (
    r"你们?好[啊呀哇吗嘛]*|您好[啊呀]*|大家好|[哈嗨][喽啰罗咯]|嗨+|嘿+|喂|早[啊呀]?|早上好|上午好|中午好|下午好"
    r"|晚上好|在吗|在不在|有人吗|好久不见|很?高兴(?:认识|见到)[你您]|早安|(?:hi+|hello|hey+|hiya|howdy|yo|greetings)(?: (?:there|again))?"
    r"|good (?:morning|afternoon|evening|day)|nice to (?:meet|see) you|what'?s up|wass?up|sup|hola|heyo|how are things|long time no see|anyone there"
)
_THANKS = (
    r"(?:太|非常|十分|真是?|真心|特别|多|好的?|那)*(?:谢谢|感谢|多谢|谢啦|谢了|谢过|感激不尽)(?:[你您]们?)?"
    r"(?:的?(?:耐心|热心|详细|中肯|和|推荐|回答|帮助|帮忙|介绍|解答|答复|回复|建议|分享|讲解|提醒)+)?[了啦啊哦呀哈]*"
    r"|我?(?:的?问题)?(?:都|已经)?(?:问完|记下|记下来|清楚|没问题)了|没有?(?:其[他它]|别的)?问题(?:要问)?了|没有[了啦]"
    r"|辛苦了?|麻烦[你您]?了|给[你您]添麻烦了|thank you|thanks|thx|ty|cheers|many thanks|much appreciated|i appreciate (?:it|that)"
    r"|appreciate it|that(?:'?s| is| was) (?:very |really |so )?(?:helpful|great|perfect|all|it)|you(?:'ve| have) been (?:very |a (?:big |great )?)?(?:helpful|help)|i owe you one|you have my gratitude"
)
_GOODBYE = (
    r"再见[了啦]?|拜拜[了啦]?|拜|回见|回头见|明天见|下次见|晚安|先这样[吧了]?|就这样吧?|没有?(?:别的|其他)?(?:问题|事)了"
    r"|good ?bye|bye+|bye[- ]bye|see (?:you|ya)(?: (?:later|soon|around|tomorrow))?|good ?night|take care|farewell|later"
    r"|have a (?:nice|good|great) (?:day|evening|night|weekend|one)|talk to you (?:later|soon)|signing off|until next time|catch you later|(?:it was |that was |this was |good |great |nice |i enjoyed |lovely |awesome |really |very |a |our |the )+(?:talk|chat|conversation|(?:to |)(?:talk(?:ing)?|speak(?:ing)?|chat(?:ting)?))(?: (?:to|with) you)?"
    r"|(?:祝|愿)[你您].{0,8}(?:愉快|顺利|开心)"
)
_CHITCHAT = (
    r"你是谁[啊呀]?|[你您]叫什么(?:名字)?|[你您](?:是|究竟是|到底是)(?:机器人|真人|人类|人|AI|ai|人工智能)吗?|[你您]几岁了?"
    r"|[你您]多大了?|[你您](?:会|能)(?:做|干)?(?:些|点)?什么|[你您]有什么(?:功能|本领)|[你您]喜欢.{1,6}[吗么]?"
    r"|[你您](?:最近)?(?:怎么样|过得好吗|过得怎么样|还好吗|开心吗|吃了吗)|(?:给我|来|再)?(?:讲|说)(?:一?个|点)?(?:笑话|故事)(?:吧|听听)?"
    r"|[你您]真(?:棒|聪明|厉害|好|可爱|笨)|我(?:喜欢|爱)你|聊聊天?(?:吧)?|无聊|哈{2,}|呵呵|嘻嘻|嗯+|哦+|噢+|啊+"
    r"|好的?(?:吧|呀|嘞|啊|哒)?|行吧?|可以|没问题|知道了|明白了?|了解了?|收到|不错|真?棒|没(?:关系|事)|不客气|对不起|抱歉"
    r"|who are you|what are you|what(?:'?s| is) your name|do you have a name|how are you(?: doing)?(?: today)?|how(?:'?s| is) it going"
    r"|how do you do|are you (?:a |an )?(?:real|human|robot|bot|ai|person|machine|alive|there|ok|okay)(?: person)?"
    r"|how old are you|where (?:are you from|do you (?:live|come from))|who (?:made|created|built) you|what can you do"
    r"|what do you (?:like|do)(?: for fun)?|(?:do you like|do you love) \w{1,12}|(?:can you )?tell me (?:a|another) (?:joke|story)"
    r"|i love you|you(?:'re| are) (?:so |very )?(?:smart|great|funny|cute|stupid|awesome|the best)|i(?:'m| am) (?:bored|fine|good|ok|okay)"
    r"|ha(?:ha)+|lol|ok(?:ay)?|sure|cool|great|nice|awesome|perfect|got it|i see|understood|alright|all right|no problem"
    r"|you(?:'re| are) welcome|never ?mind|sorry|excuse me|well done|good job|yes|no|yeah|yep|nope"
)
# Words that may stand beside small talk without making it a question.
_FILLER = (
    r"啊|呀|哦|噢|嗯|恩|那|了|吧|哈|呢|哇|啦|好咧|好吧|太好了|亲爱的|亲|朋友|小助手|助手|机器人|先|我|的|太|很|非常|真的?"
    r"|there|again|so|very|much|a lot|lot|for (?:your|the|all your) help|for (?:that|this|the|your|all)(?: (?:info|information|reply|response|answer|chat|assist|assistance|time|explanation|support|help))?"
    r"|for (?:chatting|helping|trying|talking|explaining)(?: (?:with|to))?(?: me)?(?: out)?|ai|ever"
    r"|really|today|everyone|all|friend|buddy|mate|bot|assistant|dear|and|my|then|well|oh|ah|um|please|now"
)
_SMALL_TALK = re.compile(
    "|".join(
        f"(?P<{name}>{pattern})"
        for name, pattern in (
            ("goodbye", _GOODBYE),
            ("thanks", _THANKS),
            ("greeting", _GREETING),
            ("chitchat", _CHITCHAT),
            ("filler", _FILLER),
        )
    ),
    re.IGNORECASE,
)
# Phrases end at a boundary: Latin words are whole ones, Han text has no boundaries to look at.
_BOUNDARY = re.compile(r"(?![A-Za-z0-9'])")
_GAP = re.compile(r"[^\w']+")
_LONGEST_SMALL_TALK = 60


def small_talk(message: str) -> Intent | None:
    """`greeting` or `chitchat` (also thanks and goodbyes) when that is all the message holds."""
    text = _GAP.sub(" ", _folded(message)).strip()
    if not text or len(text) > _LONGEST_SMALL_TALK:
        return None
    kinds = _covering(text)
    if not kinds or kinds == {"filler"}:
        return None
    return "greeting" if kinds <= {"greeting", "filler"} else "chitchat"


def _covering(text: str) -> set[str] | None:
    """Kinds of the phrases that cover `text` without a rest, or None. Longest phrases are tried first."""
    reached: dict[int, set[str]] = {0: set()}
    for start in range(len(text)):
        if start not in reached:
            continue
        if text[start] == " ":
            reached.setdefault(start + 1, reached[start])
            continue
        for end in range(len(text), start, -1):
            found = _SMALL_TALK.fullmatch(text, start, end)
            if found and found.lastgroup and _BOUNDARY.match(text, end):
                reached.setdefault(end, reached[start] | {found.lastgroup})
    return reached.get(len(text))


# --- follow-ups -------------------------------------------------------------------------------

# Openings that say "as before, but …"; what follows is the new term.
_INSTEAD = (
    re.compile(
        r"^(?:[那嗯哦好的]{0,3}[么，, ]*)?(?:换成|如果是|要是|改成)?(?P<term>[^，。？?！!]{1,16}?)(?:又|则)?呢[？?。！! ]*$"
    ),
    re.compile(r"^(?:那么?|那)(?P<term>[^，。？?！!的是有]{1,10})[？?。！! ]*$"),
    re.compile(
        r"^(?:ok(?:ay)?[, ]+|so[, ]+|and[, ]+|but[, ]+)*(?:what|how) about (?P<term>[^?!.]{1,40})[?!. ]*$",
        re.IGNORECASE,
    ),
    re.compile(r"^and (?:for |in |on |at |with |of )?(?P<term>[^?!.,]{1,40})[?!. ]*$", re.IGNORECASE),
)
# Terms that point back instead of naming anything.
_POINTER = re.compile(
    r"(?:[它他她](?:们)?(?:的)?|这个|那个|这些|那些|这|那|另一?个|另外一?个|其他的?|其它的?|别的|剩下的?|还有(?:什么|哪些)?"
    r"|(?:前|后)者|第[一二三四五六七八九十\d]+[个条点项种]|然后|接下来|原因|结果)"
    r"|(?:it|its|that|this|them|those|these|he|she|they|(?:the )?(?:other|others|rest|former|latter|next)(?: ones?)?"
    r"|(?:the )?(?:first|second|third|fourth|last|\d+(?:st|nd|rd|th)) (?:one|point|item|step))",
    re.IGNORECASE,
)
# Whole messages that only make sense after another one.
_CONTINUES = re.compile(
    r"(?:还有(?:呢|吗|什么|哪些|别的吗?|其他的?吗?|没有)?|继续(?:说|讲)?|接着说|然后呢?|为什么(?:呢|啊)?|为何|怎么办呢?|怎么做呢?"
    r"|多少钱呢?|多久呢?|什么时候呢?|在哪里?呢?|是谁呢?|比如(?:呢|说)?|例如呢?|举个?例子?(?:吧)?|举例(?:说明)?|详细(?:说说|点|一点|讲讲|说明)"
    r"|具体(?:呢|点|一点|说说)?|(?:再)?(?:说|讲)?(?:详细|具体|清楚)(?:一?点|些)|(?:再)?(?:短|简短|简洁|长)(?:一?点|些)|(?:请)?(?:翻译|总结|概括)(?:一下|成.{1,4})?"
    r"|(?:请)?(?:再)?(?:把)?第[一二三四五六七八九十\d]+[个条点项步](?:是什么|(?:请)?再说一遍|呢|详细说说)?"
    r"|why(?: not| so| is that)?|how(?: so| come)?|when|where|who|how much|how many|how long|(?:and )?(?:then|next)|and|go on|continue"
    r"|more|(?:any ?thing|what|who|where) else|(?:can you )?(?:please )?(?:tell me|say) more(?: about (?:it|that|this|them))?|(?:some |any )?(?:more )?(?:examples?|details?)"
    r"|(?:for|an) example|for instance|such as|like what|elaborate|explain(?: (?:it|that|this))?(?: (?:more|again|further))?"
    r"|(?:make it |a bit )?(?:shorter|longer|simpler)(?: please)?|translate (?:it|that|this)(?: (?:in)?to \w+)?|summari[sz]e (?:it|that|this)"
    r"|(?:and |what(?: is|'s) )?(?:the )?(?:first|second|third|last|next) (?:one|point|item|step))(?: please)?",
    re.IGNORECASE,
)
# A word that stands for something said before, in a sentence that otherwise looks complete.
_PRONOUN = re.compile(
    r"(?<!其)[它他她](?:们)?(?!说|人)|(?:这|那|该|此)(?:个(?!月|周|星期|季度|学期|时候)|些|家|种|项|条|款|座|部|本|里|边|儿|位|篇|份|类|次|样)(?!人)"
    r"|(?:上述|前者|后者|上面(?:的|提到的)|刚才(?:的|说的|提到的))|(?<![\u4e00-\u9fff])(?:其(?![他它实余次])|该(?!不该|怎|如何))(?=[\u4e00-\u9fff])"
    r"|\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers|this|these|those|the (?:former|latter|same)"
    r"|the (?:first|second|third|last|other) (?:one|ones|point|item|step))\b|\bthat(?=[?.! ]*$)|\b(?:about|of|for|with|is|was|does|did) that\b"
    r"|\bthere(?=[?.! ]*$)|\b(?:that|those) one\b",
    re.IGNORECASE,
)
# "it" that stands for nothing: "is it possible to", "how long does it take to".
_EMPTY_IT = re.compile(
    r"\b(?:is|was|would|will|can|does|should|how long does|what does) it (?:be )?(?:possible|necessary|allowed|legal|safe|ok|okay|true|better"
    r"|required|cost|take|mean|matter|rain|work)\b.*\b(?:to|that|if|when|for)\b|\bit (?:is|was) (?:\w+ )?(?:possible|necessary|true) (?:to|that)\b"
    r"|\b(?:this|these|that) (?:year|month|week|morning|time|day|quarter|document|file|section|page|country|company)\b",
    re.IGNORECASE,
)
# Questions about an attribute that do not say of what.
_ATTRIBUTE = (
    r"(?:联系)?电话|地址|位置|价格|费用|价钱|时间|营业时间|评分|门票|时限|期限|截止日期|流程|步骤|条件|要求|标准|材料|原因|结果|后果|例外|好处|坏处"
    r"|优点|缺点|优缺点|作用|区别|限制|比例|金额|人数|日期|地点"
)
_BARE_ATTRIBUTE = re.compile(
    rf"(?:[好那嗯]的?[么吧]?[，, ]*)?(?:{_ATTRIBUTE})(?:(?:[和与、及]|以及)(?:{_ATTRIBUTE}))*(?:又?是|有|需要)?(?:什么|多少|哪些|怎么样|多久|多长|在?哪[里儿]?|几[天个])?[呢啊吗]?"
    r"|(?:and |so )?what(?: is|'s| are| was| were) (?:the|its|their) (?:deadlines?|price|cost|fees?|(?:phone )?number|address|procedure|process|steps?|conditions?"
    r"|requirements?|exceptions?|limits?|pros and cons|benefits|advantages|disadvantages|drawbacks|consequences|causes?|reasons?|symptoms|effects?|risks|differences?|alternatives)",
    re.IGNORECASE,
)
# A sentence that asks about something and goes on about it: "what is X and why is it important".
_OWN_ANTECEDENT = re.compile(
    r"^(?:what|who|which|where|when|how|why|if|tell me|is|are|was|were|do|does|did|can) (?:\S+ ){2,}?\S*(?:,| and| or) "
    r"|(?:什么|谁|哪|怎么|怎样|如何|多少|几).*?[，,；;、]"
)
_LONGEST_FOLLOW_UP = 60  # characters; a longer question with a pronoun usually names what it speaks of

# Terms that belong together: a new one of a class takes the place of the only old one.
_CLASSES = (
    re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d\s*(?:年度?)?(?!\d)"),
    re.compile(r"(?:[一二三四五六七八九十]{1,2}|1[0-2]|[1-9])月份?"),
    re.compile(r"第[一二三四1-4]季度|[QqHh][1-4]\b"),
    re.compile(r"第[一二三四五六七八九十百\d]+(?:条|章|节|款|项|届|期|版|步|阶段|代|轮|名|位|部分)"),
    re.compile(
        r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
    ),
    re.compile(
        r"\b(?:chapter|section|article|step|version|appendix|table|figure|level|grade|phase) \w+\b",
        re.IGNORECASE,
    ),
    re.compile(r"\b[vV]?\d+\.\d+(?:\.\d+)?\b"),
    re.compile(r"(?:上|本|这|下|前|去|今|明|后)(?:个?(?:月|周|星期|季度)|年)"),
    re.compile(r"\b(?:last|this|next) (?:year|month|week|quarter)\b", re.IGNORECASE),
    re.compile(
        r"北京|上海|天津|重庆|广州|深圳|杭州|南京|成都|武汉|西安|苏州|长沙|青岛|大连|厦门|沈阳|哈尔滨|济南|郑州|福州|昆明|合肥"
        r"|香港|澳门|台湾|台北|河北|山西|辽宁|吉林|黑龙江|江苏|浙江|安徽|福建|江西|山东|河南|湖北|湖南|广东|海南|四川|贵州|云南|陕西"
        r"|甘肃|青海|内蒙古|广西|西藏|宁夏|新疆"
    ),
    re.compile(
        r"中国|美国|英国|法国|德国|日本|韩国|印度|俄罗斯|加拿大|澳大利亚|巴西|意大利|西班牙|墨西哥|新加坡|泰国|越南|埃及|南非|荷兰|瑞士|瑞典"
        r"|欧洲|亚洲|非洲|美洲|北美洲?|南美洲?|大洋洲"
    ),
    re.compile(r"(?:实习|正式|试用期|兼职|全职|外包|合同|退休|新|老|临时)(?:员工|职工|人员|生)"),
    re.compile(r"[一二三四五六七八九十\d]+级"),
)
_LATIN_TERM = re.compile(r"[A-Za-z][A-Za-z0-9+#.\-]*(?: (?:[A-Z0-9][A-Za-z0-9+#.\-]*))*")
_PROPER = re.compile(r"(?<![.?!] )(?<!^)\b[A-Z][\w\-]*(?: (?:of |de |the )?[A-Z][\w\-]*)*")
_HAN = re.compile(r"[\u4e00-\u9fff]")
# Endings that make a class of Han words: 销售部 and 市场部, 甲公司 and 乙公司.
_HAN_ENDINGS = (
    "公司",
    "大学",
    "中心",
    "部门",
    "部",
    "省",
    "市",
    "县",
    "区",
    "国",
    "岛",
    "湖",
    "山",
    "河",
    "院",
    "馆",
    "店",
    "组",
    "线",
    "型",
    "版",
)

_ASKING = re.compile(
    r"^(?:请问|请|麻烦|想问一?下|想知道|我想(?:问|知道|了解)一?下?|告诉我|能否|可以|帮我(?:查一?下|找一?下)?|你好[，,]?)+"
    r"|(?:是|有)?(?:什么|多少|哪里|哪儿|哪些|哪个|谁|怎样|怎么样|如何|几[个天次年]?|多[久长大高远])(?:时候|样的?)?(?=[？?。！!吗呢啊 ]*$)"
    r"|[吗呢啊吧？?。！!]+$",
)
_ASKING_EN = re.compile(
    r"^(?:please |can you |could you |would you )?(?:tell me |explain |describe |show me )?(?:about |me )?"
    r"(?:what|who|where|when|why|how|which)?(?:'s| is| are| was| were| do| does| did| can| could| should| will| would| has| have| had)?"
    r"(?: (?:i|you|we|one|there))?(?: (?:the|a|an))? |[?!. ]+$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """A question made complete. `rewritten` is the question itself where nothing was missing.

    `translations` has the rewritten question by language; an empty one was asked for and not given.
    """

    rewritten: str
    intent: Intent
    uses_history: bool
    translations: Mapping[str, str] = field(default_factory=dict[str, str])


def understand_by_rules(query: str, history: Sequence[Turn], *, rewrite: bool = True) -> Understood:
    """Intent and, where `rewrite` is on, the question with what it leaves unsaid."""
    if intent := small_talk(query):
        return Understood(rewritten=query, intent=intent, uses_history=False)
    if not history or not is_follow_up(query):
        return Understood(rewritten=query, intent="kb_search", uses_history=False)
    rewritten = completed(query, history) if rewrite else query
    return Understood(rewritten=rewritten, intent="kb_search", uses_history=True)


_MARKS = " ?!.,。？！，、~…"


def is_follow_up(query: str) -> bool:
    """Whether the question needs the conversation to be understood."""
    text = _folded(query).strip()
    bare = text.strip(_MARKS)
    if _CONTINUES.fullmatch(bare) or _BARE_ATTRIBUTE.fullmatch(bare) or _new_term(text):
        return True
    if len(text) > _LONGEST_FOLLOW_UP or _EMPTY_IT.search(text):
        return False
    pronoun = _PRONOUN.search(text)
    named = _OWN_ANTECEDENT.search(text)
    return bool(pronoun) and not (named and named.end() <= pronoun.start())


def completed(query: str, history: Sequence[Turn]) -> str:
    """The question with the topic of the conversation in it."""
    topic = last = ""
    for turn in history:
        said = turn["user"]
        if small_talk(said):
            continue
        # "and Berlin?" after "and Paris?" needs the first question; "where do they live?" after "how much
        # do they weigh?" needs what the first one was about, more than it needs the weight.
        if topic and is_follow_up(said):
            topic, last = put_in_place(_new_term(said), topic) or topic, said
        else:
            topic = last = said
    carried = topic if topic == last or _new_term(last) or _is_bare(last) else f"{topic}\n{last}"
    return _completed_once(query, topic, carried, history[-1]["assistant"])


def _is_bare(query: str) -> bool:
    return bool(_CONTINUES.fullmatch(query.strip(_MARKS)))


def _completed_once(query: str, topic: str, carried: str, answer: str) -> str:
    """`topic` is the last complete question, `carried` that and, on a line of its own, the
    follow-up after it."""
    term = _new_term(query)
    if term and not _POINTER.fullmatch(term):
        return put_in_place(term, topic) or _joined(salient(topic), term)
    if _is_bare(query):
        return _joined(*carried.splitlines(), *cited_titles(answer)[:1], query.strip(_MARKS))
    return _joined(*map(salient, carried.splitlines()), *_antecedents(answer), query)


def _new_term(query: str) -> str:
    """What an "as before, but …" question puts in the place of something; empty for other questions."""
    text = query.strip()
    for pattern in _INSTEAD:
        if found := pattern.match(text):
            return found["term"].strip(" ，,")
    return ""


def put_in_place(term: str, topic: str) -> str:
    """`topic` with `term` in the place of the one term it evidently replaces; empty where that is unclear."""
    if not term or _POINTER.fullmatch(term):
        return ""
    bare = re.sub(r"^(?:the|in|for|on|at|of) ", "", term, flags=re.IGNORECASE)
    for pattern in _CLASSES:
        if pattern.fullmatch(bare):
            return _replaced(pattern, bare, topic)
    if _HAN.search(topic):
        return (
            _replaced(_LATIN_TERM, bare, topic) if _LATIN_TERM.fullmatch(bare) else _same_ending(bare, topic)
        )
    if bare[:1].isupper():
        return _replaced(_PROPER, bare, topic)
    return _same_head(bare, topic)


def _same_head(term: str, topic: str) -> str:
    """ "hill library" for "harbour library": phrases behind an article that end in the same noun."""
    *modifiers, head = term.split()
    if not modifiers:
        return ""
    phrase = rf"(?<=\bthe )(?:(?!the\b|of\b|in\b|for\b)[\w-]+ ){{1,3}}{re.escape(head)}\b"
    found = list(re.finditer(phrase, topic, re.IGNORECASE))
    return topic[: found[0].start()] + term + topic[found[0].end() :] if len(found) == 1 else ""


def _replaced(pattern: re.Pattern[str], term: str, topic: str) -> str:
    found = list(pattern.finditer(topic))
    if len(found) != 1:
        return ""
    old = found[0]
    # "2020年" is replaced by "2021" as a year, without losing the character that makes it one.
    ending = "年" if old[0].endswith("年") and term.isdigit() else ""
    return topic[: old.start()] + term + ending + topic[old.end() :]


def _same_ending(term: str, topic: str) -> str:
    # 水电站 of 北湾水电站, where the topic has it too; else a known ending of one or two characters.
    shared = (term[start:] for start in range(1, len(term) - 1) if term[start:] in topic)
    known = (ending for ending in _HAN_ENDINGS if term.endswith(ending) and len(term) > len(ending))
    ending = next(shared, "") or next(known, "")
    if not ending:
        return ""
    # As many characters as the new term: Han text has no word boundaries, and names of a class are
    # mostly of one length.
    width = len(term) - len(ending)
    found = re.findall(rf"[\u4e00-\u9fff]{{{width}}}{ending}", topic)
    return topic.replace(found[0], term, 1) if len(found) == 1 else ""


def salient(question: str) -> str:
    """A question without the words that only ask."""
    text = question.strip()
    if _HAN.search(text):
        previous = None
        while previous != text:
            previous, text = text, _ASKING.sub("", text).strip(" ，,")
        return text or question
    return _ASKING_EN.sub("", text).strip() or question


# An answer this short names little more than what was asked for, so all of it is the antecedent.
_SHORT_ANSWER = 80


def _antecedents(answer: str) -> list[str]:
    text = " ".join(without_tags(answer).split())
    titles = cited_titles(answer)[:2]
    return [*titles, text] if 0 < len(text) <= _SHORT_ANSWER else titles


def _joined(*parts: str) -> str:
    return " ".join(dict.fromkeys(part.strip() for part in parts if part.strip()))


def _folded(text: str) -> str:
    # Traditional forms of the few characters that the small-talk lexicon is written with.
    folded = unicodedata.normalize("NFKC", text).replace("’", "'").lower()
    return folded.translate(_TRADITIONAL)


_TRADITIONAL = str.maketrans(
    "謝們麼嗎見興認識麻煩說講話聽點誰幾個還這後樣經過臺", "谢们么吗见兴认识麻烦说讲话听点谁几个还这后样经过台"
)
