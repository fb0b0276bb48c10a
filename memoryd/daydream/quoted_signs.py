"""By what pasted and quoted text is told from a person's own words: tables of words and patterns, nothing else."""

from __future__ import annotations

import re

from memoryd.patterns import later

GAP = "[…]"

# A statement with one of these asks for something lasting, in the languages that the offline reader knows.
ORDER = later(
    r"\b(?:always|never|from now on|going forward|in future|must(?:n't)?|should(?:n't)?|shall|need to|have to|don'?t|do not|"
    r"prefers?|remember|make sure|ensure|please|rule|every|each|whenever|only|avoid|"
    r"immer|stets|nie(?:mals)?|ab (?:jetzt|sofort)|künftig|zukünftig|soll(?:st|en|t)?|müssen|muss|bitte|merk\w*|nur|jede[rnms]?|"
    r"toujours|jamais|désormais|dorénavant|il faut|doi(?:s|t|vent)|veuillez|chaque|"
    r"siempre|nunca|jamás|a partir de ahora|debe[ns]?|hay que|recuerda|cada|sempre|mai|d'ora in poi|"
    r"всегда|никогда|впредь|отныне|надо|нужно|должн\w*|запомни\w*|пожалуйста|кажд\w+)\b|"
    r"以后|永远|始终|必须|务必|总是|不要|禁止|记住|从现在|每次|请|いつも|常に|必ず|決して|今後",
    re.IGNORECASE,
)
SPEECH_WORDS = frozenset(
    "say says said state states stated read reads write writes wrote claim claims claimed recommend recommends suggest suggests "
    "demand demands require requires tell tells told mention mentions note notes advise advises insist insists ask asks "
    "sagt sagte schreibt schrieb steht lautet behauptet empfiehlt verlangt fordert "
    "dit disent écrit indique précise recommande dice dices dicen dijo escribió escribio indica recomienda "
    "пишет говорит гласит написано сказано утверждает советует рекомендует требует".split()
)
SPEECH = f"(?:{'|'.join(sorted(SPEECH_WORDS))})"
REPORT_WORDS = SPEECH_WORDS | frozenset("according laut gemäß selon après según согласно".split())
SPEECH_ZH = r"(?:说|写道|写着|写的是|提到|表示|要求|建议)"
# What somebody else wrote, by name.
NOUN = (
    r"(?:issues?|tickets?|bug ?reports?|reports?|logs?|log ?files?|output|stdout|stderr|errors?(?: messages?)?|stack ?traces?|traceback|"
    r"exception|e?-?mails?|messages?|comments?|reviews?|feedback|read-?me(?:\.md)?|docs?|documentation|pages?|web ?(?:page|site)|site|"
    r"articles?|blog(?: ?post)?|posts?|tutorial|guide|manual|handbook|wiki|files?|contents?|text|snippet|paste|excerpt|quote|quotation|"
    r"diff|patch|pull request|pr|mr|merge request|description|transcript|chat|slack|conversation|thread|response|answer|reply|"
    r"spec(?:ification)?|template|change ?log|release notes|claude(?:\.local)?\.md|agents\.md|gemini\.md|contributing(?:\.md)?|"
    r"cursor ?rules|\.cursorrules|instructions?|prompt|gist|jira|confluence|letter|memo|announcement|statement|warning|notice|header|"
    r"docstring|code comment|todo comment|customer|client|vendor|reporter|user report|colleague|bot|linter|compiler|stackoverflow|"
    r"stack overflow|screenshot|subtitle|caption|"
    r"fehler(?:meldung)?|ausgabe|protokoll|nachricht|kommentar|seite|webseite|doku(?:mentation)?|artikel|datei|auszug|meldung|"
    r"beschreibung|antwort|anfrage|bericht|handbuch|anleitung|kunde|"
    r"erreur|sortie|journal|courriel|commentaire|fichier|texte|extrait|réponse|rapport|consigne|"
    r"salida|registro|correo|mensaje|comentario|página|documentación|archivo|texto|respuesta|incidencia|informe|descripción|"
    r"ошибка|вывод|лог|письмо|сообщение|комментарий|страница|документация|файл|текст|тикет|ответ|описание|отчёт|отчет|инструкция)"
)
NOUN_ZH = r"(?:日志|输出|错误|报错|邮件|消息|评论|页面|网页|文档|文件|内容|文本|工单|问题|描述|回复|说明|帖子|文章)"
PRESENTS = later(
    r"\b(?:here(?:'s|’s| is| are| comes| you go)|th(?:is|at) (?:is|was)|these are|(?:dies|das) (?:ist|war|sind)|c'est|ceci est|est[aeo]s? (?:es|son)|this came|"
    r"(?:got|received|found|sent|posted|opened|filed|left) (?:me |us )?(?:this|that|these|the|an?)|это|below|following|follows?|pasted?|copied|quoting|quoted?|forwarded?|"
    r"from (?:the|our|my|a|an|their|his|her)|i (?:got|get|found|received|see)|it (?:says|said)|according to|"
    + SPEECH
    + r"|hier (?:ist|sind|der|die|das|kommt)|folgend\w*|unten|laut|aus (?:der|dem|einem|einer)|voici|voilà|ci-dessous|suivant\w*|selon|"
    r"d'après|aqu[ií] (?:está|tienes|va)|a continuación|siguiente|según|вот|ниже|следующ\w+|согласно)\b|"
    + SPEECH_ZH
    + "|这是|以下|如下|下面|根据",
    re.IGNORECASE,
)
REQUEST = later(
    r"^\W*(?:(?:can|could|would|will) you |please |pls |bitte |por favor |пожалуйста |请)?(?:fix|review|look (?:at|into)|check|see|read|"
    r"summari[sz]e|translate|explain|analy[sz]e|debug|handle|implement|address|consider|process|investigate|resolve|triage|reproduce|"
    r"proofread|answer|reply|respond|schau\w*|prüfe?|lies|behebe?|analysiere|übersetze|fasse|erkläre|beantworte|"
    r"regarde|corrige|lis|analyse|traduis|résume|explique|réponds|mira|revisa|lee|arregla|analiza|traduce|resume|explica|"
    r"посмотри|исправь|прочитай|разбери|переведи|объясни|проверь)\b|^\s*请?(?:看|修复|阅读|总结|翻译|解释|检查|分析|处理)",
    re.IGNORECASE,
)
THIS = later(
    r"\b(?:this|these|those|that|it|the following|below|folgende\w*|dies\w*|das|ceci|ça|cela|suivant\w*|esto|est[ae]|siguiente|это|этот|эту|"
    r"следующ\w+)\b|这|以下|下面",
    re.IGNORECASE,
)
HAS_NOUN = later(rf"(?<!\w){NOUN}(?!\w)|{NOUN_ZH}", re.IGNORECASE)
# The person's own headings and labels, which introduce what the person wants.
OWN_LABEL = later(
    r"\b(?:remember|keep in mind|from now on|going forward|always|never|rules?|conventions?|prefer\w*|every|each|all|any|whenever|when|if|"
    r"before|after|for|about|use|write|keep|name|call|(?:one|two|three|four|some|few|more|other) (?:more )?(?:things?|points?|notes?|remarks?|wishes|requests?)|"
    r"heads[- ]up|notes?|important|reminder|btw|by the way|also|final(?:ly)?|correction|decision|don'?t|do not|let'?s|please|yes|no|ok(?:ay)?|"
    r"i|i'm|i'd|we|my|our|me|us|task|todo|goal|wichtig|achtung|hinweis|übrigens|bitte|ich|wir|mein\w*|unser\w*|aufgabe|ziel|"
    r"attention|nota|ojo|importante?|je|nous|mon|ma|mes|notre|nos|yo|nosotros|mis?|nuestr[oa]s?|tâche|tarea|важно|внимание|мы|наш\w*|мо[йяи]|"
    r"regeln?|konvention\w*|immer|nie|ab jetzt|ab sofort|merk\w*|künftig|für|wenn|bevor|jede[rnms]?|"
    r"règles?|toujours|jamais|désormais|pour|avant|quand|retiens|reglas?|siempre|nunca|para|antes|cuando|recuerda|"
    r"правил\w+|всегда|никогда|впредь|запомни|для|когда|перед)\b|规则|约定|重要|注意|我们|我的|记住|以后|永远|总是|每次",
    re.IGNORECASE,
)
# As a label of its own this is no topic ("Docs: always in German") but the name of what follows.
LABEL = later(
    r"(?<!\w)(?:system|assistant|human|user|bot|agent|claude|chatgpt|gpt|copilot|gemini|llm|model|tool|server|result|answer|solution|suggestion|proposal|plan|"
    r"stack ?overflow|linter|compiler|ci|pipeline|you|your|he|she|they|hint|instructions?|policy text|issue|ticket|bug ?report|report|log|log ?file|output|stdout|stderr|error(?: message)?|stack ?trace|traceback|exception|e?-?mail|"
    r"message|comment|read-?me(?:\.md)?|web ?(?:page|site)|page|article|blog ?post|post|snippet|paste|excerpt|quote|quotation|diff|patch|pull request|"
    r"description|transcript|chat|slack|conversation|thread|response|reply|claude(?:\.local)?\.md|agents\.md|gemini\.md|contributing(?:\.md)?|"
    r"\.?cursorrules|warning|notice|customer|vendor|reporter|colleague|letter|memo|prompt|text|"
    r"fehler(?:meldung)?|ausgabe|protokoll|nachricht|kommentar|seite|auszug|meldung|beschreibung|anfrage|bericht|kunde|"
    r"erreur|sortie|courriel|commentaire|extrait|rapport|salida|registro|correo|mensaje|comentario|incidencia|informe|descripción|"
    r"ошибка|вывод|лог|письмо|сообщение|комментарий|тикет|описание|отчёт|отчет)(?!\w)|" + NOUN_ZH,
    re.IGNORECASE,
)
STATES = later(r"\b(?:is|are|was|were|isn'?t|ist|sind|war|est|sont|es|son|era)\b", re.IGNORECASE)
COLON = later(r":(?=\s|$|[\"'“„«「『\u4e00-\u9fff])|：")
LABEL_WORDS, HEAD_CHARS, MOST_COLONS = 4, 200, 6
PRESENTS_ALONE = later(
    r"\b(?:below|follows?|following|pasted?|here(?:'s|’s| is| are)|unten|folgt|ci-dessous|voici|a continuación|aqu[ií] está|ниже|вот)\b|如下|以下|这是",
    re.IGNORECASE,
)
DELIMITED = later(r"^\s*(?:```|~~~|>|＞|&gt;|\[…\]|[\"'“„«‹‘「『])")

