"""Words that tie a sentence to the moment, to a place, or to something pointed at. Pure functions.

Statements with such words apply only to the current task. The languages are English, German, French, Spanish,
Portuguese, Russian, Chinese, Japanese and Korean.
"""

from __future__ import annotations

import re

from memoryd.language.patterns import later

_I = re.IGNORECASE
# "From now on" contains "now" but means the opposite. So does "not … any more", which describes an end.
STANDING = later(
    r"\b(?:from (?:now|here|today|this point) on(?:wards?)?(?: out)?|going forward|(?:starting|beginning|"
    r"effective)(?: from)? (?:now|today|immediately|with this session)|"
    r"(?:for|in|across) (?:all|any|every|each) (?:future|further|later|upcoming|coming|following|new) \w+|"
    r"for future (?:reference|sessions?|work|tasks?|changes)|"
    r"for (?:the future|the rest of (?:this|the) project)|(?:für|in|bei) (?:alle[nr]?|jede\w?) (?:weiteren?|künftigen?|"
    r"zukünftigen?|kommenden?) \w+|"
    r"(?:pour|dans) (?:toutes? les|tous les) (?:prochain\w*|futur\w*) \w+|(?:pour|dans) (?:toutes? les|"
    r"tous les) \w+ (?:futur\w*|à venir)|dès maintenant|"
    r"(?:para|en) (?:todas las|todos los) (?:futur\w+|próxim\w+) \w+|(?:para|en) (?:todas las|todos los) \w+ futur\w+|"
    r"a partire da (?:ora|adesso|oggi)|"
    r"(?:для|во) все[хм]? (?:будущих|дальнейших|следующих) \w+|as of (?:now|today)|from this point (?:on|"
    r"forward)|henceforth|"
    r"(?:ab|von) (?:jetzt|nun|sofort|heute)(?: an)?(?! (?:auf|in) der)|künftig|in Zukunft|zukünftig|"
    r"désormais|dorénavant|à partir de maintenant|à l'avenir|"
    r"(?:de|a partir de) (?:ahora|hoy)(?: en adelante)?|en adelante|"
    r"(?:a partir de|de) agora(?: em diante)?|daqui (?:em diante|para a frente)|"
    r"d'ora in (?:poi|avanti)|da (?:ora|oggi) in poi|vanaf (?:nu|vandaag)|voortaan|"
    r"od (?:teraz|dziś|dzisiaj)|från och med (?:nu|idag)|"
    r"fra (?:nå|nu) av|fra og med nå|bundan sonra|şu andan itibaren|từ (?:giờ|nay)|відтепер|надалі|"
    r"отныне|впредь|(?:с|от) (?:этого момента|сегодняшнего дня)|с сегодняшнего дня|на будущее|в будущем)\b"
    r"|从现在(?:开始|起)|从今(?:以后|天起|往后)|今后|往后|(?<!我)以后(?!.{0,6}再|会|希望)|今後|これから|앞으로|지금부터",
    _I,
)
# Valid only for hours, or only for what the user points at. Such sentences are never acts of memory.
_HARD = later(
    r"^wait\b|\bwait(?=[,!.:])|\b(?:no|,) ?wait\b|\b(?:right now|for now|just now|now|yet|hold on|today|tonight|tomorrow|"
    r"yesterday|this (?:morning|afternoon|evening|week(?:end)?)|"
    r"(?:until|till|by|before|after|over) (?:lunch|dinner|tomorrow|tonight|noon|monday|tuesday|wednesday|thursday|friday|"
    r"the (?:meeting|call|demo|weekend|break))|"
    r"in (?:\d+|a few|ten|five|two|a) ?(?:m|h|s|min(?:ute)?s?|sec(?:ond)?s?|hours?)|(?:at|for) the moment|"
    r"for the time being|currently|"
    r"this (?:time|once|one|way|thing)|that (?:one|way|thing|again)|th[eo]se (?:ones?|two)|the (?:other|second|third|"
    r"last|previous|next|latter|former) "
    r"(?:one|file|error|option|way|version|line|commit|branch|approach|thing|test|function|idea)|the (?:second|third|"
    r"first|other) one|"
    r"another one|(?:see )?above(?! \d)|as before|so far|meanwhile|in the meantime|temporar(?:y|ily)|once more|one more time|"
    r"never ?mind|[,;] (?:please )?(?:add|do|fix|implement|change|build|make) (?:it|that|this)(?: please)?[.!]*$|"
    r"for (?:this|that) (?:task|pr|change|commit|session|fix|call|run|step|file|test|one|feature|ticket|issue)|"
    r"in (?:this|that) (?:pr|change|commit|session|run|step|file|function|test|case|task|branch|class|method|component|"
    r"line|loop)|"
    r"(?:ha){2,}h?|lo+l|lmao|rofl|jk|just kidding|kidding|ultra ?think|think (?:hard|harder|deeply))\b|[😂🤣😅😆😜😉]|"
    r"\s[:;]-?[)DPp](?:\s|$)"
    # German
    r"|\b(?:jetzt|gerade|momentan|vorerst|erstmal|erst mal|noch nicht|nochmal|noch (?:ein)?mal|warte|heute|morgen|"
    r"gestern|vorhin|diesmal|"
    r"dieses mal|vor (?:dem|der) (?:mittag|essen|meeting|pause)|in \d+ (?:minuten|stunden)|(?:die|das|der|den|"
    r"dem) (?:da|andere[nrms]?|hier)|"
    r"nur (?:kurz|dieses)|siehe oben|wie eben|egal|vergiss es)\b"
    # French
    r"|\b(?:maintenant|pour l'instant|pour le moment|aujourd'hui|demain|hier soir|ce soir|ce matin|attends?|encore une fois|"
    r"cette fois|(?:celui|celle|ceux)-(?:là|ci)|pas encore|avant (?:midi|le déjeuner)|l'autre|dans \d+ (?:minutes|"
    r"heures)|tout de suite|ptdr|mdr)\b"
    # Spanish and Portuguese
    r"|\b(?:ahora mismo|ahora|por ahora|hoy|mañana por|esta (?:vez|tarde|mañana|noche)|espera|todavía|aún no|otra vez|de nuevo|"
    r"ese de ahí|el otro|la otra|antes de comer|en \d+ (?:minutos|horas)|jaja\w*|agora|por enquanto|hoje|amanhã|ontem|"
    r"espere?|ainda não|"
    r"outra vez|de novo|desta vez|esse aí|o outro|a outra|em \d+ (?:minutos|horas)|antes do almoço|kkk+|rsrs)\b"
    # Russian
    r"|\b(?:сейчас|пока(?: что)?|сегодня|завтра|вчера|подожди\w*|погоди|ещё раз|еще раз|снова|опять|в этот раз|"
    r"на этот раз|этот вот|"
    r"друг(?:ой|ую|ое) (?:файл|вариант|функци\w+)|через \d+ (?:минут\w*|час\w*)|до обеда|пока не|временно|не сейчас|"
    r"хаха\w*|лол)\b"
    # Chinese, Japanese, Korean
    r"|现在|暂时|目前|先别|先不要?|先把|先看|等一下|等等|等会|稍等|稍后|今天|明天|昨天|刚才|刚刚|这次|这回|这个文件|"
    r"那个文件|另一个|另外那个|再试|再来一次|"
    r"重新来|午饭前|下班前|分钟(?:后|内)|哈哈|呵呵|算了|没事了|以后再"
    r"|今は|今日|明日|昨日|さっき|とりあえず|今回|ちょっと待って|待って|もう一度|また(?=同じ)|あとで|後で|分後|笑$|ｗ+$|まだ"
    r"|지금은|지금 |오늘|내일|어제|아까|일단|이번(?:에는|만)|잠깐|기다려|다시 한번|나중에|분 (?:후|뒤)|ㅋㅋ|ㅎㅎ|아직",
    _I,
)
# References to something that a later session can't see.
_POINTS_AT = later(
    r"\b(?:this (?!(?:project|repo(?:sitory)?|code ?base|monorepo|app|application|team|company|machine|workspace|package|"
    r"service|product|library|tool|organi[sz]ation|laptop|computer|server|host|is|was|means|applies|holds|way)\b)\w+|"
    r"that (?=(?:file|function|class|test|line|error|change|commit|branch|button|page|call|method|endpoint|component|bug|"
    r"issue|thing|part|code|table|query|script|step|way|option|approach|idea|folder|variable|colou?r|name|field)\b)\w+|"
    r"these|those|line \d+|(?:like )?in the (?:screenshot|example|picture|image|mock-?up|log|output|attachment)|"
    r"dies(?:e[nrms]?)? (?!(?:projekt|repo\w*|team|rechner|maschine|app|codebasis)\b)\w+|"
    r"ce(?:tte|t)? (?!(?:projet|dépôt|équipe|machine|appli\w*|repo|que|qui|n'est|sont)\b)\w+|là-bas|"
    r"n?est[ea] (?!(?:proyecto|repo\w*|equipo|máquina|aplicación|projeto|time|equipe|aplicativo)\b)\w+|"
    r"эт(?:от|у|ого|ой) (?!(?:проект|репозитори|команд|машин)\w*)\w+)\b"
    r"|这个(?!项目|仓库|团队|应用|代码库)|那个|这段|この(?!プロジェクト|リポジトリ|チーム|アプリ)|その|"
    r"(?:^|\s)이 (?!프로젝트|저장소|팀|앱)|(?:^|\s)그 ",
    _I,
)
# References to a place or an order of steps. An explicit rule may contain one as well ("always lint first").
_SOFT = later(
    # "Nobody here" speaks of the team, not of a place in the conversation.
    r"\b(?:first|again|still|already|(?<!nobody )(?<!no one )(?<!anyone )(?<!everyone )(?<!people )here|"
    r"there(?!'s| is| are)|once|just|soon|later|then|(?:listed|see|the list) below|"
    r"on (?:mon|tues|wednes|thurs|fri|satur|sun)day|"
    r"zuerst|hier|dort|wieder|d'abord|ici|encore|primero|aquí|ahí|primeiro|aqui|ali|сначала|здесь|тут|уже)\b"
    r"|首先|先|这里|那里|还是|又|ここ|そこ|まず|여기|거기|먼저|(?:^|\s)또 ",
    _I,
)
_QUESTION = later(
    r"[?？]|^(?:why|what|how|(?:where|when) (?:is|are|was|were|do|does|did|will|can|could|should)|who|which|whose|is|"
    r"are|was|were|does|"
    r"do (?:you|we|they|i)|did|can|could|would|will|shall|should (?:we|i)|any (?:idea|chance|reason|way|news|thoughts)|"
    r"have (?:you|we)|has|had|isn't|aren't|don't (?:you|we)|doesn't|didn't|won't|can't (?:you|we)|wouldn't|shouldn't|wdyt|"
    r"remember (?:when|how|why|what|where|who|the time|that time|me)|"
    r"warum|wieso|weshalb|was (?!wir)|wie (?!immer)|wo\b|wann|wer\b|welche\w*|ist (?:das|es|der|die)|kannst|könntest|"
    r"hast du|gibt es|sollen wir|soll ich|"
    r"pourquoi|comment\b|qu'est|est-ce|peux-tu|pouvez-vous|où\b|quel\w*|as-tu|"
    r"por qué|cómo|qué|dónde|cuándo|puedes|podrías|hay\b(?! que)|¿|por que|como (?:é|faço|posso)|você pode|pode\b|"
    r"почему|как\b|что\b|где\b|когда\b(?!.*(?:всегда|никогда))|зачем|можешь|можно ли|есть ли|"
    r"为什么|怎么|什么|哪|能不能|能否|是否|可以.*吗|なぜ|どう|何|どこ|왜|어떻게|뭐|어디)|"
    r"(?:吗|呢|么|嗎)[。！]?$|(?:ですか|ますか|かな|でしょうか)[。]?$|(?:나요|까요|니|냐|가요)[.。]?$",
    _I,
)
# A complaint or a report. "It always fails" is not a rule.
_REPORT = later(
    r"\b(?:errors?|exceptions?|fail(?:s|ed|ing|ure)?|crash(?:es|ed|ing)?|broken?|breaks|bugs?|hangs?|stuck|wrong|"
    r"doesn'?t (?:work|show|load|start|compile)|"
    r"not working|didn'?t|isn'?t (?:working|showing)|traceback|undefined|weird|strange|annoying|seems?|looks like|"
    r"happen(?:s|ed|ing)?|typos?|takes forever|"
    r"I (?:get|got|see|saw|have seen|am getting|tried|was|noticed|forgot|wanted)|we (?:get|got|see|saw|tried|were|"
    r"noticed|just)|"
    r"fehler|schlägt|stürzt|kaputt|falsch|geht nicht|funktioniert nicht|hängt|erreur|échoue|plante|cassé|marche pas|"
    r"fonctionne pas|"
    r"falla|fallan|error|errores|roto|no funciona|se cuelga|falha|quebrado|não funciona|erro|"
    r"ошибк\w*|пада(?:ет|ют)|не работает|слома\w+|завис\w*|упал\w*)\b"
    r"|报错|错误|失败|崩溃|不行|不对|出错|没反应|エラー|失敗|落ちる|壊れ|動かない|에러|오류|실패|깨져|안 ?돼|안 ?되",
    _I,
)
_POINTS = later(
    r"\b(?:it|its|that|this|them|they|these|those|one|ones|thing|things|something|anything|everything|stuff|do|does|did|"
    r"be|make|"
    r"das|es|so|sie|ça|cela|eso|esto|lo|isso|isto|это|то|его)\b|[这那它其]个?|それ|これ|그거|이거",
    _I,
)


