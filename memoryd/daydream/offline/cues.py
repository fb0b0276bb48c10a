"""Named cues: words that indicate whether a statement is worth keeping.

Most cues are English. German, French, Spanish, Russian and Chinese are included where a cue has a stock phrase. Cues
are general: none refers to a specific project, tool or person.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from memoryd.language.patterns import later

_I = re.IGNORECASE


def _words(*patterns: str) -> re.Pattern[str]:
    """Compile alternatives at word boundaries (Latin and Cyrillic).

    The alternatives in a string `=…|=…` match anywhere (CJK).
    """
    inside = [p[1:].replace("|=", "|") for p in patterns if p.startswith("=")]
    bounded = [p for p in patterns if not p.startswith("=")]
    parts = [rf"(?<![\w`])(?:{'|'.join(bounded)})(?!\w)"] if bounded else []
    return later("|".join(parts + inside), _I)


# Names of the cues that express a wish
WISH_CUES = frozenset({"wish", "norm", "prohibition", "standing rule", "alternative", "proposal"})
# Cues in the user's statements
USER_CUES: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "standing rule": _words(
            r"always|never|from now on|in (?:the )?future|going forward|every time|whenever|remember(?: that| to)?|"
            r"keep in mind",
            r"make sure (?:to|that|you)|at all times|by default|no matter what|under no circumstances|not allowed|forbidden|"
            r"only (?:\w+ ){1,4}?(?:may|can|(?:is|are) allowed to)",
            r"immer|niemals|nie|ab jetzt|künftig|in Zukunft|merk dir|denk daran|standardmäßig|verboten",
            r"toujours|jamais|désormais|à l'avenir|dorénavant|souviens-toi|par défaut|interdit",
            r"siempre|nunca|jamás|de ahora en adelante|a partir de ahora|recuerda|por defecto|prohibido",
            r"всегда|никогда|впредь|в будущем|отныне|запомни|помни(?:ть)?|по умолчанию|нельзя|запрещ\w+|обязательно",
            r"=以后|=永远|=从现在开始|=每次|=总是|=一律|=记住|=默认|=禁止|=绝不|=务必|=不允许|=必须",
        ),
        "prohibition": _words(
            r"(?<!\bI )(?<!\byou )(?<!\bthey )(?<!\bit )(?:do not|don'?t|dont)|never|no longer|"
            r"must ?n[o']t|mustn'?t|should ?n[o']t|shouldn'?t|avoid|stop \w+ing|"
            r"without \w+ing",
            r"not to \w+|(?:you|we) can ?not|not allowed|rather not",
            r"nicht|kein\w*|niemals|vermeide?|ne \w+ pas|n'\w+ pas|jamais|éviter?|nunca|jamás|no (?:uses|hagas|"
            r"pongas|quiero)|evita",
            r"никогда|не (?:надо|нужно|делай|используй|трогай|стоит|должн\w+)|нельзя|без",
            r"=不要|=别(?!人)|=不用|=不能|=不应该|=不需要|=没有必要|=不允许|=禁止|=不许|=避免",
        ),
        "wish": _words(
            r"I (?:would|'d|d)?\s?(?:really )?(?:only )?(?:want|like|prefer|need|love|wish|expect)|I'd (?:rather|like|"
            r"prefer|want)|I would",
            r"we (?:only )?(?:want|need|prefer|would (?:like|want))|i want|would (?:like|want|prefer)|prefer(?:ably|"
            r"red)?|perferably|rather",
            r"ich (?:möchte|will|bevorzuge|hätte gern\w*)|lieber|wir (?:wollen|möchten)|je (?:veux|préfère|voudrais)|"
            r"nous voulons|plutôt",
            r"quiero|prefiero|queremos|me gustaría|(?:я )?(?:хочу|хотел\w* бы|предпочитаю)|мы хотим|лучше",
            r"=我希望|=我想要?|=我们希望|=我更喜欢|=希望你?|=最好",
        ),
        "norm": _words(
            r"should(?:n'?t| not| only| just| also| always| never)?|must|(?:has|have|needs?|ought|supposed|required|"
            r"allowed) to|needs? to be",
            r"soll(?:te|ten|en)?|muss|müssen|darf|il faut|doit|doivent|devrait|debe(?:n|ría)?|hay que|solo|sólo|"
            r"должн\w+|нужно|надо|необходимо|только",
            r"=应该|=必须|=需要|=只(?:能|需|要|用)",
        ),
        "alternative": _words(
            r"instead(?: of)?|rather(?: than)?|in favou?r of|replace|not \w+ but|but not|without \w+ing|no longer",
            r"stattdessen|anstatt|statt|sondern|au lieu de|plutôt|en lugar de|en vez de|sino|вместо|а не",
            r"=而不是|=改成|=改为|=换成|=替换|=不用",
        ),
        "proposal": _words(
            r"let'?s|lets|why (?:not|don'?t (?:we|you))|(?:how|what) about|we(?:'ll| will| can just| could| decided)|"
            r"go(?:ing)? with|option \w|I like|keep|use",
            r"wir (?:nehmen|machen|sollten)|lass uns|on va|prenons|vamos (?:a|con)|usemos|давай(?:те)?|решили|пусть",
            r"=我们(?:可以|就|用)|=为什么不|=怎么不|=先|=使用|=采用|=就用|=保留",
        ),
        "correction": _words(
            r"^no\b|^nope|actually|not (?:the|that|what|a)|wrong|isn'?t (?:right|correct)|incorrect|should(?: not|"
            r"n'?t) be|I meant|I mean",
            r"doesn'?t work|that'?s not|thats not|but (?:this|that|the|we|it)|you (?:forgot|missed|should have|"
            r"didn'?t)|instead of|misunderst\w+",
            r"^nein|falsch|eigentlich|sondern|stimmt nicht|^non\b|faux|en fait|pas \w+ mais|^no,|en realidad|equivocad\w+|sino",
            r"^нет|неправильно|на самом деле|а не|не так|ошибк\w+",
            r"=^不[，,。是对]|=不对|=不是|=错了|=其实|=而不是|=应该是|=为什么不是|=我的意思",
        ),
        "reason": _words(
            r"because|since|so that|that'?s why|as (?:that|this|it|we)|given (?:the|that)|due to|otherwise|so (?:we|I|"
            r"that(?!'s))|the reason",
            r"weil|damit|sonst|deshalb|denn|parce que|car|sinon|pour que|porque|ya que|para que|si no|потому что|"
            r"так как|чтобы|иначе|поэтому",
            r"=因为|=所以|=否则|=这样|=由于|=导致|=以便",
        ),
        "condition": _words(
            r"when(?:ever)?|if|unless|only (?:if|when|for|the|first|at)|as long as|in case|for (?:all|each|every|now)|"
            r"until|before|after",
            r"wenn|falls|sobald|solange|quand|si|lorsque|à moins|cuando|mientras|когда|если|пока|только",
            r"=如果|=当|=只要|=的时候|=时候?，|=除非|=之后",
        ),
        "habit": _words(
            r"I (?:usually|always|never|often|generally|normally)|my (?:usual|preferred|setup|workflow|machine|team)|"
            r"we (?:usually|always|never)"
        ),
    }
)

# Cues of user statements not worth keeping
USER_NOISE: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "request": later(
            r"^(?:as (?:part|a step) of [^,]{3,40},\s*)?(?:ok(?:ay)?|yes|yeah|yep|sure|great|good|cool|thanks?|now|"
            r"and|also|so|p\w{0,3}l\w{0,2}ase|plz|pls|hmm+|well|alright)?[\s,.]*"
            r"(?:can|could|would|will) (?:you|we)\b|^(?:as (?:part|a step) of [^,]{3,40},\s*)?(?:p\w{0,3}l\w{0,2}ase |plz |"
            r"pls |now |first |ok,? )*(?:run|go to|check|commit|push|continue|proceed|try|show|look|read|write|"
            r"create|generate|fix|update|explain|tell|give|find|open|start|stop|restart|install|implement|add|make|"
            r"go ahead|do it|help|test|prepare|build|release|publish|bump|debug|analy[sz]e|document|describe|draft|print|"
            r"download|upload|copy|compare|count|measure|reproduce|inspect|send|wait|finish|complete|rerun|retry|"
            r"execute|launch|"
            r"set ?up|configure|refactor|figure out|work on|"
            r"verify|switch|review|search|list|merge|deploy|rebase|clean|delete|remove|summari[sz]e|investigate|"
            r"troubleshoot|reply|respond|answer|double[- ]check|log)\b"
            r"|^we (?:need|have) to (?:troubleshoot|fix|debug|investigate|figure out|look (?:at|into)|find out|check|test)\b"
            r"|[.!;] (?:can|could|would|will) you\b"
            r"|\bI(?:'d| would)?(?: also)? (?:need|want|like) you to\b|我?需要你|请你"
            r"|^(?:bitte|kannst du|peux-tu|puedes|сделай|проверь|можешь|запусти|продолж)|"
            r"^(?:请|帮我|你(?:能|可以)|继续|看看|看下|那请)",
            _I,
        ),
        "question": later(
            r"\?(?:\s|$)|？|^(?:so |and |but |ok |hmm+,? )?(?:why|what|how|where|when|who|which|is|are|does|do you|did|"
            r"can|could|any)\b|吗[？?。]?$|呢[？?。]?$|^(?:为什么|怎么|什么)|^(?:почему|как|что|зачем|где)\b|^(?:warum|wie|was|"
            r"wo)\b|^(?:pourquoi|comment)\b",
            _I,
        ),
        "permission": later(
            r"^(?:ok(?:ay)?|yes|yeah|yep|sure|go ahead|do it|sounds good|perfect|great|thanks?|lgtm|please do|"
            r"continue|its? perfect|"
            r"ja|oui|sí|да|好的?|可以|是的|嗯)[\s.,!。，]*$|\b(?:allow|you (?:can|may)|feel free)\b",
            _I,
        ),
        "report": later(
            r"^seems?\b|\b(?:error|exception|failed|traceback|stack ?trace|not found|cannot find|undefined|warning:|fatal:|"
            r"still|happen(?:s|ed|ing)|I(?: still| just| also)? (?:get|got|see|saw|am getting|removed|did|tried|"
            r"edited|continued|can'?t|cannot|don'?t see)|getting|seems? (?:to|that|like)|looks? like|it looks|"
            r"^if (?:I|you|we) (?:just |only |now )?(?:run|do|start|open|click|rename|call|type|use|try|go|press|enter|"
            r"visit)\b|"
            r"I(?:'ve| have) (?:only |just |also )*(?:recently |just )?(?:started|noticed|seen|observed|found)|"
            r"(?:that|this|it) has (?:already )?been|we (?:just )?caught|"
            r"there(?:'s| is| are) no|is(?:n'?t| not) (?:working|showing|displayed)|doesn'?t seem|again|fehler|"
            r"ошибка)\b|报错|错误|失败|没有|还是|看到|收到",
            _I,
        ),
        "uncertain": later(
            r"\b(?:I (?:think|guess) (?:we|you|it|that) (?:can|could)|"
            r"maybe|perhaps|might|wonder(?:ing)?|not sure|(?:does ?n[o']t|not necessarily) mean|I guess|could be|"
            r"possibly|probably|vielleicht|"
            r"peut-être|quizás|может быть|наверное)\b"
            r"|可能|也许|大概|不确定",
            _I,
        ),
        "for this task": later(
            r"^(?:as (?:a )?part of (?:the|this|your|that) (?:work|task|change|fix|pr|step|job)\b|for this (?:task|pr|"
            r"session)\b|"
            r"let'?s not \w+ (?:this|that|it)[^.]* in this \w+)|^(?:I (?:allow|permit) you|you have my permission)\b|"
            r"\b(?:just|anything(?: else)?|something(?: else)?) yet\b\W*$|\bultra ?think\b|先别"
            r"|^(?:im Rahmen (?:der|dieser)|dans le cadre d|como parte de|в рамках)|^作为[^，]*的一部分",
            _I,
        ),
        "quote": later(
            r"^(?:you (?:wrote|said|say|mentioned|told)|du (?:schriebst|sagtest)|tu as (?:écrit|dit)|dijiste|"
            r"ты (?:написал|сказал))\b|^你(?:说|写)(?:的|过|了)?[:：]",
            _I,
        ),
        # Labels of a pasted report, such as "Title: …" and "High severity - …".
        "label": later(r"^[`\"]?[A-Z][\w /`-]{2,30}[`\"]?\s?[:—–]\s"),
        # An exclamation, or a sentence whose subject is in another sentence. It is meaningless on its own.
        "no subject": later(
            r"^(?:it(?! turn(?:s|ed) out\b)|its|it'?s|they|they'?re|these|those|this is (?:why|how|what|where))\b|"
            r"^(?:[\w ,]{0,12})?\bwait\b|^[它他她]们?|^(?:es|ils?|elles?|они|оно)\b",
            _I,
        ),
        "terminal": later(
            r"(?:^|\s)[\w.-]+@[\w.-]+:\S*[$#] |(?:^|\s)[$❯>%] \w+|\bfatal: |\bat \S+:\d+:\d+|^\[?\d\d:\d\d|Traceback",
            _I,
        ),
    }
)

# Cues in the assistant's statements
AGENT_CUES: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "root cause": later(
            r"\b(?:root cause|the (?:real |actual |core |underlying )?(?:cause|issue|problem|bug|culprit|reason|error)"
            r"(?: here| now)?(?: is| was|:| turns out)|(?:is|was) caused by|happen(?:s|ed) because|fail(?:s|"
            r"ed)? because|that'?s why|this is why|"
            r"the reason\b|due to|turns? out|what happened:|wasn'?t (?:being )?(?:passed|set|called|receiving)|"
            r"isn'?t (?:being )?(?:passed|set|receiving))"
            r"|^(?:cause|problem|issue|ursache|das problem|la cause|le problème|la causa|el problema)\b.{0,3}[:—-]"
            r"|(?:die )?ursache (?:ist|war)|la cause (?:est|était)|la causa (?:es|era)|причин[аы]|проблема (?:в|была)|"
            r"根因|根本原因|原因是|问题是|问题在于|是因为|由于|导致",
            _I,
        ),
        "because": later(
            r"\b(?:because|since|so that|which (?:means|causes?|caused|is why)|, so\b|as a result|therefore|"
            r"otherwise)\b|因此|所以|因为|потому|поэтому|weil|parce que|porque",
            _I,
        ),
        "fix": later(
            r"\b(?:the (?:real |simplest |correct |proper )?(?:fix|solution|workaround)\b|fixed (?:by|it by)|(?:is|"
            r"was) to (?:use|replace|point)|resolved by|works? (?:by|if|when|only)|"
            r"need(?:s|ed)? to be|must (?:be|use|have)|die lösung|la solution|la solución|"
            r"решение)\b|修复|解决(?:方案|办法)|需要先|请改用",
            _I,
        ),
        "limit": later(
            r"\b(?:does(?: not|n'?t)|do(?: not|n'?t) (?:support|work|have|exist|use)|cannot|can'?t|never|no longer|"
            r"only (?:when|if|the|works?|supports?|fires?|for|at|on)?|"
            r"not (?:supported|exposed|available|allowed|required|needed)|isn'?t|aren'?t|wasn'?t|won'?t|lacks?|"
            r"missing|without|must not|nicht|kein\w*|не (?:поддерживает|работает))\b"
            r"|不支持|不能|无法|不会|没有|不存在|已弃用|只(?:有|能)",
            _I,
        ),
        "contrast": later(
            r"\b(?:instead of|rather than|not (?:the|just|only)|but (?:the|it|not)|unlike|whereas|while)\b|而不是|而非|"
            r"вместо|statt|au lieu",
            _I,
        ),
        "behaviour": later(
            r"\b(?:by default|defaults? to|always|automatically|falls? back|fallback|each time|every time|in (?:dev|"
            r"development|production|prod) mode)\b|自动|默认|每次|以后|по умолчанию|автоматически|"
            r"standardmäßig|par défaut|por defecto",
            _I,
        ),
        "verb of state": later(
            r"\b(?:is|are|uses?|reads?|writes?|stores?|stored|runs?|requires?|expects?|returns?|contains?|supports?|"
            r"converts?|caches?|points? to|lives? (?:in|at)|"
            r"derives?|captures?|shows?|accepts?|handles?|depends?|points?|installs?|creates?|sets?|executes?|logged|"
            r"rewrites?|fires?|overrid\w+)\b|是|使用|需要|位于",
            _I,
        ),
    }
)

AGENT_NOISE: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "plan": later(
            r"\b(?:let me|let's|i'll|i will|i'm going to|i need to|i should|i can|i want to|we need to|we should|"
            r"going to|next,|first,|step \d)\b|^now (?:let|i|we|update|add|the|set|use|for|fix|create|run|also)\b"
            r"|让我|我(?:来|先|会|将|需要|现在)|接下来|现在(?:让|来|我|修)|давай|сейчас|теперь (?:я|обнов)|"
            r"lass mich|ich werde|je vais|voy a",
            _I,
        ),
        "question": later(
            r"[?？]\s*$|\b(?:would you like|do you want|want me to|shall i|should i|let me know|which (?:one|option|"
            r"approach|would)|what would you)\b|要我|需要我|你(?:想|要|觉得)",
            _I,
        ),
        "speculation": later(
            r"\b(?:might|may (?:be|have|need)|maybe|perhaps|probably|likely|possibly|could be|could have|seems?|"
            r"appears?|i (?:think|suspect|believe|guess|assume)|"
            r"suggests?|hypothesis|theory|presumably|vielleicht|wahrscheinlich|peut-être|probablemente|возможно|"
            r"вероятно)\b|可能|也许|大概|应该是|似乎",
            _I,
        ),
        "progress": later(
            r"^(?:done|fixed|added|created|updated|removed|implemented|committed|pushed|verified|all (?:tests?|done|"
            r"checks?)|build|lint|tests?|perfect|excellent|great|changed|modified|moved|renamed|"
            r"refactored|wrote|deleted|replaced|complete|everything|clean|ready|running|checking|looking)\b"
            r"|\b(?:tests? pass(?:ed|es)?|\d+ (?:tests?|passed|pass|failed|files?)|all (?:green|passing)|no (?:errors|"
            r"issues|regressions)|compiles?|builds? (?:cleanly|successfully|passes)|successfully|"
            r"working tree|is running|are running|is (?:up|complete|ready|clean|done)|complete!?$)\b|^(?:完成|已|搞定|成功|"
            r"готово|fertig|terminé|listo)",
            _I,
        ),
        "transient": later(
            r"\b(?:currently|right now|still|at the moment|this (?:session|run|time)|(?:un)?(?:staged|committed|"
            r"tracked)|line \d+|"
            r"the (?:diff|diagnostics|output|trace|screenshot|logs?) (?:now |only |also )?(?:shows?|says?)|gerade|"
            r"actuellement|ahora mismo|сейчас)\b|目前|当前会话|刚刚",
            _I,
        ),
        # Statements made while the assistant is still investigating
        "aloud": later(
            r"^(?:so|wait|hmm+|actually|oh|ah|aha|interesting(?:ly)?|ok(?:ay)?|but wait|looking at|i see|i understand|"
            r"the fact that|found it|there it is|got it|hold on|also ist|donc|entonces|так|значит|所以|等等|看来|原来)\b",
            _I,
        ),
        # One of several offered options. Only the user's choice counts.
        "offer": later(r"^(?:option|alternative|approach|variante?|opción|вариант|选项|方案)\s*(?:\d|[a-d]\b|[一二三四])", _I),
        "promise": later(
            r"^(?:(?:ok|okay|sure|great|perfect|good|so|now|first|next|then)[,.! ]+)*(?:let me|let's|lets|i'll|i will|"
            r"i'm going to|i need to|i should|i can now|i want to)\b|^(?:now )?(?:i've|i have) (?:now )?(?:added|set|updated|"
            r"fixed|created|removed|made|committed|pushed|completed|finished|run|implemented)\b|"
            r"\blet me\b|^i can (?:help|start|create|continue|check|look)\b|^(?:现在)?(?:让我|我(?:来|会帮|帮|先|将))|"
            r"^(?:давай|я (?:помогу|создам|сейчас))|^ich (?:helfe|werde)|^lass mich|^je vais|^voy a",
            _I,
        ),
        # A sentence whose subject is in another sentence. It is meaningless on its own.
        "no subject": later(r"^(?:it(?! turn(?:s|ed) out\b)|they|these|those|he|she|its|it'?s|they'?re)\b|^[它他她]们?", _I),
        # For "my process has no terminal", a later reader can't tell whose process is meant.
        "speaks of itself": later(r"^(?:my|i|i'm|i've|мой|моя|я|mein\w*|ich|mon|ma|je)\b|^我(?!们)", _I),
        "first person": later(
            r"\b(?:I|I'm|I've|I'd|my|me|we|we're|we've|our)\b|我(?!们)|\bя\b|\bich\b|\bje\b|\bj'ai\b",
            _I,
        ),
        "commit": later(
            r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b|https?://|\bPR #?\d+|\bcommit(?:ted)? `?[0-9a-f]{7}|"
            r"\b(?:these|this|that|both|all) (?:\d+ )?commits?\b|\bto (?:main|master)\b|\borigin/",
            _I,
        ),
    }
)

# Openings of the assistant's replies to new information or a correction.
AGREEMENT = later(
    r"^(?:you'?re (?:absolutely |completely )?right|(?:that'?s a )?(?:good|great|fair|excellent) (?:point|catch|call|"
    r"idea|thinking)|fair enough|agreed|got it|"
    r"makes sense|understood|exactly|correct|right\b|yes\b|absolutely|ah\b|i see|sorry|my (?:mistake|bad)|apolog|"
    r"you raise|that makes|"
    r"du hast recht|stimmt|verstanden|tu as raison|compris|tienes razón|entendido|вы правы|ты прав|верно|понял\w*)"
    r"|^(?:你说得对|你说的对|对[！!，,。]|明白|好的|好主意|没错|这个(?:想法|思路)|是的|了解|理解|收到|抱歉)",
    _I,
)

GOOD_HEADING = later(
    r"root cause|problem|cause|issue|fix(?:ed)?\b|what happened|finding|discover|decision|decided|behaviou?r|"
    r"how it works|design|insight|lesson|learned|note|important|caveat|gotcha|limitation|result|summary of|"
    r"why|this fixes|ursache|entscheidung|décision|cause|решени|вывод|причин|ключев|"
    r"决策|决定|原因|问题|结论|根因|关键|规则|注意|方案",
    _I,
)
BAD_HEADING = later(
    r"files?\b|changes? made|what changed|usage|how to (?:use|test|run)|to (?:test|run)|test(?:s|ing)?\b|next steps?|"
    r"option|benefit|pros|cons|example|step \d|setup|created|modified|todo|verification|commands?|phase|"
    r"recommend|alternatives?|questions?|progress|structure|dateien|fichiers|файл|文件|步骤|测试|用法|下一步|选项|好处|改动",
    _I,
)
ERROR_REPORT = later(
    r"\b(?:error|fail(?:s|ed|ing)?|broken|doesn'?t work|not working|bug|crash\w*|wrong|issue|problem|why|fehler|"
    r"ошибк\w+|erreur)\b|报错|错误|失败|不对|问题|为什么",
    _I,
)
# Names of things: code, flags, variables, paths, files, tickets, acronyms, quoted labels, and Latin names within CJK text.
IDENTIFIER = later(
    r"`[^`]+`|(?<!\w)--?[a-z][\w-]+|(?<![\w/.])/[a-z][\w-]+(?::[\w-]+)?(?![\w/.:])|\b[A-Z][A-Z0-9]+_[A-Z0-9_]+\b|"
    r"\b[a-z]+[A-Z]\w+\b|\b[A-Z][a-z]+[A-Z]\w+\b|"
    r"\b\w+_\w+\b|(?<!\w)[~.]?/?[\w.-]+/[\w./-]+|\b\w+\.(?:py|go|ts|tsx|js|json|md|sh|ya?ml|toml|env|rs|java|c|h)\b|"
    r"\b[A-Z]{2,}s?(?:-\d+)?\b|\b[A-Za-z]+\d[A-Za-z]\w*|[\"“][^\"“”]{3,40}[\"”]|"
    r"(?<=[一-鿿])\s?[A-Za-z][\w-]{2,}|\b[A-Za-z][\w-]{2,}(?=\s?[一-鿿])"
)