FENCE = later(r"^[ \t>]{0,40}(?P<mark>`{3,}|~{3,}|\"\"\"|''')(?P<rest>[^\n]*)$")
SEPARATOR = later(
    r"^\s*(?:[-=_*~#•·—–─━═]{3,}|-{2,}\s?8<\s?-{2,}.*|-{3,}\s?(?:begin|end|start|original|forwarded|weitergeleitet|ursprüngliche|message|mensaje)\b.*)\s*$",
    re.IGNORECASE,
)
QUOTE_LINE = later(r"^\s{0,3}(?:[>＞»|┃│▌❯]|&gt;)")
TABLE_END = later(r"\|\s*$")
INDENTED = later(r"^(?: {4,}|\t)")
BULLET = later(r"^\s*(?:[-*+•·–]|\d{1,2}[.)])\s+")
HEADING = later(r"^\s{0,3}#{1,6}\s+\S")
BOLD_HEADING = later(r"^\s*(?:\*\*[^*\n]{2,80}\*\*:?|__[^_\n]{2,80}__:?)\s*$")
SETEXT = later(r"^\s*(?:={3,}|-{3,})\s*$")
GUIDANCE = later(
    r"this file provides guidance to|provides guidance to claude code|this file (?:contains|gives) (?:guidance|instructions) (?:to|for) ",
    re.IGNORECASE,
)
MAIL_HEADER = later(
    r"^\s*\*{0,2}(?P<name>from|to|cc|bcc|subject|date|sent|reply-to|message-id|von|an|betreff|gesendet|datum|de|à|objet|envoyé|para|asunto|enviado|"
    r"fecha|от|кому|тема|дата|发件人|收件人|主题|日期|时间)\*{0,2}\s?[:：]\*{0,2}\s*\S",
    re.IGNORECASE,
)
MAIL_FROM = later(r"^\s*\*{0,2}(?:from|von|de|от|发件人)\*{0,2}\s?[:：].*(?:@|<)", re.IGNORECASE)
MAIL_SUBJECT = later(r"^\s*\*{0,2}(?:subject|betreff|objet|asunto|тема|主题)\*{0,2}\s?[:：]", re.IGNORECASE)
WROTE = later(
    r"^\s*(?:(?:on|am|le|el) .{3,120}(?:wrote|schrieb|a écrit|escribió)\b.*|.{1,80}\b(?:wrote|schrieb|a écrit|escribió|написал|пишет)\s*[:：]\s*$|"
    r".{1,80}(?:写道|说)[:：]\s*$)",
    re.IGNORECASE,
)
GREETING = later(
    r"^\s*(?i:hi|hello|hey|dear|hallo|liebe[rs]?|sehr geehrte[rs]?|bonjour|cher|chère|hola|estimad[oa]|добрый день|здравствуйте|уважаем\w+)"
    r"\s+(?!(?i:claude|agent|assistant|there|all)\b)[A-ZÄÖÜА-Я][\w’'. -]{0,40}[,!]\s*$|^\s*(?i:dear|sehr geehrte[rs]?|estimad[oa])\b[^\n]{0,60}[,!:]\s*$",
)
ROLE = later(
    r"^\s*(?:\[|<)?\*{0,2}(?:human|user|assistant|claude|system|chatgpt|gpt|ai|bot|agent|customer|reporter|reviewer)\*{0,2}(?:\]|>)?\s?[:：]",
    re.IGNORECASE,
)
CHAT = later(
    r"^\s*(?:\[?\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:\s?[ap]m)?\]?[ ,;-]+\S|<[\w.@-]{1,40}>\s|@[\w.-]{1,40}(?:\s\([^)]{1,30}\))?[:：]|"
    r"[A-Z][\w.-]{1,30}(?: [A-Z][\w.-]{1,30})?\s*[(\[]?(?:\d{1,2}:\d{2}|today|yesterday)(?:\s?[ap]m)?[)\]]?)",
    re.IGNORECASE,
)
DIFF = later(
    r"^(?:diff --git |index [0-9a-f]{6,}\.\.|(?:\+\+\+|---) \S|@@ -\d|Index: \S|\*\*\* (?:Begin|Update|Add|Delete) |<{7} |>{7} |={7}$)"
)
PATCHED = later(r"^\+\S|^\+ {2,}")
LOG = later(
    r"^\s*(?:[\[(]?\d{4}[-/]\d{2}[-/]\d{2}[T ,]|[\[(]?\d{1,2}:\d{2}:\d{2}\b|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* +\d{1,2} \d{2}:\d{2}|"
    r"[\[(]?(?:trace|debug|info|notice|warn(?:ing)?|error|err!?|fatal|critical|fail(?:ed|ure)?|panic)[\])]?(?:\s?[:|]|\[|\s-)\s*\S|\[(?:trace|debug|info|notice|warn(?:ing)?|error|fatal)\]|"
    r"traceback \(most recent|File \"[^\"]{1,300}\", line \d|at [\w.$<>]+ ?\(|\w*(?:Error|Exception|Warning): |npm (?:err|warn)|error\[E\d+\]|"
    r"E {2,}|remote: |fatal: |hint: |Caused by: |goroutine \d|thread '[^']{1,60}' panicked|\* {1,3}(?:Connected|Trying)|"
    r"(?:[$%❯➜]|>>>|PS [A-Z]:\\[^>]{0,200}>|[A-Z]:\\[^>]{0,200}>|[\w.-]{1,40}@[\w.-]{1,60}[:~][^$#\n]{0,100}[$#]) \S|"
    r"\d{1,6}(?:→|\t| ?[|│:] )\S|⎿|⏺|●|└|├|(?:HTTP/\d|[<>*] )\S{0,3}\s?\d{3} )",
    re.IGNORECASE,
)
LINK_DEFINITION = later(r"^\s{0,3}\[[^\]\n]{1,200}\]:\s*\S")
FOOTNOTE = later(r"^\s{0,3}\[\^")

