"""Named cues: words that show that a statement is worth keeping, or that it is not. English first; German, French,
Spanish, Russian and Chinese where a cue has a stock phrase. A cue is general: it names no project, tool or person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

_I = re.IGNORECASE


def _words(*patterns: str) -> re.Pattern[str]:
    """Alternatives at word borders (Latin and Cyrillic letters); those with a leading `=` stand anywhere (CJK)."""
    inside = [p[1:] for p in patterns if p.startswith("=")]
    bounded = [p for p in patterns if not p.startswith("=")]
    parts = [rf"(?<![\w`])(?:{'|'.join(bounded)})(?!\w)"] if bounded else []
    return re.compile("|".join(parts + inside), _I)


# What the user says.
USER_CUES: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "standing rule": _words(
            r"always|never|from now on|in (?:the )?future|going forward|every time|whenever|remember(?: that| to)?|keep in mind",
            r"make sure (?:to|that|you)|at all times|by default|no matter what|under no circumstances|not allowed|forbidden",
            r"immer|niemals|nie|ab jetzt|künftig|in Zukunft|merk dir|denk daran|standardmäßig|verboten",
            r"toujours|jamais|désormais|à l'avenir|dorénavant|souviens-toi|par défaut|interdit",
            r"siempre|nunca|jamás|de ahora en adelante|a partir de ahora|recuerda|por defecto|prohibido",
            r"всегда|никогда|впредь|в будущем|отныне|запомни|помни(?:ть)?|по умолчанию|нельзя|запрещ\w+|обязательно",
            r"=以后|=永远|=从现在开始|=每次|=总是|=一律|=记住|=默认|=禁止|=绝不|=务必|=不允许|=必须",
        ),
        "prohibition": _words(
            r"do not|don'?t|dont|never|no longer|must ?n[o']t|mustn'?t|should ?n[o']t|shouldn'?t|avoid|stop \w+ing|without \w+ing",
            r"not to \w+|can ?not|not allowed|rather not|no need (?:to|for)",
            r"nicht|kein\w*|niemals|vermeide?|ne \w+ pas|n'\w+ pas|éviter?|no (?:uses|hagas|pongas|quiero)|evita",
            r"не (?:надо|нужно|делай|используй|трогай|стоит|должн\w+)|нельзя|без",
            r"=不要|=别(?!人)|=不用|=不能|=不应该|=不需要|=没有必要|=不允许|=禁止|=不许|=避免",
        ),
        "wish": _words(
            r"I (?:would|'d|d)?\s?(?:really )?(?:only )?(?:want|like|prefer|need|love|wish|expect)|I'd (?:rather|like|prefer|want)|I would",
            r"we (?:only )?(?:want|need|prefer|would (?:like|want))|i want|would (?:like|want|prefer)|prefer(?:ably|red)?|perferably|rather",
            r"ich (?:möchte|will|bevorzuge|hätte gern\w*)|lieber|wir (?:wollen|möchten)|je (?:veux|préfère|voudrais)|nous voulons|plutôt",
            r"quiero|prefiero|queremos|me gustaría|(?:я )?(?:хочу|хотел\w* бы|предпочитаю)|мы хотим|лучше",
            r"=我希望|=我想要?|=我们希望|=我更喜欢|=希望你?|=最好",
        ),
        "decision": _words(
            r"let'?s|lets|we(?:'ll| will| should| can just| decided)|go(?:ing)? with|option \w|I like|instead of|instead|in favou?r of",
            r"should (?:just |only |also |be |not |have |use )?|must|has to|have to|needs? to|only|just use|use \w+ (?:to|for|as|instead)",
            r"wir (?:nehmen|machen|sollten)|lass uns|stattdessen|soll(?:te|en)?|muss|on va|prenons|au lieu de|il faut|doit",
            r"vamos (?:a|con)|usemos|en lugar de|hay que|debe|давай(?:те)?|вместо|нужно|надо|должн\w+|решили|пусть",
            r"=应该|=我们(?:可以|就|用)|=先|=而不是|=只(?:能|需|要|用)|=改成|=使用|=采用|=就用|=需要",
        ),
        "correction": _words(
            r"^no\b|^nope|actually|not (?:the|that|what|a)|wrong|isn'?t (?:right|correct)|incorrect|should(?: not|n'?t) be|I meant|I mean",
            r"doesn'?t work|that'?s not|thats not|but (?:this|that|the|we|it)|you (?:forgot|missed|should have|didn'?t)|instead of|misunderst\w+",
            r"^nein|falsch|eigentlich|sondern|stimmt nicht|^non\b|faux|en fait|pas \w+ mais|^no,|en realidad|equivocad\w+|sino",
            r"^нет|неправильно|на самом деле|а не|не так|ошибк\w+",
            r"=^不[，,。是对]|=不对|=不是|=错了|=其实|=而不是|=应该是|=为什么不是|=我的意思",
        ),
        "reason": _words(
            r"because|since|so that|that'?s why|as (?:that|this|it|we)|given (?:the|that)|due to|otherwise|so (?:we|it|that|I)|the reason",
            r"weil|damit|sonst|deshalb|denn|parce que|car|sinon|pour que|porque|ya que|para que|si no|потому что|так как|чтобы|иначе|поэтому",
            r"=因为|=所以|=否则|=这样|=由于|=导致|=以便",
        ),
        "condition": _words(
            r"when(?:ever)?|if|unless|only (?:if|when|for|the|first|at)|as long as|in case|for (?:all|each|every|now)|until|before|after",
            r"wenn|falls|sobald|solange|quand|si|lorsque|à moins|cuando|mientras|когда|если|пока|только",
            r"=如果|=当|=只要|=的时候|=时候?，|=除非|=之后",
        ),
        "opinion": _words(
            r"I think|i think|in my opinion|I believe|I feel|seems? (?:better|like)|better (?:to|not)|makes? sense|I suggest|I would suggest",
            r"ich (?:denke|glaube|finde)|je pense|creo que|я думаю|думаю|считаю|=我觉得|=我认为|=建议",
        ),
        "habit": _words(
            r"I (?:usually|always|never|often|generally|normally)|my (?:usual|preferred|setup|workflow|machine|team)|we (?:usually|always|never)"
        ),
    }
)

# What the user says that is not worth keeping.
USER_NOISE: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "request": re.compile(
            r"^(?:ok(?:ay)?|yes|yeah|yep|sure|great|good|cool|thanks?|now|and|also|so|please|pls|hmm+|well|alright)?[\s,.]*"
            r"(?:can|could|would|will) (?:you|we)\b|^(?:please |now |ok,? )*(?:run|check|commit|push|continue|proceed|try|show|look|read|write|"
            r"create|generate|fix|update|explain|tell|give|find|open|start|stop|restart|install|implement|add|make|go ahead|do it|help|test|"
            r"verify|switch|review|search|list|merge|deploy|rebase|clean|delete|remove|summari[sz]e|investigate)\b"
            r"|^(?:bitte|kannst du|peux-tu|puedes|сделай|проверь|можешь|запусти|продолж)|^(?:请|帮我|你(?:能|可以)|继续|看看|看下|那请)",
            _I,
        ),
        "question": re.compile(
            r"\?\s*$|？\s*$|^(?:so |and |but |ok |hmm+,? )?(?:why|what|how|where|when|who|which|is|are|does|do you|did|can|could|any)\b"
            r"|吗[？?。]?$|呢[？?。]?$|^(?:为什么|怎么|什么)|^(?:почему|как|что|зачем|где)\b|^(?:warum|wie|was|wo)\b|^(?:pourquoi|comment)\b",
            _I,
        ),
        "permission": re.compile(
            r"^(?:ok(?:ay)?|yes|yeah|yep|sure|go ahead|do it|sounds good|perfect|great|thanks?|lgtm|please do|continue|its? perfect|"
            r"ja|oui|sí|да|好的?|可以|是的|嗯)[\s.,!。，]*$|\b(?:allow|you (?:can|may)|feel free)\b",
            _I,
        ),
        "report": re.compile(
            r"\b(?:error|exception|failed|traceback|stack ?trace|not found|cannot find|undefined|warning:|fatal:|still (?:see|get|not|the|is)|"
            r"I (?:get|got|see|am getting|removed|did|tried|just)|getting|seems? (?:to|that)|looks? like|fehler|ошибка)\b|报错|错误|失败",
            _I,
        ),
        "uncertain": re.compile(
            r"\b(?:maybe|perhaps|might|wonder(?:ing)?|not sure|I guess|could be|possibly|probably|vielleicht|peut-être|quizás|может быть|наверное)\b"
            r"|可能|也许|大概|不确定",
            _I,
        ),
        "now": re.compile(
            r"\b(?:this (?:time|one|commit|branch|pr)|right now|today|again|the (?:pr|branch|commit))\b|现在|今天|这次", _I
        ),
    }
)

# What the assistant says.
AGENT_CUES: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "root cause": re.compile(
            r"\b(?:root cause|the (?:real |actual |core |underlying )?(?:cause|issue|problem|bug|culprit|reason|error)"
            r"(?: here| now)?(?: is| was|:| turns out)|(?:is|was) caused by|happen(?:s|ed) because|fail(?:s|ed)? because|that'?s why|this is why|"
            r"the reason\b|due to|turns? out|what happened:|wasn'?t (?:being )?(?:passed|set|called|receiving)|isn'?t (?:being )?(?:passed|set|receiving))"
            r"|^(?:cause|problem|issue|ursache|das problem|la cause|le problème|la causa|el problema)\b.{0,3}[:—-]"
            r"|(?:die )?ursache (?:ist|war)|la cause (?:est|était)|la causa (?:es|era)|причин[аы]|проблема (?:в|была)|根因|根本原因|原因是|问题是|问题在于|是因为|由于|导致",
            _I,
        ),
        "because": re.compile(
            r"\b(?:because|since|so that|which (?:means|causes?|caused|is why)|, so\b|as a result|therefore|otherwise)\b|因此|所以|因为|потому|поэтому|weil|parce que|porque",
            _I,
        ),
        "fix": re.compile(
            r"\b(?:the (?:real |simplest |correct |proper )?(?:fix|solution|workaround)\b|fixed (?:by|it by)|(?:is|was) to (?:use|replace|point)|resolved by|works? (?:by|if|when|only)|"
            r"need(?:s|ed)? to be|must (?:be|use|have)|die lösung|la solution|la solución|решение)\b|修复|解决(?:方案|办法)|需要先|请改用",
            _I,
        ),
        "finding": re.compile(
            r"\b(?:key (?:finding|discovery|insight)|(?:major|critical|important) finding|found (?:it|the|that)|confirm(?:s|ed)|discovered|it turns out|"
            r"verified that|we (?:tested|found)|the (?:data|logs?|docs?|documentation) (?:show|say)s?|wichtig|entdeckt|обнаруж\w+|выяснил\w+)\b|发现|确认|关键",
            _I,
        ),
        "limit": re.compile(
            r"\b(?:does(?: not|n'?t)|do(?: not|n'?t) (?:support|work|have|exist|use)|cannot|can'?t|never|no longer|only (?:when|if|the|works?|supports?|fires?|for|at|on)?|"
            r"not (?:supported|exposed|available|allowed|required|needed)|isn'?t|aren'?t|wasn'?t|won'?t|lacks?|missing|without|must not|nicht|kein\w*|не (?:поддерживает|работает))\b"
            r"|不支持|不能|无法|不会|没有|不存在|已弃用|只(?:有|能)",
            _I,
        ),
        "contrast": re.compile(
            r"\b(?:instead of|rather than|not (?:the|just|only)|but (?:the|it|not)|unlike|whereas|while)\b|而不是|而非|вместо|statt|au lieu",
            _I,
        ),
        "behaviour": re.compile(
            r"\b(?:now|by default|defaults? to|always|automatically|falls? back|fallback|when(?:ever)?|each time|every time|in (?:dev|development|production|prod) mode)\b"
            r"|现在|自动|默认|每次|以后|当|теперь|по умолчанию|автоматически",
            _I,
        ),
        "decision": re.compile(
            r"\b(?:agreed|we(?:'ll| will)|decided|decision|got it\s?[-—:,]|single source of truth|approach:|chosen|will (?:be|use|create|only|now))\b"
            r"|决定|采用|统一|方案|решили|решение",
            _I,
        ),
        "verb of state": re.compile(
            r"\b(?:is|are|uses?|reads?|writes?|stores?|stored|runs?|requires?|expects?|returns?|contains?|supports?|converts?|caches?|points? to|lives? (?:in|at)|"
            r"derives?|captures?|shows?|accepts?|handles?|depends?|points?|installs?|creates?|sets?|executes?|logged|rewrites?|fires?|overrid\w+)\b|是|使用|需要|位于",
            _I,
        ),
        "agreement": re.compile(
            r"^(?:you'?re (?:absolutely |completely )?right|good (?:point|catch|call|question|idea)|fair (?:point|enough)|great (?:point|catch|idea)|excellent (?:catch|point)|agreed|got it|"
            r"makes sense|understood|exactly|correct|right\b|yes\b|absolutely|du hast recht|tu as raison|tienes razón|вы правы|верно|понял)|^(?:你说得对|对[！!，,]|明白|好的?|没错|这个(?:想法|思路)|是的)",
            _I,
        ),
    }
)

AGENT_NOISE: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "plan": re.compile(
            r"\b(?:let me|let's|i'll|i will|i'm going to|i need to|i should|i can|i want to|we need to|we should|going to|next,|first,|step \d)\b|^now (?:let|i|we|update|add|the|set|use|for|fix|create|run|also)\b"
            r"|让我|我(?:来|先|会|将|需要|现在)|接下来|现在(?:让|来|我|修)|давай|сейчас|теперь (?:я|обнов)|lass mich|ich werde|je vais|voy a",
            _I,
        ),
        "question": re.compile(
            r"[?？]\s*$|\b(?:would you like|do you want|want me to|shall i|should i|let me know|which (?:one|option|approach|would)|what would you)\b|要我|需要我|你(?:想|要|觉得)",
            _I,
        ),
        "speculation": re.compile(
            r"\b(?:might|may (?:be|have|need)|maybe|perhaps|probably|likely|possibly|could be|could have|seems?|appears?|i (?:think|suspect|believe|guess|assume)|"
            r"suggests?|hypothesis|theory|presumably|vielleicht|wahrscheinlich|peut-être|probablemente|возможно|вероятно)\b|可能|也许|大概|应该是|似乎",
            _I,
        ),
        "progress": re.compile(
            r"^(?:done|fixed|added|created|updated|removed|implemented|committed|pushed|verified|all (?:tests?|done|checks?)|build|lint|tests?|perfect|excellent|great|changed|modified|moved|renamed|"
            r"refactored|wrote|deleted|replaced|complete|everything|clean|ready|running|checking|looking)\b"
            r"|\b(?:tests? pass(?:ed|es)?|\d+ (?:tests?|passed|pass|failed|files?)|all (?:green|passing)|no (?:errors|issues|regressions)|compiles?|builds? (?:cleanly|successfully|passes)|successfully|"
            r"working tree|is running|are running|is (?:up|complete|ready|clean|done)|complete!?$)\b|^(?:完成|已|搞定|成功|готово|fertig|terminé|listo)",
            _I,
        ),
        "celebration": re.compile(
            r"^(?:perfect|excellent|great|awesome|wonderful|good|nice|amazing|fantastic|done|success\w*)\b[^.]{0,40}[!.]|\b(?:zero friction|seamless|professional|robust|comprehensive|production-ready|polished|best practices|benefits?)\b",
            _I,
        ),
        "instruction to user": re.compile(
            r"\b(?:you (?:can|could|may|should|need|'ll|will|might|want)|try (?:it|the|again|reloading|logging)|your (?:terminal|browser|shell)|open (?:the|a)|make sure|restart|reload|run:|then run|to test)\b|^(?:run|open|go|click|copy|set|start|check|test|ensure|install|navigate|use|try|enter)\b|你可以|试试|请",
            _I,
        ),
        "change log": re.compile(
            r"^`?[\w./-]+\.(?:\w{1,5})`?(?: ?\([^)]*\))?\s?(?::|[-—–])|^(?:added|created|updated|modified|removed|changed|add|create|update|modify|remove|improved?|enhanced?|new)\b|\(lines? [\d-]+\)|^(?:新增|添加|更新|创建|修改)",
            _I,
        ),
        "narration": re.compile(
            r"^(?:i (?:see|can see|found|have|notice|understand|now|also|added|fixed|updated|created|removed|made|ran|checked|reviewed|verified)|looking at|here'?s|here is|here are|there(?:'s| is| are)|this (?:is|means|shows|looks|will)|that'?s|those|these|the (?:test|tests|build|diff|output|changes?|file|code|error|following)\b)",
            _I,
        ),
        "commit": re.compile(
            r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b|https?://|\bPR #?\d+|\bcommit(?:ted)? `?[0-9a-f]{7}", _I
        ),
        "ends open": re.compile(r"[:：]\s*$"),
    }
)

GOOD_HEADING = re.compile(
    r"root cause|problem|cause|issue|fix(?:ed)?\b|what happened|finding|discover|decision|decided|behaviou?r|how it works|design|insight|lesson|learned|note|important|caveat|gotcha|limitation|result|summary of|"
    r"why|this fixes|ursache|entscheidung|décision|cause|решени|вывод|причин|ключев|决策|决定|原因|问题|结论|根因|关键|规则|注意|方案",
    _I,
)
BAD_HEADING = re.compile(
    r"files?\b|changes? made|what changed|usage|how to (?:use|test|run)|to (?:test|run)|test(?:s|ing)?\b|next steps?|option|benefit|pros|cons|example|step \d|setup|created|modified|todo|verification|commands?|phase|"
    r"recommend|alternatives?|questions?|progress|structure|dateien|fichiers|файл|文件|步骤|测试|用法|下一步|选项|好处|改动",
    _I,
)
ERROR_REPORT = re.compile(
    r"\b(?:error|fail(?:s|ed|ing)?|broken|doesn'?t work|not working|bug|crash\w*|wrong|issue|problem|why|fehler|ошибк\w+|erreur)\b|报错|错误|失败|不对|问题|为什么",
    _I,
)
IDENTIFIER = re.compile(
    r"`[^`]+`|(?<!\w)--?[a-z][\w-]+|\b[A-Z][A-Z0-9]+_[A-Z0-9_]+\b|\b[a-z]+[A-Z]\w+\b|\b[A-Z][a-z]+[A-Z]\w+\b|\b\w+_\w+\b|(?<!\w)[~.]?/?[\w.-]+/[\w./-]+|\b\w+\.(?:py|go|ts|tsx|js|json|md|sh|ya?ml|toml|env|rs|java|c|h)\b"
)
NUMBER = re.compile(r"\d")