# After "from now on", a time of day is part of the rule.
_WHEN = later(
    r"\b(?:until|till|by|before|after|over) (?:lunch|dinner|noon|monday|tuesday|wednesday|thursday|friday|"
    r"the (?:meeting|call|demo|weekend|break))|"
    r"\bvor (?:dem|der) (?:mittag|essen|meeting|pause)|\bavant midi|\bantes de comer|\bantes do almoço|до обеда|午饭前|下班前",
    _I,
)


def strip_standing_phrases(text: str) -> str:
    """Remove phrases such as "from now on", whose words would otherwise tie the text to the moment."""
    rest = STANDING.sub(" ", text)
    return _WHEN.sub(" ", rest) if rest != text else text


# "Now" in a statement of how things are from now on. What somebody is doing now ends with it.
_CHANGE = later(
    r"(?<=\S )(?<!right )(?<!just )(?<!for )(?<!until )(?<!till )now\b(?! that\b)|\b(?:jetzt|maintenant|ahora(?! mismo)|agora)\b|"
    r"现在|今は|지금은",
    _I,
)
_UNDER_WAY = later(r"(?:\b(?:am|are|is)|['’](?:m|re|s)) (?:\w+ ){0,2}\w+ing\b|\b(?:gerade|en train de|está\w* \w+ndo)\b", _I)


def without_change(text: str) -> str:
    """Remove the word "now" from a statement of what has changed. Text about something under way stays as it is."""
    return text if _UNDER_WAY.search(text) else _CHANGE.sub(" ", text)


def is_strictly_momentary(text: str) -> bool:
    """Return whether the text is tied to the moment or to something pointed at. Such text is never an act of memory."""
    rest = strip_standing_phrases(text)
    return bool(_HARD.search(rest) or _POINTS_AT.search(rest))


def binds(text: str) -> bool:
    """Return whether any word ties the text to the moment.

    This includes words that are allowed in explicit rules.
    """
    return is_strictly_momentary(text) or bool(_SOFT.search(strip_standing_phrases(text)))


def asks(text: str) -> bool:
    """Return whether the text is a question, or a request in the form of a question."""
    return bool(_QUESTION.search(text.strip()))


def reports(text: str) -> bool:
    """Return whether the text reports an event or a malfunction."""
    return bool(_REPORT.search(text))


def only_points(text: str, content: int) -> bool:
    """Return whether a text with this number of content words consists mainly of references, as in "never do that"."""
    return content < 2 or (content < 3 and bool(_POINTS.search(text)))