TAG = later(r"(?:(?<![\w`])<|<(?=/))(?P<close>/?)(?P<name>[A-Za-z_][\w:.-]{0,60})(?P<attributes>(?:\s[^<>]{0,400})?)>")
BB_TAG = later(
    r"\[(?P<close>/?)(?P<name>quote|code|spoiler|noparse|issue|log|email|paste)\b(?P<attributes>[^\]\n]{0,100})\]", re.IGNORECASE
)
ATTRIBUTE = later(r"[\w-]+\s*=\s*(?:\"[^\"]*\s[^\"]*\"|'[^']*\s[^']*')")
COMMENTS = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("/*", "*/"))
LINK = later(r"!?\[(?P<text>[^\[\]\n]{1,400})\](?:\((?P<target>[^()\n]{0,800})\)|\[[^\]\n]{0,100}\])")
REPORTED = later(
    rf"(?:(?<!\w){NOUN}(?!\w)[^.!?\n:：\"]{{0,40}}?\b{SPEECH}\b|{NOUN_ZH}[^。！？\n]{{0,10}}?{SPEECH_ZH}|"
    rf"\b(?:according to|laut|gemäß|selon|d'après|según|согласно)\b[^.!?\n,]{{0,60}}?{NOUN}(?!\w)[^,.!?\n]{{0,20}},?|根据[^。，\n]{{0,20}}{NOUN_ZH}[，,]?)",
    re.IGNORECASE,
)
CLAUSE_END = later(
    r"(?:[,;，；]\s+|(?<=\w)\s+(?=but\s+(?:always|never|use)\b))(?=(?:but|however|yet|instead|so|aber|jedoch|mais|pero|sino|но|однако)\b)|[.!?]\s+|\n|[,，；;。]\s?(?=但|不过|可是)|[。！？]",
    re.IGNORECASE,
)
QUOTES_WORD = later(r"(?:[:：,，(]|\b" + SPEECH + r"(?:\s+that)?|" + SPEECH_ZH + r")\s*$", re.IGNORECASE)
SHORT_WORDS, SHORT_CHARS = 4, 40
TINY_WORDS = 2
LONG_WORDS = 14
# Bounds of what is looked at: lines after an introduction, signs beside a quotation, quotations of a turn.
NEAR_LINES, NEAR_CHARS, MOST_QUOTATIONS = 40, 160, 300
PAIRS = {"“": "”", "„": "“”", "«": "»", "‹": "›", "「": "」", "『": "』", "‘": "’", "‚": "‘’", "〝": "〞", "＂": "＂"}
OPENS_AFTER = frozenset(" \t\n([{<:：—–-=/*_，。、；！？…")
ENDS_BEFORE = frozenset(" \t\n)]}>.,;:!?…—–*_，。、；：！？")
SENTENCE = later(r"(?<=[.!?。！？])\s+")
WORD = later(r"\w+")
CJK_SIGN = later(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

# The rest of a turn after one of these is data: code, forms, lists of an issue, marks of a begin, a URL alone, signatures.
BEGINS = later(
    r"^\s*(?:={1,6} \S|\*{2,6} \S|[-*+] \[[ xX]\] |[\[(]?v?\d{1,4}\.\d{1,4}(?:\.\d{1,6})?[\])]?(?:\s+[(—–-].{0,60})?\s*$|https?://\S{1,2000}\s*$|--\s*$|"
    r"\W{0,10}(?-i:BEGIN|START)(?-i: [A-Z ]{1,60})?\W{0,10}$|\w{1,40}(?:,\w{1,40}){1,40}\s*$|\[[^\]\n]{0,40}(?:text|screenshot|image|quote|paste|log|transcript)[^\]\n]{0,40}\]|"
    r"(?:best |kind |warm |with )?(?:regards|sincerely|cheers|grüße|viele grüße|mit freundlichen grüßen|mfg|cordialement|saludos|с уважением),?\s*$)"
    r"|^\S.{0,40} [—–-] (?:today|yesterday|\d).{0,20}\d{1,2}:\d{2}",
    re.IGNORECASE,
)
COMMENT_LINE = later(r"^\s*(?://|--\s|;;|%\s|\(\*|/\*|\*/|REM\s|#!|#\s)")
COMMENT_TAIL = later(r"(?<=[;{}),\]])\s{0,8}(?://|#|--)\s?\S.*$")
FORM = later(r"^\s*(?:[-*+]\s+)?\*{0,2}(?P<label>[A-Za-zÀ-ÿ][\w /.-]{0,40})\*{0,2}:\s+\S")
MACHINE = later(
    r"^\s*(?:[\w./\\-]{1,200}[:(]\d{1,7}[:,]\d{1,5}\)?|\d{1,7}:\d{1,5}\s+(?:error|warning|info)|(?:FAILED|PASSED|ERROR|SKIPPED|XFAIL|ok|not ok) (?:\S{1,200}(?:::|/)|\d)|"
    r"Step \d{1,4}/\d{1,4} |-{2,3}> \w|[<>*] (?:HTTP/|GET |POST |PUT |Host: |User-Agent: )|[0-9a-f]{7,40} \S|commit [0-9a-f]{7,40}|Author: |\d{1,9},\S)"
)
CHECKED = later(
    r"(?:\b(?:is|are) (?:this|that|it|these|those) (?:correct|right|true|ok(?:ay)?|legit|safe|good|valid|still)|\bwhat (?:does|do) (?:this|that|it|these) (?:mean|say)|"
    r"\bdo you (?:agree|understand)|\bstimmt das|\bist das (?:richtig|korrekt)|\bc'est (?:vrai|correct)|\bes (?:correcto|cierto)|\bверно ли|对吗)[^.!\n?？]{0,60}[?？]",
    re.IGNORECASE,
)
GENERIC_WORDS = 4
# What every opening mark holds, the mark, and the closing one.
REGIONS = (
    (("<<", "{{{", "[[["), later(r"<{2,5}(?=\S)|\{{3}|\[{3}"), later(r">{2,5}|\}{3}|\]{3}")),
    (("\\begin{",), later(r"\\begin\{\w{1,40}\}"), later(r"\\end\{\w{1,40}\}")),
    (("``",), later(r"``(?!`)"), later(r"\x27\x27|``")),
)
PASTED_ALONE = later(r"\b(?:pasted?|below|attached|copied|forwarded|quoted|fyi)\b", re.IGNORECASE)
HEADLINE_WORDS = 6
# A line that names its writer or its picture, with the text behind it.
NAMED = later(
    r"^\s*(?:\[[^\]\n]{0,40}(?:text|screenshot|image|quote|paste|log|transcript)[^\]\n]{0,40}\]\s|(?:From|Von|De|От) [A-Z\u00c0-\u042f]\w{1,30}(?: [A-Z]\w{1,30})?\s{0,3}[-–—:]\s)"
)
# The agent's own words, quoted back to it.
YOURS = later(r"\b(?:you|your|du|dein\w*|ihr|tu|ton|ta|vous|votre|su|tus?)\b|\bты\b|\bтво\w+|\bвы\b|你", re.IGNORECASE)
HEREDOC = later(r"<<-?[\"']?[A-Z_]{2,20}[\"']?\s*$")
PAIRED = later(f"[{''.join(sorted({*PAIRS, *''.join(PAIRS.values())}))}]")
