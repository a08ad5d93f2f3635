"""Words that carry the form of a question, not its matter: left out of queries, never of an index."""

ENGLISH = frozenset(
    """
    a about above after again all also am an and any are aren't as at be because been before being below
    between both but by can can't could couldn't did didn't do does doesn't doing don't down during each few
    for from further had hadn't has hasn't have haven't having he her here hers herself him himself his how
    how's i i'd i'll i'm i've if in into is isn't it it's its itself just kindly let let's may me might more
    most must my myself of off on once only or other our ours ourselves out over own please same shall she
    should shouldn't so some such tell than that that's the their theirs them themselves then there there's
    these they they're this those through to too under until up us very was wasn't we we're were weren't what
    what's when when's where where's which while who who's whom whose why why's will with won't would wouldn't
    you you're your yours yourself yourselves
    """.split()
)

CHINESE = frozenset(
    """
    的 地 得 了 着 过 之 其 所 以 于 而 且 但 但是 并 并且 或 或者 及 以及 与 和 跟 同 把 被 让 给 对 对于
    关于 在 从 到 向 往 由 由于 因为 所以 因此 如果 若 则 虽然 然而 不过 就 才 也 还 又 再 都 均 只 很 更 最
    是 为 有 会 能 能够 可 可以 要 应 应该 应当 需 需要 将 这 那 这个 那个 这些 那些 这里 那里 此 该 每 各
    某 我 你 您 他 她 它 我们 你们 您们 他们 她们 它们 咱们 自己 人家 个 些 上 下 中 里 内 等 等等
    什么 甚么 啥 怎么 怎样 怎么样 怎么办 如何 为何 为什么 为啥 哪 哪个 哪些 哪里 哪儿 哪位 谁 谁的 几 几个
    多少 多大 多久 何 何时 何地 何种 是否 是不是 有没有 能不能 可不可以 会不会 要不要 请 请问 想问 问 一下
    告诉 知道 吗 呢 吧 啊 呀 嘛 哦 哈 啦 么 一个 一些 一种 有关 相关 哪一 哪一个 是什么 有哪些 来说 的话
    """.split()
)
