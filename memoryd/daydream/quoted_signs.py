"""Tables of words and patterns that distinguish pasted and quoted text from the user's own words."""

from __future__ import annotations

import re

from memoryd.language.patterns import later

GAP = "[…]"

# Words that make a statement a request for something lasting, in the languages of the offline reader.
ORDER_SOURCE = (
    r"\b(?:always|never|from now on|going forward|in future|must(?:n't)?|should(?:n't)?|shall|need to|have to|don'?t|do not|"
    r"prefers?|remember|make sure|ensure|please|rule|every|each|whenever|only|avoid|"
    r"immer|stets|nie(?:mals)?|ab (?:jetzt|sofort)|künftig|zukünftig|soll(?:st|en|t)?|müssen|muss|bitte|merk\w*|nur|jede[rnms]?|"
    r"toujours|jamais|désormais|dorénavant|il faut|doi(?:s|t|vent)|veuillez|chaque|"
    r"siempre|nunca|jamás|a partir de ahora|debe[ns]?|hay que|recuerda|cada|sempre|mai|d'ora in poi|"
    r"всегда|никогда|впредь|отныне|надо|нужно|должн\w*|запомни\w*|пожалуйста|кажд\w+)\b|"
    r"以后|永远|始终|必须|务必|总是|不要|禁止|记住|从现在|每次|一律|请|いつも|常に|必ず|決して|今後|絶対|二度と|항상|반드시|절대|앞으로|언제나"
)
ORDER = later(ORDER_SOURCE, re.IGNORECASE)
SPEECH_WORDS = frozenset(
    "say says said state states stated read reads write writes wrote claim claims claimed recommend recommends suggest suggests "
    "demand demands require requires tell tells told mention mentions note notes advise advises insist insists ask asks "
    "sagt sagte schreibt schrieb steht lautet behauptet empfiehlt verlangt fordert "
    "dit disent écrit indique précise recommande dice dices dicen dijo escribió escribio indica recomienda "
    "пишет говорит гласит написано сказано утверждает советует рекомендует требует".split()
)
SPEECH = f"(?:{'|'.join(sorted(SPEECH_WORDS))})"
REPORT_WORDS = SPEECH_WORDS | frozenset(
    "quoth sic wiki docs readme handbook manual faq spec md сказал сказала сказали считает insisting suggesting repeating nagging sagen dire argue think suggest specifies mandates dictates according laut gemäß selon après según согласно saying telling prints printed insists thinks types enters sends sage meinte meint "
    "disait prétend afirma".split()
)
SPEECH_ZH = r"(?:说|写道|写着|写的是|提到|表示|要求|建议)"
# Names of texts written by other people.
NOUN = (
    r"(?:issues?|tickets?|bug ?reports?|reports?|logs?|log ?files?|output|stdout|stderr|errors?(?: messages?)?|stack ?traces?|traceback|"
    r"exception|e?-?mails?|messages?|comments?|reviews?|feedback|read-?me(?:\.md)?|docs?|documentation|pages?|web ?(?:page|site)|site|"
    r"articles?|blog(?: ?post)?|posts?|tutorial|guide|manual|handbook|wiki|files?|contents?|text|snippet|paste|excerpt|quote|quotation|"
    r"diff|patch|pull request|pr|mr|merge request|channel|description|transcript|chat|slack|conversation|thread|response|answer|reply|"
    r"spec(?:ification)?|template|change ?log|release notes|claude(?:\.local)?\.md|agents\.md|gemini\.md|contributing(?:\.md)?|"
    r"cursor ?rules|\.cursorrules|instructions?|prompt|gist|jira|confluence|letter|memo|announcement|statement|warning|notice|header|"
    r"docstring|code comment|todo comment|customer|client|vendor|reporter|user report|colleague|bot|linter|compiler|stackoverflow|"
    r"stack overflow|screenshot|subtitle|caption|summary|recap|zusammenfassung|résumé|resumen|riassunto|"
    r"fehler(?:meldung)?|ausgabe|protokoll|nachricht|kommentar|seite|webseite|doku(?:mentation)?|artikel|datei|auszug|meldung|"
    r"beschreibung|antwort|anfrage|bericht|handbuch|anleitung|kunde|"
    r"erreur|sortie|journal|courriel|commentaire|fichier|texte|extrait|réponse|rapport|consigne|"
    r"salida|registro|correo|mensaje|comentario|página|documentación|archivo|texto|respuesta|incidencia|informe|descripción|"
    r"ошибка|вывод|лог|письмо|сообщение|комментарий|страница|документация|файл|текст|тикет|ответ|описание|отчёт|отчет|инструкция)"
)
NOUN_ZH = (
    r"(?:日志|输出|错误|报错|邮件|消息|评论|页面|网页|文档|文件|内容|文本|工单|问题|描述|回复|说明|帖子|文章|README|\w{1,30}\.md)"
)
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
    r"proofread|improve|rephrase|rewrite|reword|shorten|polish|paraphrase|answer|reply|respond|korrigiere|verbessere|kürze|schau\w*|prüfe?|lies|behebe?|analysiere|übersetze|fasse|erkläre|beantworte|"
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
# The user's own headings and labels, which introduce the user's wishes.
OWN_LABEL = later(
    r"\b(?:remember|keep in mind|from now on|going forward|always|never|rules?|conventions?|prefer\w*|every|each|all|any|whenever|when|if|"
    r"before|after|for|about|use|write|keep|name|call|(?:one|two|three|four|some|few|more|other) (?:more )?(?:things?|points?|notes?|remarks?|wishes|requests?)|"
    r"heads[- ]up|notes?|important|reminder|btw|by the way|also|final(?:ly)?|correction|decision|don'?t|do not|let'?s|please|yes|no|ok(?:ay)?|"
    r"i|i'm|i'd|we|my|our|me|us|task|todo|goal|wichtig|achtung|hinweis|übrigens|bitte|ich|wir|mein\w*|unser\w*|aufgabe|ziel|"
    r"nous|moi|mir|mich|uns|attention|nota|ojo|importante?|je|mon|ma|mes|notre|nos|yo|nosotros|mis?|nuestr[oa]s?|tâche|tarea|важно|внимание|мы|нас|нам|мне|меня|наш\w*|мо[йяи]|"
    r"regeln?|konvention\w*|immer|nie|ab jetzt|ab sofort|merk\w*|künftig|für|wenn|bevor|jede[rnms]?|"
    r"règles?|toujours|jamais|désormais|pour|avant|quand|retiens|reglas?|siempre|nunca|para|antes|cuando|recuerda|"
    r"правил\w+|всегда|никогда|впредь|запомни|для|когда|перед)\b|规则|约定|重要|注意|我们|我的|记住|以后|永远|总是|每次",
    re.IGNORECASE,
)
# Labels for the text below them, unlike a user's topic such as "Docs: always in German".
LABEL = later(
    r"(?<!\w)(?:(?:system|user|tool|server)(?=['’]s\b|\W*$| (?:constraints?|rules?|preferences?|requirements?|wishes|instructions?|prompts?|messages?)\b)|assistant|human|bot|agent|claude|chatgpt|gpt|copilot|gemini|llm|model|result|answer|solution|suggestion|proposal|plan|"
    r"stack ?overflow|linter|compiler|ci|pipeline|you|your|he|she|they|hint|instructions?|policy text|issue|ticket|bug ?report|report|log|log ?file|output|stdout|stderr|error(?: message)?|stack ?trace|traceback|exception|e?-?mail|"
    r"message|comment|read-?me(?:\.md)?|web ?(?:page|site)|page|article|blog ?post|post|snippet|paste|excerpt|quote|quotation|diff|patch|pull request|"
    r"acceptance criteri(?:a|on)|interview question|definition of done|tweet|toot|headline|slogans?(?: ideas)?|taglines?|motto|lyrics|poem|joke|story|role[ -]?play|scene|dialogue|fiction|riddle|song|proverb|saying|thought experiment|terms|nit(?:pick)?|disclaimer|ingredients|change ?log|announcement|press release|fun fact|fact|fortune cookie|til|debate|advice|tip|quiz|puzzle|trivia|hypothesis|premise|plot|meme|(?:counter-?)?examples?|recipe|scenario|test case|user story|draft|slide|poster|flyer|paragraph|sentence|clause|abstract|(?:bug|issue|ticket|page|slide|commit|pr) title|"
    r"sms|whatsapp|telegram|signal|discord|teams|mattermost|messenger|description|transcript|chat|slack|conversation|thread|response|reply|claude(?:\.local)?\.md|agents\.md|gemini\.md|contributing(?:\.md)?|"
    r"\.?cursorrules|warning|notice|customer|vendor|reporter|colleague|letter|memo|prompt|text|"
    r"fehler(?:meldung)?|ausgabe|protokoll|nachricht|kommentar|seite|auszug|meldung|beschreibung|anfrage|bericht|kunde|"
    r"erreur|sortie|courriel|commentaire|extrait|rapport|salida|registro|correo|mensaje|comentario|incidencia|informe|descripción|"
    r"ошибка|вывод|лог|письмо|сообщение|комментарий|тикет|описание|отчёт|отчет)(?!\w)|" + NOUN_ZH,
    re.IGNORECASE,
)
STATES = later(r"\b(?:is|are|was|were|isn'?t|ist|sind|war|est|sont|es|son|era)\b", re.IGNORECASE)
COLON = later(r":(?=\s|$|[\"'“„«「『\u4e00-\u9fff])|：")
LABEL_WORDS, HEAD_CHARS, MAX_COLONS = 4, 200, 6
PRESENTS_ALONE = later(
    r"\b(?:below|follows?|following|pasted?|here(?:'s|’s| is| are)|unten|folgt|ci-dessous|voici|a continuación|aqu[ií] está|ниже|вот)\b|如下|以下|这是",
    re.IGNORECASE,
)
DELIMITED = later(r"^\s*(?:```|~~~|>|＞|&gt;|\[…\]|[\"'“„«‹‘「『])")

FENCE = later(r"^[ \t>]{0,40}(?:[\w.]{1,40}\s?[=:]\s?(?=[\"']))?(?P<mark>`{3,}|´{3,}|~{3,}|\"\"\"|''')(?P<rest>[^\n]*)$")
SEPARATOR = later(
    r"^\s*(?:[-=_*~#•·—–─━═]{3,}|-{2,}\s?8<\s?-{2,}.*|-{3,}\s?(?:begin|end|start|original|forwarded|weitergeleitet|ursprüngliche|message|mensaje)\b.*)\s*$",
    re.IGNORECASE,
)
QUOTE_LINE = later(r"^\s{0,3}(?:[>＞»|¦┃│┆┊╎⎮▌▏❯❱⟩〉》▶►➤]|&(?:gt|#62|#x3e);)", re.IGNORECASE)
TABLE_END = later(r"\|\s*$")
INDENTED = later(r"^(?: {4,}|\t|\u3000|\u00a0{2,})")
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
    r"^\s*(?:(?:on|am|le|el) .{3,120}(?:wrote|schrieb|a écrit|escribió)\b.*|.{1,80}\b(?:wrote|commented|replied|responded|requested changes|reviewed|left a (?:comment|review|note)|"
    r"schrieb|kommentierte|antwortete|hat (?:kommentiert|geantwortet|geschrieben)|a (?:écrit|commenté|répondu)|escribió|comentó|respondió|ha (?:scritto|commentato|risposto)|escreveu|comentou|respondeu|"
    r"napisał[ao]?|skomentował[ao]?|написал[аи]?|пишет|ответил[аи]?|прокомментировал[аи]?)\*{0,2}\s*[:：]\s*$|"
    r".{1,80}(?:写道|说|评论|評論|回复|回覆|コメント|返信)[:：]\s*$)",
    re.IGNORECASE,
)
GREETING = later(
    r"^\s*(?i:hi|hello|hey|dear|hallo|liebe[rs]?|sehr geehrte[rs]?|bonjour|cher|chère|hola|estimad[oa]|добрый день|здравствуйте|уважаем\w+)"
    r"\s+(?!(?i:claude|agent|assistant|there|all)\b)[A-ZÄÖÜА-Я][\w’'. -]{0,40}[,!]\s*$|^\s*(?i:dear|sehr geehrte[rs]?|estimad[oa])\b[^\n]{0,60}[,!:]\s*$",
)
ROLE = later(
    r"^\s*[\[(]?(?:speaker(?: ?\w{1,3})?|host|guest|narrator|interviewer|moderator|caller|voice-?over|announcer)(?:\s?[:：]|[\])])\s|"
    r"^\s*(?:\\n){0,4}<\|\w{1,20}\|>|^\s*(?:\\n){0,4}(?:\[|<)?\*{0,2}(?:human|user|assistant|claude|system|chatgpt|gpt|ai|bot|agent|customer|reporter|reviewer|him|her|them|he|she|they|friend|boss|colleague)(?: ?#?\d{1,2})?\*{0,2}(?:\]|>)?\s?[:：]",
    re.IGNORECASE,
)
CHAT = later(
    r"^\s*(?:[\[(]?\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:\s?[ap]m)?[\])]?[ ,;-]+\S|\d{1,2}:\d{2}\s*$|"
    r"\([\w ]{2,20}\) [A-Z]\w{1,20}:\s|[\w.-]{2,30}(?: (?!(?:at|by|until|before|after|since|around|um|ab|bis|à|a las)\b)\w{1,30})?,? {1,6}[\[(]?(?:\d{1,2}[./-]\d{1,2}[./-]\d{2,4},? )?\d{1,2}[:h]\d{2}(?:\s?[ap]m)?[\])]?\s*(?::(?=\s)|$)|<[\w.@-]{1,40}>\s|@[\w.-]{1,40}(?:\s\([^)]{1,30}\))?[:：]|"
    r"(?-i:(?!(?:From|Since|Until|As of|By|On|At|We|I) )[A-Z][\w.-]{1,30}(?: [A-Z][\w.-]{1,30})?)\s*[(\[]?(?:\d{1,2}:\d{2}(?:\s?[ap]m)?[)\]]?|(?:today|yesterday)(?: at)?\s*(?:\d|[)\]—–-]|$)))",
    re.IGNORECASE,
)
DIFF = later(
    r"^(?:diff --git |index [0-9a-f]{6,}\.\.|(?:\+\+\+|---) \S|@@ -\d|Index: \S|\*\*\* (?:Begin|Update|Add|Delete) |<{7} |>{7} |={7}$)"
)
PATCHED = later(r"^\+\S|^\+ {2,}")
LOG = later(
    r"^\s*(?:[\w.-]{1,40}@[\w.-]{1,60} \S{1,80} [%$#>] \S|(?:In|Out) ?\[\d{1,5}\]:|make(?:\[\d{1,3}\])?: \*\*\*|exit(?:ed)?(?: with)?(?: code| status)? \d{1,3}[,:.] |[A-Z][\w.-]{1,30} \(\d{4}-\d\d-\d\d\) |[a-z_]{1,30}=\S{1,60} [a-z_]{1,30}=\S|[\[(]?\d{4}[-/]\d{2}[-/]\d{2}[T ,]|[\[(]?\d{1,2}:\d{2}:\d{2}\b|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* +\d{1,2},? \d{2}:\d{2}|"
    r"[\[(]?(?:trace|debug|info|notice|warn(?:ing)?|error|err!?|fatal|critical|fail(?:ed|ure)?|panic)[\])]?(?:\s?[:|]|\[|\s-)\s*\S|\[(?:trace|debug|info|notice|warn(?:ing)?|error|fatal)\]|"
    r"traceback \(most recent|File \"[^\"]{1,300}\", line \d|at [\w.$<>]+ ?\(|\w*(?:Error|Exception|Warning): |npm (?:err|warn)|error\[E\d+\]|"
    r"E {2,}|remote: |fatal: |hint: |Caused by: |goroutine \d|thread '[^']{1,60}' panicked|\* {1,3}(?:Connected|Trying)|"
    r"(?:[$%❯➜]|>>>|PS [A-Z]:\\[^>]{0,200}>|[A-Z]:\\[^>]{0,200}>|[\w.-]{1,40}@[\w.-]{1,60}[:~][^$#\n]{0,100}[$#]) \S|"
    r"\d{1,6}(?:→|\t| ?[|│:] )\S|⎿|⏺|●|└|├|(?:HTTP/\d|[<>*] )\S{0,3}\s?\d{3} )",
    re.IGNORECASE,
)
LINK_DEFINITION = later(r"^\s{0,3}\[[^\]\n]{1,200}\]:\s*\S")
FOOTNOTE = later(r"^\s{0,3}\[(?:\^|\d{1,3}\]:?\s+[A-ZÄÖÜÀ-Ý\"“])")

TAG = later(r"(?:(?<![\w`])<|<(?=/))(?P<close>/?)(?P<name>[A-Za-z_][\w:.-]{0,60})(?P<attributes>(?:\s[^<>]{0,400})?)>")
BB_TAG = later(
    r"[\[{](?P<close>/?)(?P<name>quote|code|spoiler|noparse|issue|log|email|paste|system(?:-\w{1,20})?|user|assistant|inst)\b"
    r"(?P<attributes>[^\]}\n]{0,100})[\]}]",
    re.IGNORECASE,
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
    r"(?:[,;，；]\s+|(?<=[\w\"”“»'’…\]])\s+(?=but\s+(?:always|never|use|here|in|we|i|from|our)\b))(?=(?:but|however|yet|instead|so|aber|jedoch|mais|pero|sino|но|однако)\b)|[.!?]\s+|\n|[,，；;。]\s?(?=但|不过|可是)|[。！？]",
    re.IGNORECASE,
)
QUOTES_WORD = later(r"(?:[:：,，(]|\b" + SPEECH + r"(?:\s+that)?|" + SPEECH_ZH + r")\s*$", re.IGNORECASE)
SHORT_WORDS, SHORT_CHARS = 4, 40
TINY_WORDS = 2
LONG_WORDS = 14
# Limits on the lines after an introduction, the characters next to a quotation, and the quotations per turn.
NEAR_LINES, NEAR_CHARS, MAX_QUOTATIONS = 40, 160, 300
PAIRS = {
    "“": "”",
    "„": "“”",
    "«": "»",
    "‹": "›",
    "「": "」",
    "『": "』",
    "‘": "’",
    "‚": "‘’",
    "〝": "〞",
    "＂": "＂",
    "⟦": "⟧",
    "❝": "❞",
    "❛": "❜",
    "‟": "”‟",
}
OPENS_AFTER = frozenset(" \t\n([{<:：—–-=/*_，。、；！？…")
ENDS_BEFORE = frozenset(" \t\n)]}>.,;:!?…—–*_，。、；：！？")
SENTENCE = later(r"(?<=[.!?。！？])\s+")
WORD = later(r"\w+")
CJK_SIGN = later(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

# After one of these, the rest of a turn is data: code, forms, lists from an issue, begin marks, a lone URL, signatures.
BEGINS = later(
    r"^\s*(?:={1,6} \S|\*{2,6} \S|[-*+] \[[ xX]\] |\[\w[\w. -]{0,40}\]\s*$|\\[a-z]{2,20}\{|(?:fixup|squash|amend)! |[—–~=-]{1,3} \S[^\n]{1,30} [—–~=-]{1,3}\s*$|[\[(]?v?\d{1,4}\.\d{1,4}(?:\.\d{1,6})?[\])]?(?:\s+[(—–-].{0,60})?\s*$|https?://\S{1,2000}\s*$|--\s*$|"
    r"\W{0,10}(?-i:BEGIN|START)(?-i: [A-Z ]{1,60})?\W{0,10}$|\w{1,40}(?:[,;\t]\w{1,40}){1,40}\s*$|\[[^\]\n]{0,40}(?:text|screenshot|image|quote|paste|log|transcript)[^\]\n]{0,40}\]|"
    r"(?:best |kind |warm |with )?(?:regards|sincerely|cheers|grüße|viele grüße|mit freundlichen grüßen|mfg|cordialement|saludos|с уважением),?\s*$)"
    r"|^\S.{0,40} [—–-] (?:today|yesterday|\d).{0,20}\d{1,2}:\d{2}",
    re.IGNORECASE,
)
# A comment in code, even as the only line of a prompt. With "#" a user asks to remember something.
LONE_COMMENT = later(r"^\s*(?://|;;|%%)\s")
COMMENT_LINE = later(r"^\s*(?://|--\s|;;|%\s|\(\*|/\*|\*/|REM\s|#!|#\s)")
COMMENT_TAIL = later(r"(?<=[;{}),\]])\s{0,8}(?://|#|--)\s?\S.*$")
FORM = later(r"^\s*(?:[-*+]\s+)?\*{0,2}(?P<label>[^\W\d_][\w /.\U0001f300-\U0001faff-]{0,40})\*{0,2}(?::\s+|：\s*)\S")
MACHINE = later(
    r"^\s*(?:[\w./\\-]{1,200}[:(]\d{1,7}[:,]\d{1,5}\)?|\d{1,7}:\d{1,5}\s+(?:error|warning|info)|(?:FAILED|PASSED|ERROR|SKIPPED|XFAIL|ok|not ok) (?:\S{1,200}(?:::|/)|\d)|"
    r"Step \d{1,4}/\d{1,4} |-{2,3}> \w|[<>*] (?:HTTP/|GET |POST |PUT |Host: |User-Agent: )|[0-9a-f]{7,40} \S|commit [0-9a-f]{7,40}|Author: |\d{1,9},\S)"
)
CHECKED = later(
    r"(?:\b(?:is|are) (?:this|that|it|these|those) (?:correct|right|true|ok(?:ay)?|legit|safe|good|valid|still)|\bwhat (?:does|do) (?:this|that|it|these) (?:mean|say)|"
    r"\b(?:is|are|does|do) (?:this|these|the following) (?!(?:function|class|method|file|code|test|module|script|endpoint|branch|repo|build|component|query|api|command|work|run|compile|pass|happen|fail|mean|thing|project)s?\b)|\bdo you (?:agree|understand)|\bstimmt das|\bist das (?:richtig|korrekt)|\bc'est (?:vrai|correct)|\bes (?:correcto|cierto)|\bверно ли|对吗)[^.!\n?？]{0,60}[?？]",
    re.IGNORECASE,
)
GENERIC_WORDS = 4
# For each kind of quotation mark: the characters of its opening mark, the mark itself and the closing mark.
REGIONS = (
    (("<<", "{{{", "[[["), later(r"<{2,5}(?=\S)|\{{3}|\[{3}"), later(r">{2,5}|\}{3}|\]{3}")),
    (("(*",), later(r"\(\*(?=\s)"), later(r"(?<=\s)\*\)")),
    (("--[[",), later(r"--\[\["), later(r"\]\]")),
    (("{{!", "<%#"), later(r"\{\{!|<%#"), later(r"\}\}|%>")),
    (
        ("【引用", "【原文", "【转发", "【転載"),
        later(r"【(?:引用|原文|转发|転載)[^】\n]{0,20}】"),
        later(r"【[^】\n]{0,20}】|\Z"),
    ),
    (("’’", "‚‚"), later(r"’’|‚‚"), later(r"’’|‘‘")),
    (("″", "〃"), later(r"[″〃](?=[^\W\d])"), later(r"(?<=\D)[″〃]")),
    (("\\begin{",), later(r"\\begin\{\w{1,40}\}"), later(r"\\end\{\w{1,40}\}")),
    (("``",), later(r"``(?!`)"), later(r"\x27\x27|``")),
)
PASTED_ALONE = later(r"\b(?:pasted?|below|attached|copied|forwarded|quoted|fyi)\b", re.IGNORECASE)
HEADLINE_WORDS = 6
# A line with its author's name or avatar, and the text after it.
NAMED = later(
    r"^\s*(?:\[[^\]\n]{0,40}(?:text|screenshot|image|quote|paste|log|transcript)[^\]\n]{0,40}\]\s|(?:From|Von|De|От) [A-Z\u00c0-\u042f]\w{1,30}(?: [A-Z]\w{1,30})?\s{0,3}[-–—:]\s)"
)
# The agent's own words, quoted back to it.
YOURS = later(r"\b(?:you|your|du|dein\w*|ihr|tu|ton|ta|vous|votre|su|tus?)\b|\bты\b|\bтво\w+|\bвы\b|你", re.IGNORECASE)
HEREDOC = later(r"<<-?[\"']?[A-Z_]{2,20}[\"']?\s*$")
PAIRED = later(f"[{''.join(sorted({*PAIRS, *''.join(PAIRS.values())}))}]")

# Lines written by programs, sites and forms, never typed by hand. The rest of the turn belongs to them.
PRINTED = later(
    r"^\s*(?:(?i:hi|hello|hey|hallo|dear|liebe|bonjour|salut|hola|ciao|olá|привет|cześć|hoi|hej) (?i:@?all|everyone|everybody|team|folks|guys|zusammen|leute|kolleg\w+|à tous|tout le monde|a todos|equipo|a tutti|всем|коллеги|wszystkim|allemaal|alla)\b|(?i:@(?:channel|here|everyone|all|team)\b)|"
    r"(?!(?:From|We|I) )[A-Za-z][\w.-]{1,20}>\s|[★☆]|[QA]\d?:\s|(?i:(?:meeting |daily )?(?:minutes|notes) (?:of |from )?[\d./-]{3,12}\.?\s*$)|::\w|#?(?i:job|run|build|pipeline) #?\d{2,}|[A-Z][A-Z0-9]{1,15}-[0-9A-F]{1,8}:\s|\w{1,60}(?:\.\w{1,60}){0,6}(?:Error|Exception)\s*$|"
    r"(?:\.{0,2}[\w-]{1,60}/)*[\w.-]{1,80}\.\w{1,5}(?::\d{1,7}[:\s]|-\d{1,7}-)|\[(?i:yesterday|today|gestern|heute|hier|ayer)\b[^\]\n]{0,40}\]|§\s?\d|"
    r"\d{1,3}(?:\.\d{1,3}){1,4}\.?\s+[A-ZÄÖÜА-Я]|©|(?i:skip to (?:main )?content)\b|&(?:lt|quot|amp|#\d{1,6});|\w{3,40} hook (?:success|error|blocking|additional context|feedback)|"
    r"(?i:as an? [^\n]{1,60}\bI want\b)|(?i:(?:asked|answered|posted|modified)) [^\n]{0,30}\d|"
    r"[\w. *@-]{1,40} (?i:commented|requested changes|approved these changes|replied|reviewed|left a comment)(?: [^\n]{0,40}\bago| on [^\n]{1,40}| yesterday)?\s*$|"
    r"(?:On|Am|Le|El) [^\n]{3,120}<[^<>\s]{1,80}@[^<>\s]{1,80}>\s*$|"
    r"(?:On|Am|Le|El) [^\n]{0,60}\d[^\n]{0,100}(?:wrote|schrieb|a écrit|escribió)\b|"
    r"(?i:hi|hello|hey)\b[^.!?\n]{0,40}@\w|[^\n]{0,60}\bI(?:['’]| a)m (?:a|the|your) (?:\w{1,20} )?bot\b|"
    r"(?:You are|Du bist|Tu es|Vous êtes|Eres) (?:an?|the|ein[e]?|une?|un|une) )"
    r"|(?:[^|\n]{1,60} \| ){2}[^|\n]|[✗✘❌✓✔✅⚠⛔👋🤖ℹ❗🔴🟢🟡]|\[[\w .:/-]{2,30}\] |[%$&*]{3,}|[^.!?\n]{1,40}\b\d{1,2} (?:hour|minute|day|week|month|year)s? ago\s*$|"
    r"[A-Z]\w{1,30},? \d{1,2}:\d{2}\b|\(?(?i:begin|start|end) (?:of )?(?i:quote|quotation|mail|file|text|message|document|paste)\b|"
    r"(?:Art\.?|Article|Artikel|Section|Sect\.|Clause|Nr\.|No\.|Abs\.|Requirement|Anforderung|REQ|R|SR|NFR)[ -]?\d{1,4}[a-z]?(?:\.\d{1,4}){0,4}[.)]?(?: [–—-])? [A-ZÄÖÜ]|"
    r"(?:TODO|FIXME|XXX|HACK|NOTE)\([\w.@ -]{1,30}\):|(?:FIXME|XXX|HACK)\b|(?:export|ENV|set) [A-Z][A-Z0-9_]{1,40}=[A-ZÄÖÜ][a-zß-ÿ]{1,20} \w|[a-z_][\w.]{1,40}\([A-Z][^()\n]{8,200}\)\s*;?\s*$|"
    r"[\w .@-]{2,40} [·•] ?\d{1,3} ?(?:s|m|min|h|d|w|mo|y|std|tg)\b|[\w .@-]{2,30} via [A-Z]\w{1,20}\s*$|"
    r"(?:Act as|You(?:['’]re) an?) |(?i:copyright|permission is hereby|this (?:pr|pull request|issue|mail|message|file) (?:was|is) (?:auto\w*|generated|created|sent|opened))\b"
)
# Form labels and file names on a separate line above other lines.
PART_OF_FORM = later(
    r"^\s*(?:(?i:description|details|summary|background|context|motivation|acceptance criteria|steps to reproduce|expected(?: behaviou?r| result)?|"
    r"actual(?: behaviou?r| result)?|environment|beschreibung|akzeptanzkriterien|hintergrund)\s?:?|[\w./-]{0,80}\.(?:md|mdc|txt|rst|\w{0,20}rules)\s?:?|"
    r"[A-Z]{2,12}-\d{1,6}\s[^.!?\n]{1,80})\s*$"
)
# Two or three capitalised words alone on a line are a title or a name.
TITLE = later(r"^\s*[A-ZÄÖÜ][\w'’-]{1,30}(?: [A-ZÄÖÜ][\w'’-]{1,30}){1,3}\s*$")
# A name with its role, above a text.
NAMED_ROLE = later(
    r"^\s*\*{0,2}@?(?-i:[A-ZÄÖÜ])[\w.-]{1,30}(?: (?-i:[A-ZÄÖÜ])[\w.-]{1,30}){0,2}\*{0,2},? [(\[]?(?:[\w-]{1,20} ){0,2}"
    r"(?:maintainer|owner|author|member|contributor|collaborator|reviewer|admin|moderator|manager|lead|cto|ceo|support|bot|engineer|developer|architect|customer)[)\]]?\s*[:：]?\s*$",
    re.IGNORECASE,
)
# Endings of a text shown to the agent: a signature with a name, the source of the text, or a page footer.
FOOT = later(
    r"^[ \t]*(?:(?i:best|yours(?: (?:truly|sincerely|faithfully))?|talk soon|bien cordialement|(?:best |kind |warm )?regards|sincerely|cheers|thanks|thank you|grüße|(?:viele|liebe|beste) grüße|mit freundlichen grüßen|mfg|"
    r"cordialement|saludos|un saludo|с уважением),?[ \t]*\n\s{0,4}[A-ZÄÖÜА-Я][\w.’' |,-]{1,60}$|(?i:source|quelle|fuente|from)\s?:\s*\S{0,20}https?://\S|"
    r"(?:Signed-off-by|Co-authored-by|Reviewed-by|Acked-by|Reported-by|Change-Id|Refs|Closes|Fixes|Resolves):? (?:#\d|[\w-]{1,20}#?\d|[A-Z]\w)[^\n]{0,80}$|"
    r"(?:—|–|--|~)[ \t]?[A-ZÄÖÜА-Я][\w.-]{1,30}(?: [A-ZÄÖÜА-Я][\w.-]{1,30})?,?[ \t]*$|©|(?i:was this page helpful|all rights reserved|share improve this answer|(?:see also|further reading|related (?:pages|links|articles)|references|last (?:updated|edited|modified|reviewed)|table of contents|next page|previous page|siehe auch|weiterführende links|zuletzt (?:geändert|bearbeitet)|voir aussi|véase también|см\. также)(?:\b.{0,80}|:.{0,200})$))|"
    # A letter may end on one line with its writer's name.
    r"(?:^|(?<=[.!?])[ \t]+)(?i:thx|thanks|thank you|many thanks|cheers|best|best wishes|all the best|(?:best |kind |warm )?regards|br|lg|vg|mfg|gruß|(?:viele |liebe |beste |schöne )?grüße|danke|merci|(?:bien )?cordialement|bien à vous|gracias|saludos|un saludo|с уважением),?[ \t]+"
    r"(?!(?i:claude|opus|sonnet|haiku|all|everyone|again|anyway|mate|man|buddy|god|in|for|to)\b)[A-ZÄÖÜА-Я][\w.’'-]{1,30}(?: [A-ZÄÖÜА-Я][\w.’'-]{1,30})?[ \t]*[.!]?\s*\Z",
    re.MULTILINE,
)
_SOURCE_NOUN = rf"(?<!\w)(?:{NOUN}|manuel|manuale|документаци\w|инструкци\w|книг\w|статьи|book|policy|standard|contract|policies|norm|richtlinie|buch|libro|livre)(?!\w)"
# The source of the text above, as its last line: behind a dash, in parentheses or after a label.
SOURCE_BELOW = later(
    rf"^[ \t]*(?:(?:—|–|--|~)[ \t]?(?:(?:quoted |taken |copied )?(?:from(?! now)|aus|vom|extrait|tiré|del|du|из)\b[^\n]{{0,40}}?{_SOURCE_NOUN}[^\n]{{0,30}}|"
    rf"(?:the|our|their|der|die|das|le|la|el|il)\s(?:[\w'’-]{{1,30}}\s){{0,3}}{_SOURCE_NOUN})|"
    rf"-[ \t](?-i:[A-ZÄÖÜ]\w{{1,30}} [A-ZÄÖÜ]\w{{1,30}}), (?:[\w-]{{1,20}} ){{0,2}}(?:cto|ceo|vp|head|lead|manager|maintainer|engineer|architect|reviewer|support|inc|gmbh|ltd)\b[^\n]{{0,30}}|"
    rf"[(（\[](?:(?:from(?! now)|aus|vom|del?|du|des|d['’]|из|по)\b[^\n()]{{0,40}}?{_SOURCE_NOUN}[^\n()]{{0,30}}|"
    r"(?:source|quelle|fuente|fonte|источник|extrait|extracto|estratto|excerpt|auszug|zitat|цитата|摘自|引自|来自|來自|出自|出典|引用)[^\n()]{0,60}|[^\n()（）]{1,20}より)[)）\]]|"
    r"(?:source|quelle|fuente|fonte|источник|出典|来源|來源)\s?[:：][^\n]{1,60})\s*\Z",
    re.IGNORECASE | re.MULTILINE,
)
_TEXT_WORK = (
    r"summari[sz]e|translate|explain|rephrase|rewrite|reword|reply|answer|respond|convert|proofread|shorten|polish|paraphrase|improve|analy[sz]e|"
    r"address|review|escape|parse|validate|erkläre?|übersetze?|fasse|beantworte|kürze|korrigiere?|verbessere|traduis|explique|résume|réponds|corrige|"
    r"traduce|explica|resume|responde|переведи|объясни|ответь|исправь"
)
_SHOWN = r"this|that|these|those|it|he|she|they|above|following|below|sentence|paragraph|das|dies\w*|den|folgende\w*|satz|er|ça|cela|esto|eso|это|предложение"
_ASKS = r"^\W*(?:and |now |so )?(?:(?:can|could|would|will) you |please |pls |bitte |por favor )?"
# A request to work on a text, on its own line. It refers to the text, or is the only line.
WORK_ON_TEXT = later(
    r"^\W*(?:why does |why is |where does )?(?:this|the above) (?:yaml|json|toml|xml|csv|config|file|snippet|block|table|markup|fixture|page|html|markdown) (?:breaks|fails|crashes|is|does|doesn['’]t|won['’]t|gives|throws|confuses|looks)\b|"
    rf"{_ASKS}(?:(?:{_TEXT_WORK})\b(?:[^\n]{{0,60}}\b(?:{_SHOWN})\b|(?: \w{{1,20}})?\W*$| for me\b)|(?:convert|turn)\b[^\n]{{0,40}}\b(?:to|into)\b|"
    r"(?:use|put|insert|add) (?:this|these|the following)\b|(?:tl;?dr|spell-?check|grammar check)\b|(?:expected|actual) (?:output|result|text)\s*$|add an? (?:tooltip|label|banner|hint|note|comment|heading)\s*$|(?:translate|shorten|proofread|rephrase|paraphrase|reword|übersetze?|kürze)\b(?! (?:the|my|our)\b)[^\n]{0,30}$|"
    r"make (?:this|that|it) (?:sound )?(?:\w+er|more \w+|less \w+)\b)",
    re.IGNORECASE,
)
ASKS_ABOUT = later(
    rf"^\W*what (?:does|do|did) [^\n?]{{1,30}} mean\b(?: by (?:this|that|it))?\s*[?？]?\s*$|\bwhat (?:does|do|did) (?:the|this|that|these) [^\n?]{{1,30}} (?:say|mean|state|read)\b|\b(?:{_SHOWN})\b[^\n]{{0,80}}[?？]\s*$|\b(?:look|schau\w*) into (?:it|this|that)\b|对吗",
    re.IGNORECASE,
)
ASKS_BACK = later(
    r"^\W*(?:can|could|would|will|did|do|why) (?:did |do )?(?:you|we|i)\b|\b(?:clear|ok(?:ay)?|got (?:it|that)|understood|sense|possible|fine|alright|verstanden|klar|clair|claro|понятно)\b",
    re.IGNORECASE,
)
# The end of a quotation, named at the end of a line
END_OF_QUOTE = later(
    r"(?:^|[.!?,;–—-]\s?|\s)(?:end of (?:quote|quotation|citation|excerpt)|end quote|unquote|zitat ?ende|ende des zitats|fin de (?:la )?cita(?:tion)?|fine (?:della )?citazione|fim de citação|"
    r"конец цитаты|koniec cytatu|einde citaat)\W*$|引用(?:终|終|结束|結束)",
    re.IGNORECASE,
)
MAX_END_CHARS = 60
POINTS_BACK = later(
    r"(?:^|\s)(?:\^|<[-–—=]{1,3}|←|↑|⬆)(?=\s)|^\s*the (?:text |sentences? |lines? )?above\b|\bthe above (?:is|was|comes|are)\b",
    re.IGNORECASE,
)
SHOWS_OTHERS = later(
    r"^\W*(?:i )?(?:just )?(?:got|received|found|new|fresh|came|copied|taken|forwarded|arrived) (?:in )?(?:(?:this|that|it|these|an? \w{2,20}) )?(?:today |just |in )?(?:from|by|via) [^.!?:\n]{1,60}$|^\W*[\w ]{1,30} (?:sent|forwarded|wrote|posted|dropped|gave) (?:me |us )?(?:this|that|these)\b[^.!?:\n]{0,40}$|"
    r"^\W*(?:von|vom) [\w ]{1,30} (?:kam|kommt|kamen|erhalten|bekommen)\b[^.!?\n]{0,30}$|^\W*(?:reçu|arrivé|vient) (?:de|d['’])[^.!?\n]{1,50}$|^\W*(?:me llegó|recibí|recibido) de [^.!?\n]{1,50}$|^\W*(?:arrivato|ricevuto) da [^.!?\n]{1,50}$|^\W*(?:пришло|получил[аи]?) от [^.!?\n]{1,50}$|^\W*(?:dostał[ae]m|przyszło) od [^.!?\n]{1,50}$|"
    r"^\W*(?:(?:please|pls|bitte|now|and) )?(?:(?:make|mach\w*|rends?|haz|hazlo|rendi\w*|faz|сделай|zrób|maak) (?:(?:it|this|that|es|das|dies|ça|lo|le|это|to|het|dit) )?(?:sound )?)?(?:(?:short|long|nic|friendli|soft|strong|clear|bett|simpl|harsh|gentl|strict|kind|kürz|läng|höflich|freundlich|sanft|streng|klar|bess|formell)er|more \w+|less \w+|plus \w+|moins \w+|más \w+|menos \w+|più \w+|meno \w+|mais \w+|короче|мягче|вежливее|krócej|grzeczniej|łagodniej)(?: (?:please|bitte|por favor|proszę))?\s*$|"
    r"^\W*(?:(?:i|we) (?:just |recently |once |also )?(?:saw|read|heard|overheard|came across|noticed|spotted)|(?:ich|wir) (?:habe[n]? )?[^\n]{0,40}(?:gelesen|gesehen|gehört|las|sah|hörte)|j['’]ai (?:lu|vu|entendu)|"
    r"(?:he |hemos )?(?:leí|vi (?=\w)|oí|leído|visto|oído)|ho (?:letto|visto|sentito)|я (?:видел|прочитал|читал|слышал)\w?|(?:widział|przeczytał|czytał|słyszał)[ae]m|ik (?:las|zag|hoorde|heb [^\n]{0,40}(?:gelezen|gezien|gehoord)))\b[^\n]{0,60}$|"
    r"^\W*(?:(?:the|their|his|her|another|some|my|a) (?!following)|they |he |she )[^\n]{0,60}\b(?:has|have|had|got|uses?|follows?)\b[^\n]{0,30}\b(?:this|these|the following)\b"
    r"|^\W*(?:in|into|auf|ins|en) (?:plain |simple )?(?:english|german|french|spanish|russian|chinese|englisch\w*|deutsch\w*|französisch\w*|anglais|allemand|"
    r"inglés|alemán)(?: please| bitte)?\s*$",
    re.IGNORECASE,
)
# Reported speech, or quoted output of a program.
SAID_BY_OTHERS = later(
    r"\b(?:(?:my|our|the|an?|his|her|their|some)(?: [\w-]{1,30}){1,3}|he|she|it|they|someone|somebody) (?:(?:always|just|also|now|usually) )?"
    r"(?:says|said|keeps? (?:saying|telling|insisting|suggesting|repeating|nagging)|prints|printed|claims|told (?:me|us)|insists|thinks|recommends|suggests)\b|"
    r"(?-i:\b(?!I\b|We\b|You\b)[A-Z][\w.+#-]{0,30}(?: [\w.+#-]{1,20}){0,3}) (?:says|states|stated|specifies|mandates|dictates|demands|recommends|advises)\b|"
    r"\b(?:(?:some|many|most|other|several|a few) )?(?:people|folks|others|colleagues|developers|reviewers|guides|posts|articles) (?:say|claim|think|insist|argue|recommend|suggest)\b|"
    r"(?-i:\b(?!I\b|We\b|You\b)[A-Z][\w.+#-]{1,30}) (?:keeps? (?:saying|telling|insisting|suggesting|repeating|nagging))\b|"
    r"\b(?:the|a) user (?:types|enters|sends)\b|(?<!я )\b(?:пишет|говорит|сказал[аи]?|считает),?(?: что)?\s*[:：]?|[\u4e00-\u9fff]{1,6}(?<!我)(?<!我们)(?:说|认为)(?:道)?[：:，]|が?言った[：:]|"
    r"\b(?:mein\w*|unser\w*|der|die|das|er|sie)(?: \w{1,30})? (?:sagte?|meinte?|behauptet)\b|"
    r"\b(?:mon|ma|notre|le|la|il|elle)(?: \w{1,30})? (?:dit|disait|prétend)\b|\b(?:mi|nuestr[oa]|el|la)(?: \w{1,30})? (?:dice|dijo|afirma)\b",
    re.IGNORECASE,
)
# A location in a document before a colon. The content of that location follows.
CITES = later(
    r"\b(?:art\.|(?:misra|pep|rfc|iso|cert|owasp|adr|cwe|din)[\s-]{0,2}[a-z]?(?=\d)|requirement|anforderung|nr\.|fußnote|footnote|page|pp?\.|section|sect?\.|chapter|clause|article|paragraph|para|rule|slide|seite|kapitel|abschnitt|absatz|artikel|folie|chapitre|"
    r"alinéa|sección|capítulo|página|раздел|глава|страница|стр\.)\s?(?:no\.?\s?)?\d|§\s?\d|第\s?\d{1,4}\s?[页章节条頁]",
    re.IGNORECASE,
)
# Before a colon: introductions of forwarded texts, and of texts on which an opinion is wanted.
PASSED_ON = later(
    r"^\W*(?:fwd?|forwarded|weitergeleitet|transféré|reenviado)\b|\b(?:what do you (?:think|make)|your (?:opinion|thoughts|take)|any thoughts|was (?:hältst|meinst|denkst) du|"
    r"qu'en penses-tu|que penses-tu|qué (?:opinas|piensas|te parece)|что (?:думаешь|скажешь))\b|你(?:怎么看|觉得)",
    re.IGNORECASE,
)
# Before a colon: introductions of texts to work on, such as a slogan, a label or test data. Plurals and bare topics ("Commit
# messages: …") are excluded.
ARTIFACT_LABEL = later(
    r"^\W*(?:(?:the|an?|my|our|this|new|next|sample|some|possible|here's the)\s+)?(?:[\w'’-]{1,20}\s+){0,2}?"
    r"(?:(?:(?:answer|reply|response|message|e?-?mail|tweet|post|comment) (?:to|for) |(?:seed|mock|fake|demo|sample|test|dummy) (?:data|string|prompt|input)s?\s*$|(?:counter-?)?example of an? [\w -]{1,40}|slogan|tagline|motto|headline|caption|jingle|punchline|tooltip|placeholder|button (?:label|text)|label text|alt text|subtitle|hashtag)"
    r"(?: ideas?)?\b|(?:copy|wording|test data|sample (?:text|data|input)|dummy (?:text|data)|example (?:text|input|sentence)|fixture|text|line|"
    r"sentence|string|quote) (?:for|of|on|in) )[^:\n]{0,80}$",
    re.IGNORECASE,
)
# Remarks on the origin of the text above, and a question or task that ends by referring to the text below.
NAMES_ORIGIN = later(
    rf"^\W*(?:(?:that|this|these|das|ça|eso) (?:is|was|are|were|ist|war|steht|est|es) (?:(?:what|how) (?!i\b|we\b)|from\b|in\b|part\b|quoted\b|copied\b|was (?!ich\b|wir\b)|aus\b|so\b)|"
    rf"(?:that|this|it)(?:['’]s| is| was| comes) (?:straight |taken |quoted |copied )?(?:from|out of|part of) |so much for (?:the|this|that|his|her|their) [^\n]{{0,30}}?{_SOURCE_NOUN}|"
    rf"(?:that|this|it)(?:['’]s| is| was) (?:all of |the (?:whole|entire|full|complete) )[^\n]{{0,30}}?{_SOURCE_NOUN}|so (?:steht|stand|heißt|hieß) es\b|"
    r"(?:eso|así) (?:pone|dice|está escrito)|c['’]est (?:écrit|tiré|dans)|così (?:dice|è scritto)|(?:так|это) (?:написано|сказано|цитата|из)\b|tak (?:jest napisane|stoi)|"
    rf"\((?:quoted |copied |taken )?(?:from|aus|de)\b[^\n]{{0,40}}?{_SOURCE_NOUN}|i (?:found|got|copied|saw|read) (?:this|that|it)\b)",
    re.IGNORECASE,
)
POINTS_BELOW = later(
    r"\b(?:this|these|the following)(?: (?:please|rules?|texts?|ones?|lines?|sentences?|guidelines?|polic(?:y|ies)))?\s*[?？:]\s*$",
    re.IGNORECASE,
)
DOES_IT = later(
    r"\b(?:you|fix|do|run|try|build|commit|stop|remember|about|keep|follow|note|use|learn|obey|apply|know)\b|\b(?:ask|told) ",
    re.IGNORECASE,
)
# A complete sentence within another sentence, taken from another text.
SENTENCE_INSIDE = later(
    r" (?<=[^\W\d_] )(?=(?:Always|Never|From now on|Going forward|Every|Each|All|You (?:must|should)|Use|Run|Do not|Don['’]t|Please|We|In this|Make sure|Only|Remember|"
    r"Immer|Nie|Niemals|Ab (?:jetzt|sofort)|Bitte|Künftig|Wir|Toujours|Jamais|Désormais|Il faut|Siempre|Nunca|A partir|Всегда|Никогда|Отныне)\b)"
)
# First words of a user's lines. Any other line without an end mark, above further lines, is a title, a label or part of a page.
OPENERS = frozenset(
    "a actually add adjust after again all allow also always and any apply are as ask at avoid back be because before better both btw build but by bump call can "
    "cancel change check clean cleanup clone close commit compare configure continue convert cool copy correct could create cut deal debug delete deploy describe did do "
    "document does don done drop each edit enable ensure every everything exactly explain extend extract fetch figure finally find fine finish first fix for forget "
    "format from generate get give go good got great have hello help hey hi hide hm hmm how however i if implement import improve in increase init inline install instead "
    "integrate is it just keep kick last later leave let lets link lint list load locate log look looks lower make maybe merge migrate mock move my name neat need never "
    "new next nice no nope nothing now of ok okay oh on once one only open oops or otherwise our pass perfect pick plan please port prefer prepare print profile "
    "publish pull push put quick raise read really rebase redo reduce refactor release reload remember remind remove rename reopen replace report rerun "
    "reset resolve restart restore retry return revert review rewrite right roll run same save scan search see set setup she should show simplify skip so some sorry sort split "
    "squash start still stop store style super sure swap switch sync tag take test tests thanks thank that the then there these they this those to today "
    "try turn two undo unfortunately unless until update upgrade use using verify wait was we well were what when whenever where which while who why will with without wonderful "
    "work works would wow wrap write wrong yeah yep yes yet you your "
    "ab aber alle alles als also ändere auch bau baue beachte bei beim bevor bitte dann danke das dass der die dies diese du ein eine erst erstelle es falls fertig "
    "füge für genau gut hallo hier ich im immer in ist ja jetzt kannst kein keine lass lösche mach mache merk mir mit nach nein nenne nie niemals nimm noch nun nur ok "
    "prima prüfe schreib schreibe setze sobald starte stell stimmt super teste tu übrigens und unser versuch vergiss verwende vor wann warte warum was weiter wenn wer wie "
    "wir wo zeig zuerst zwei "
    "alors après avant bien bonjour bon ça ce cette corrige crée dans de désormais donc dorénavant écris et fais il je jamais la le les lance mais merci mets ne non "
    "nous on oui parfait pas pour quand que rappelle retiens si supprime toujours tu un une utilise vas vérifie "
    "a ahora antes añade bien borra bueno con corrige crea cuando de después el ella en es escribe está esto gracias haz hola la los me mi muy no nos nunca para perfecto pero "
    "por que quiero recuerda si sí siempre sin también un una usa vale ve y yo "
    "а без в все всегда вот впредь где давай да для если запусти запомни и исправь используй как когда мы на не нет никогда но ну ок отлично отныне пока пожалуйста после почему "
    "при привет проверь с сделай спасибо так теперь то у удали что это я".split()
)
# Before a colon: introductions of texts to be written or tested, of a task for someone else, or of a question.
WANTED_TEXT = later(
    r"^\W*(?:(?:i want|i need|add|set|create|show|give|display|print|write|test|sample|example|prompt|expected|actual)\b[^\n]{0,60}\b(?:messages?|prompt|input|label|tooltip|"
    r"banner|title|caption|heading|string|sample|fixture|placeholder|output|text|copy|agent|model|bot)(?: (?:for|of|to|in) [^\n]{1,40})?|"
    r"(?:say|sing|spell|pronounce|recite)\b[^\n]{0,40}|your (?:task|job|role|goal|mission)|(?:where|which|why|who|how)\b[^\n]{0,80}|(?:grammar|spelling|spell|style|fact)[ -]?check)\s*$",
    re.IGNORECASE,
)

# Vocabulary for discussing a text: words for work on texts, for their kinds, parts and forms, and for opinions.
META_WORDS = frozenset(
    "sound sounds rate slogan slogans headline tagline motto klingt klingen sonne sonnent suena suenan suona suonano soa soam brzmi brzmią klinkt klinken zní låter звучит звучат "
    "translate translation summarise summarize summary shorten rephrase rewrite reword phrase wording proofread polish paraphrase analyse analyze "
    "compare convert format reformat alphabetically alphabetical indent indentation lint validate parse escape unescape decode encode minify prettify "
    "rhyme recite simplify review critique typo typos typographical spelling spell grammar comma commas punctuation capitalise capitalize "
    "uppercase lowercase capital capitals bold italic font sentence sentences paragraph text texts word words line lines list table bullet bullets title heading caption "
    "footnote quote rule rules item items json yaml toml xml html css csv tsv sql markdown latex regex ini prose poem haiku "
    "english german french spanish italian russian chinese japanese korean portuguese dutch polish klingon latin "
    "think thoughts opinion opinions feedback mean means meant says wrote written author speaking deadline compliant outdated cheesy polite politely "
    "übersetze übersetzen übersetz übersetzung zusammenfassen kürze kürzen formuliere formulierung sortiere vergleiche erkläre "
    "satz sätze absatz wort wörter zeile zeilen liste tabelle rechtschreibung grammatik deutsch englisch französisch "
    "meinst denkst hältst bedeutet gemeint meinung höflicher "
    "traduis traduire traduction résume résumer reformule raccourcis phrase texte mot mots anglais allemand français espagnol penses signifie orthographe "
    "traduce traducir traducción resumir reformula acorta frase texto palabra palabras inglés alemán francés español piensas opinas opinión significa ortografía "
    "traduci riassumi frase testo inglese tedesco "
    "переведи перевод перевести резюмируй сократи перефразируй сравни текст фраза предложение английский русский немецкий думаешь мнение значит означает".split()
)
# These words are also part of that vocabulary, but on their own they may refer to the work: opinions requested with a
# question mark, and plain verbs.
OPINION_WORDS = frozenset(
    "enough gut schön bien bonne buen bueno bem bene buono dobrze dobre goed bra хорошо нормально valid correct right wrong true false accurate legit sensible reasonable fine clear unclear proper formal formally friendly friendlier shorter longer better nicer simpler "
    "current missing new changed different same differ difference enough harsh rude long short good bad sense agree disagree decided decides decide charge responsible still yet matter matters apply applies hold holds "
    "richtig falsch korrekt gültig sinnvoll stimmt fehlt neu besser kürzer juste vrai faux correct cierto falso correcto верно правильно неправильно правда".split()
)
PLAIN_VERBS = frozenset(
    "fix check correct change update look see read edit add remove use need want make makes get put give improve explain sort align render count complete continue finish remind say tell turn write answer "
    "bigger smaller larger color colour case style tone language meaning file plain point points version draft part action "
    "davon hältst heißt fasse korrigiere prüfe fehler corrige explique veut dire avis correggi explica fragt исправь объясни слово слова ошибки".split()
)
BARE_WORDS = frozenset(
    "dit deze det detta dette isto isso este tohle tato a an the this that these those it its them they he she him her his their there here what which who whom whose how why when where is are was were am be been being do does did done has have had "
    "will would could can shall may might you your i me my mine we us our ours to into in on of for from with by as at and or not no so too also still even just only any all both one ones "
    "some more less most very really please pls up out about please than then now if "
    "der die das den dem des ein eine einen einem dies diese dieser dieses es er sie ihn ihm was wer wie wo warum wann ist sind war waren hat haben hast kann kannst du dir dich ich mir mich "
    "wir uns unser unsere in ins im auf aus von vom zu zum zur für mit und oder nicht kein keine noch auch nur so bitte mal mir ihr "
    "le la les un une des du de ce cet cette ces ça cela c est sont en au aux dans pour par avec et ou pas plus encore que qu qui quoi comment pourquoi tu te toi je me moi nous vous "
    "el los las una uno esto eso esta este es son al del para por con y o no sí más que qué quién cómo yo mi me te lo se il lo gli i in di da con per e o è questo questa "
    "это этот эта эти на в из по с и или не что как кто почему ты мне я мы нам ли же ещё пожалуйста так".split()
)
MAX_META_WORDS = 11
META_CJK = later(
    r"^\s*(?:这样|這樣|这么|这|這|以下)?(?:写|寫|说|說|翻|句话)?(?:可以|行|好|对|對|通顺|礼貌)吗?\s*[?？]\s*$|^\s*(?:これ|この文|以下|次)?(?:で|は)?(?:いい|良い|よい|正しい|大丈夫|自然|失礼)[^。\n]{0,12}(?:か|かな)?\s*[?？]\s*$|^\s*(?:이거|이 문장|이게)?\s?(?:괜찮|맞|자연스러)[^.\n]{0,8}[?？]\s*$|"
    r"^\s*(?:请|請|把|帮我|幫我|这|這|上面|下面|以下|以上|上の|下の|次の|これ|この|文|を|的|段|句|话|話|文字|文本){0,6}(?:翻译|翻譯|译|總結|总结|概括|摘要|润色|潤色|校对|校對|改写|改寫|缩短|縮短|解释|解釋|"
    r"英訳|和訳|翻訳|要約|添削|校正|訳|説明|번역|요약|교정)(?:[^\n。，,]{0,12})\s*[。？?！!]?\s*$"
)
# End of a line that continues below: a preposition or a verb of speech with nothing after it.
UNFINISHED = later(
    r"\b(?:with|of|like|by|as|from|says?|said|reads?|states?|stated|shows?|showed|prints?|printed|writes?|wrote|returns?|returned|gives?|gave|contains?|has|had|was|were|is|are|lautet|steht|sagt|sagte|schreibt|"
    r"schrieb|mit|von|wie|dit|écrit|comme|avec|dice|dijo|como|con|пишет|гласит|написано|"
    r"(?:suggest(?:s|ed)?|wrote|said|sent|g[ao]t|gave|posted|ha[sd]|returned|printed|shows?|showed|found|received|copied|proposed|recommended|answered)\b[^\n]{0,20}\b(?:this|that|these|th(?:is|at) (?:line|text|sentence|rule|paragraph|bit|part)))"
    r"\s*$|(?:写着|写道|说|是)\s*$",
    re.IGNORECASE,
)
# Another person to whom a list of rules is attributed.
OTHERS = later(
    r"\b(?!(?:let|it|that|here|there|what|who|how|where|today|tomorrow|yesterday|everyone|everybody|project|repo|repository)['’]s)[A-Za-zÀ-ÿ]{2,30}(?:['’]s|s['’])\s+(?:\w{1,30}\s+){0,2}\w|"
    r"\b(?:other|another|sister|neighbou?r\w*|foreign|external|partner|upstream|customer|client|vendor|supplier|competitor|contractor|agency|former|previous)s?(?:['’]s?)? (?:team|repo|repository|project|"
    r"company|department|group|org|organi[sz]ation|rules?|guidelines?|conventions?|principles|handbook|policy|checklist)\b|"
    r"\b(?:of|from|by) (?:our |the |a |an |their |another |some |my )?(?:other|another|sister|customer|client|vendor|supplier|competitor|partner|contractor|agency|upstream|friend|colleague|boss|neighbou?r)s?\b|"
    r"\bteam (?-i:[A-Z])\w+\b|\b(?:ander\w+|fremd\w+) (?:team|projekt|firma|abteilung)s?\b|\b(?:des|vom|der) (?:kunden|lieferanten|partners?|konkurrenten|kollegen|nachbarteams?|kundin|firma)\b|"
    r"\b(?:du|de la|des|d['’]un\w*) (?:client|fournisseur|concurrent|collègue|autre)\w*|\b(?:del|de la|de un\w*|de otr[oa]) (?:cliente|proveedor|competidor|colega|equipo)\w*|"
    r"\b(?:заказчика|клиента|поставщика|конкурента|коллеги|другой команды|соседней команды)\b|(?:客户|供应商|竞争对手|同事|别的团队|其他团队)的",
    re.IGNORECASE,
)
_SOURCE = (
    rf"(?:{NOUN}|check ?lists?|principles|guidelines?|polic(?:y|ies)|handbook|slides?|tweets?|lyrics|recipes?|posters?|contracts?|terms|paragraphs?|sentences?|sections?|chapters?|clauses?|"
    r"release notes|stack ?overflow|reddit|hacker ?news|twitter|forum|newsletter|config(?:uration)?|yaml|json|rules? files?|system prompt|job advert|advert|leaflet|menu|sign)"
)
# An incomplete line that refers to a text below it.
NAMES_TEXT = later(
    rf"^\W*(?:(?:the|an?|our|their|his|her|its|some|from|this is|that is|these are|in|on|via|old|new|current|my|error|upstream)\s+|[\w.-]{{1,30}}['’]s\s+)?(?:[\w./#'’-]{{1,30}}\s+){{0,3}}?{_SOURCE}"
    r"(?:\s+(?:of|from|in|on|by|at|for)\s+[^\n.!?]{1,50}|\s+v?\d[\d.]{0,10})?\s*$",
    re.IGNORECASE,
)
# The user's own words continue in the same turn.
OWN_VOICE = later(
    r"^\W*(?:anyway|also|besides|by the way|btw|apart from that|and from now on|übrigens|außerdem|au fait|además|кстати)\b",
    re.IGNORECASE,
)
# Openings of a reply typed directly below one quoted line. Other openings continue the quotation.
REPLIES = later(
    r"^\W*(?:no|nope|yes|yep|yeah|that|this|ok|okay|i|we|but|not|agreed?|disagree|wrong|right|here|in this|my|our|thanks|sure|nein|ja|das|ich|wir|aber|non|oui|je|nous|mais|sí|yo|pero|нет|да|я|мы|но)\b|^\s*(?:不|是|对|我|这)",
    re.IGNORECASE,
)
# Wishes, requests and statements of other people, without a colon.
OTHERS_WANT = later(
    r"(?<=[\w'’.]) (?:(?:also|always|now|just|really|still|often|usually|once|again) )?(?:(?:wants|wanted|asks|asked|tells|told|begs|begged|expects|expected|(?<=docs )want|(?<=they )want|(?<=rules )want) "
    r"(?:viewers |readers |users |listeners |students |them |that |us |me |you |me that |us that |everyone |everybody |people |all |to )|(?:insists|insisted|thinks|thought|believes|believed|says|said|claims|claimed|writes|wrote|demands|demanded|suggests|"
    r"suggested|recommends|recommended|argues|argued|states|stated|decreed|requires|reckons) (?:that |we |one |you |to |us ))|"
    r"(?<=\w) (?:answered|replied|texted|pinged|messaged|told|wrote|posted|mailed|schrieb|schreibt|meldet|mailte|a écrit|escribió|написал)(?: (?:me|us|mir|uns|im chat|in the chat|with|back|on \w{1,20}))?,?(?= )|"
    r"\b(?:message|dm|mail|e-?mail|text|ticket|note|comment|post|memo|nachricht)\b[^.!?\n]{0,30}(?:\b(?:was|is|were) (?:to|that)|\bfrom \w{1,20},) |"
    r"(?<=\w) (?:says?|said|writes?|wrote|claims?|claimed) (?=(?:always|never|from now on|immer|niemals|ab jetzt)\b)|"
    r"\b(?:apparently|supposedly|allegedly|angeblich|apparemment|al parecer|якобы)\b|\bit (?:was|is|has been) (?:said|claimed|suggested|proposed|recommended|written) (?:that )?|"
    r"\b(?:сказано|написано|указано|говорится|пишут|говорят)\b,?|(?:说|认为|要求|建议)(?:道)?|(?:マニュアル|ドキュメント|資料|説明書|仕様書|同僚|上司|先輩)[にはがも]{1,2}|"
    r"\b(?:laut|gemäß|selon|d['’]après|según|согласно)\b[^.!?\n,]{1,40}?\b(?=soll|muss|müss|darf|man|wird|il faut|on doit|hay que|se debe|надо|нужно|следует|всегда)",
    re.IGNORECASE,
)
# … except the user's own statements
SAYS_ONESELF = later(
    r"(?:\b(?:i|we|you|who|what|that|which|this|ich|wir|du|je|nous|tu|yo|я|мы|ты)(?:['’](?:ve|d|m|re|ll))?|我|我们|你)(?: (?:just|already|also|have|had|never|always))?\s*$",
    re.IGNORECASE,
)
# … and what the user agrees with
AGREES = later(
    r"\b(?:i|we) (?:fully |totally |all )?(?:agree|think so too|want that|like that|do too)\b|\b(?:und|aber) (?:ich|wir)\b|\bso\b|\btherefore\b|\bdeshalb\b|\balso\b",
    re.IGNORECASE,
)
# The user's own order after a condition that mentions what others say
CONSEQUENCE = later(
    r",\s*(?:then |please |bitte |dann |alors |entonces )?(?:always|never|do not|don['’]t|run|use|tell|ask|stop|immer|nie(?:mals)?|toujours|jamais|siempre|nunca|sempre|mai|всегда|никогда|zawsze|nigdy|altijd|nooit)\b",
    re.IGNORECASE,
)
CONDITION = later(
    r"^\W*(?:and |but |so )?(?:when(?:ever)?|if|once|as soon as|should|wenn|falls|sobald|quand|si|lorsque|cuando|если|когда)\b",
    re.IGNORECASE,
)
STATES_AT_END = later(r"\b(?:is|are|was|were|ist|sind|war|waren|est|sont|était|es|son|era)\s*$", re.IGNORECASE)
QUOTED_NEXT = later(r"^\s{0,3}(?:[\"'“„«‹‘`]|\[…\])")
# Another speaker follows after the colon.
SPEAKS = later(
    r"\b(?:complain(?:s|ed)|warn(?:s|ed)|suggest(?:s|ed)|advis(?:es|ed)|recommend(?:s|ed)|demand(?:s|ed)|shout(?:s|ed)|yell(?:s|ed)|moan(?:s|ed)|nag(?:s|ged)|whines?|outputs|prints|argues?|argued|says|said|(?:people|they|others|folks|some) say|keeps? (?:telling|saying)|(?:is|was|were) (?:\w{1,12} )?(?:adamant|insistent)|answers?|answered|replied|pinged|texted|messaged|mailed|emailed|pinged|posted|tweeted|reads|states|stated|wrote|writes|claims|claimed|insists|insisted|meint|meinte|sagt|sagte|schreibt|schrieb|behauptet|lautet|dit|disait|écrit|dice|dijo|afirma|пишет|говорит|гласит|написал[аи]?|сказал[аи]?|ответил[аи]?)(?: (?:me|us|to me|to us|back|mir|uns))?\s*$",
    re.IGNORECASE,
)
_RULE_NOUN = (
    r"(?:(?:rules?|guidelines?|polic(?:y|ies)|conventions?|principles?|practices?|requirements?|mantra|\w{0,20}regeln?|richtlinien?|vorgaben?|konvention(?:en)?|règles?|consignes?|reglas?|normas?|convención|"
    r"regol[ae]|regras?|zasad\w*|правил\w*)(?!\w)|规则|規則|规定|约定|ルール|규칙)"
)
# A rule that was in force earlier follows after the colon.
FORMER = later(
    rf"{_RULE_NOUN}[^:\n]{{0,80}}(?<!\w)(?:was|were|said|went|war|waren|lautete[nt]?|hieß|galt|était|étaient|disait|era|eran|fue|decía|diceva|dizia|brzmiał[aoy]?|był[aoy]?|был[аои]?|гласил[аои]?|luidde)\s*$|"
    rf"\bused to (?:be|say|read|go|write|tell)(?: \w{{1,20}})?\s*$|{_RULE_NOUN}[^:\n]{{0,40}}\b(?:until|till|bis|jusqu['’]\w*|hasta|fino (?:a|al)|do|до)\b[^:\n]{{1,30}}$|"
    rf"(?:旧|舊|以前|之前|过去|過去|原来|昔|前)の?[^:\n]{{0,8}}(?:规则|規則|规定|约定|ルール)[^:\n]{{0,3}}$",
    re.IGNORECASE,
)
# Examples, or texts for something that is to be made, follow after the colon.
EXAMPLES = later(
    rf"(?:{_RULE_NOUN}|\b(?:lines?|sentences?|inputs?|prompts?|phrases?|texts?|zeilen?|sätzen?|satz|frases?|строк\w?|фраз\w?))[,，]?\s?(?:such as|like|e\.g\.?,?|for (?:example|instance),?|wie|etwa|z\. ?b\.|"
    r"du (?:genre|type)|comme|par exemple|como|por ejemplo|del tipo|tipo|come|вроде|наподобие|типа|например|zoals|jak|np\.|比如|例如|像)\s*$|"
    r"\bwith (?:the |this |a )?(?:error )?(?:message|text|wording|body|title|label|caption|content|note|line|sentence|string|entry|comment|value|rule|row|record|motto|slogan)\s*$|"
    r"\b(?:label|classif|detect|recogni[sz]|treat|count|flag|parse|mark|tag)\w*\b[^:\n]{0,40}\bas an? (?:order|rule|instruction|command|request|preference)\s*$|"
    rf"\b(?:example|sample|fake|dummy|demo|mock|lint|eslint|beispiel|exemple|ejemplo|esempio|пример)\s(?:de |d['’]|di )?{_RULE_NOUN}\s*$|"
    r"\b(?:expects?|expected|asserts?|returns?|outputs?|shows?|displays?|renders?|receives?|yields?|erwartet|attend|espera|ожидает)\s*$|"
    r"^\W*(?:quoting|citing|zitat|citation|citando|цитирую|цитата)\b[^:\n]{0,60}$|(?:وفقاً?|بحسب|حسب|بناءً? على)[^:\n]{0,40}$",
    re.IGNORECASE,
)
FIRST_PERSON = later(r"\b(?:i|we|ich|wir|je|nous|yo|я|мы)\b|我", re.IGNORECASE)
FOLLOWING = later(
    rf"\b{SPEECH} (?:the following|this|as follows|that|folgendes|ceci|lo siguiente|следующее)[.:]\s", re.IGNORECASE
)
COMMIT = later(r"^\s*commit [0-9a-f]{7,40}\b")
# A user's answer below program output. It reads like conversation and gives no instruction.
ANSWERS = later(
    r"^(?:(?i:ok(?:ay)?|hm+|good|great|nice|right|yes|no|nope|yeah|well|so|hmm|fine|cool|weird|strange|oh|ah|gut|schön|hm|aha|bien|vale|bueno|ладно|хорошо|так)\b|(?:we|i|it|that|this|why|what|how|where|wir|ich|das|"
    r"warum|was|wie|nous|je|on|ça|pourquoi|esto|por|мы|я|это|почему) [^\W_]|(?:I|We|That|This|Wir|Ich|Das|Nous|Je|Мы|Я) [a-zß-ÿа-я])"
    r"|^(?:我|这|那|好|为什么)"
)
MY_RULES = later(
    r"\b(?:my|our|mein\w*|unser\w*|mes|nos|notre|mis?|nuestr\w+|мо[иё]\w*|наш\w*) (?:\w{1,20} )?(?:rules?|regeln?|règles?|reglas?|правил\w*|list\w*|points?|wishes)\b",
    re.IGNORECASE,
)
KEY = later(r"^\s*[\w.-]{1,40}:\s*$")
INNER_KEY = later(r"^\s{1,8}[\w.-]{1,40}:(?:\s|$)")
# Every such sentence contains one of these words or a word for reporting.
WANT_WORDS = frozenset(
    "say write writes claim answered replied texted pinged messaged told wrote posted mailed schrieb schreibt meldet mailte escribió написал message dm mail email text ticket note comment post memo nachricht says said claims quote quoted copied according want wants wanted asked tells told begs begged expects expected insisted thinks thought believes believed said claimed wrote demanded suggested recommended "
    "argues argued states stated decreed reckons apparently supposedly allegedly proposed written angeblich apparemment parecer якобы указано говорится пишут говорят "
    "d après".split()
)
# A question that asks the agent to do something.
REQUESTS = later(
    r"\b(?:can|could|would|will|won't|may) (?:you|we|i)\b|\bplease\b|\bpls\b|\bbitte\b|\b(?:kannst|könntest|würdest|kannste|magst) du\b|\bkönn(?:en|ten) (?:sie|wir)\b|"
    r"\b(?:peux|pourrais|veux)[- ]tu\b|\bpouvez[- ]vous\b|\b(?:puedes|podrías|podemos|por favor)\b|\b(?:você pode|pode|puoi|potresti)\b|\b(?:можешь|можете|мог бы|пожалуйста)\b|请|能不能|可以.{0,40}吗|"
    r"(?:ください|くれ|もらえ|いただけ)|줄래|주세요|줘",
    re.IGNORECASE,
)
# A sentence that only supposes something.
SUPPOSES = later(
    r"^\W*(?:act|behave|talk|speak|answer|write) (?:as if|as though)\b|^\W*in (?:this|the|my|our|a) (?:game|story|play|scene|novel|quiz|exercise|movie|film)\b(?! (?:engine|repo|project|code|folder|module))|"
    r"^\W*(?:and |but |so |now )?(?:suppose|supposing|imagine|assume|assuming|let['’]?s (?:say|assume|pretend)|say (?:we|i|you|somebody|someone)\b|pretend|what if|what would|"
    r"would it|if (?:i|we|you|somebody|someone|they) (?:wrote|said|had|were|did|used|told|would)\b|"
    r"angenommen|stell dir vor|nehmen wir an|gesetzt den fall|supposons|imagine|imagina|supongamos|pongamos|допустим|представь|предположим)\b|^\W*(?:假设|假如|如果我说|想象)",
    re.IGNORECASE,
)
# A sentence that mentions a rule only to deny it, abolish it, ask about it, or report it as hearsay.
DISCLAIMS = later(
    r"\b(?:not|n['’]t) (?:saying|suggesting|telling you|asking you|claiming|implying|demanding|proposing|arguing)(?: that| to)?(?: (?:we|you|one|i|it|they))? (?:always|never|must|should|from now on|have to)\b|"
    r"\b(?:i|we) (?:don['’]?t|do not) (?:really |actually )?(?:think|believe|feel|find|see why)\b(?: that)? (?:i|we|one|you|they|it|people|anyone)\b[^.!?;:\n]{0,40}\b(?:always|never|must|need|have to|every)\b|"
    r"\b(?:makes?|sees?|there(?:['’]s| is)) no (?:sense|reason|need|point)\b[^.!?;:\n]{0,20}\b(?:to|in)\b|\b(?:a |not a )?(?:bad|poor|horrible|awful) idea to\b|\bi(?:['’]d| would) rather not (?:always|have to)\b|\bi hate that (?:we|one|you|i)\b|\bi(?:['’]m| am) (?:\w{1,12} )?against\b|\bnot a (?:big |huge |great )?fan of\b|"
    r"(?:\b(?:glaube|denke|finde|meine)(?: ich)? nicht,? dass|\bne (?:pense|crois|trouve) pas qu\w*|\bno (?:creo|pienso|considero) que|\bnon (?:credo|penso|trovo) che|\bnão (?:acho|creio|penso) que|"
    r"\bне (?:думаю|считаю|уверена?),? что|\bnie (?:sądzę|uważam|myślę),? (?:że|żeby)|\b(?:denk|vind|geloof) niet dat)\b[^.!?;:,\n]{0,60}\b(?:immer|nie|stets|muss|müss\w*|soll\w*|toujours|jamais|faille|faut|doi\w*|dev\w+|"
    r"siempre|nunca|deb\w+|hay\w?|sempre|mai|si debba|всегда|никогда|надо|нужно|долж\w+|zawsze|nigdy|trzeba|musi\w*|altijd|nooit|moet\w*)\b|(?:不认为|不觉得|不覺得|觉得(?:不必|没必要|不用|不需要|没有必要))[^。！？\n]{0,20}(?:总是|每次|必须|一定|永远|一直)|"
    r"\b(?:don['’]?t|do not|didn['’]?t|did not) (?:have|need) to (?:always|ever)\b|\bneed(?:n['’]t| not) always\b|\b(?:it|that)(?:['’]s| is) (?:not|hardly) (?:true|correct|right|the case) that\b|"
    r"\b(?:nobody|no one|no-one|niemand|keiner|personne|nadie|nessuno|ninguém|никто|nikt)(?: (?:ever|hat|je|nie|не|heeft|ha|nos|te|me|n['’]a|никогда|nigdy|jamais|nunca|mai)){0,2} (?:n['’]a (?:jamais )?)?(?:said|told|asked|wanted|gesagt|verlangt|gebeten|dit|demandé|dijo|dicho|pidió|pedido|detto|chiesto|disse|pediu|говорил|сказал|просил|mówił|powiedział|prosił|gezegd|gevraagd)\b|"
    r"没有?人(?:说|要求|让)|谁说|誰も[^。]{0,30}(?:言って|頼んで)い?(?:ない|ません)|"
    r"^\W*(?:please )?(?:(?:give|list|name|tell|show|write) (?:me |us )?(?:\w{1,20} ){0,2}(?:reasons?|arguments?|pros|cons|ideas?)\b|(?:convince|persuade) (?:me|us)\b|let (?!me\b|us\b)[\w ]{1,24} know\b|til\b)|"
    r"\bich (?:habe |hab )?(?:nie(?:mals)?|nicht) [^.!?\n]{0,20}\b(?:gesagt|verlangt|gebeten|gewollt|behauptet)\b|\bich (?:sagte|bat|verlangte|wollte) (?:nie|nicht)\b|\bje n['’]ai (?:jamais|pas) (?:dit|demandé|voulu|écrit)\b|"
    r"\b(?:yo )?(?:nunca|no|jamás) (?:he |te |os |lo )*(?:dije|dicho|pedí|pedido|quise|escribí)\b|\bnon (?:ti )?ho (?:mai )?(?:detto|chiesto|voluto|scritto)\b|\b(?:nunca|não) (?:te )?(?:disse|pedi|quis|escrevi)\b|"
    r"\bя (?:этого |никогда |тебе )*не (?:говорил|просил|писал|хотел)\w?\b|\b(?:nigdy )?nie (?:mówił|powiedział|prosił|pisał|chciał)[ae]m\b|\bik (?:heb|zei|vroeg) (?:nooit|niet)\b|\b(?:nikdy )?jsem (?:nikdy )?neříkal\w?\b|\bjag (?:sa|har) (?:aldrig|inte)\b|"
    r"我(?:从来|从|並|并|可)?(?:没有?|不曾)(?:说|要求|让)过?|(?:言って|頼んで|書いて)(?:い)?(?:ない|ません|ねえ)|(?:말|부탁)(?:한|하신)? (?:적|일)(?:이)? 없|"
    r"\b(?:dropped|abolished|lifted|retired|removed|scrapped|killed|abandoned|repealed|deleted|got rid of|did away with) (?:the|this|that|our|any) (?:\w{1,20} ){0,2}(?:rule|convention|policy|guideline|requirement|idea)\b|"
    r"\b(?:gilt nicht mehr|gilt nicht länger|ne (?:vaut|s['’]applique|tient) plus|ya no (?:vale|aplica|rige|sirve)|non vale più|já não vale|больше не (?:действует|нужно|надо|работает)|już nie obowiązuje|geldt niet meer|no longer (?:applies|holds|valid))\b|不再(?:适用|需要)|"
    r"\b(?:i|we) (?:do not|don['’]?t|did not|didn['’]?t|never|would not|wouldn['’]?t|can['’]?t) (?:really |quite )?(?:agree (?:that|with|to)|see why|say|said|ask(?:ed)?|tell|told|mean|meant|"
    r"(?:like|think|believe|want|buy) (?:that|it|the (?:rule|idea|policy|convention|claim)|this (?:rule|idea|policy)))\b|"
    r"\b(?:forget|drop|scrap|delete|remove|ditch|ignore|abandon|lift|retire) (?:the|this|that|our|any) (?:\w{1,20} )?(?:rule|convention|policy|guideline|requirement|idea)\b|"
    r"\bdisagree with\b[^:\n]{0,60}:?|\bdon['’]?t (?:follow|obey|believe) (?:this|that|it)\b:?|^\W*(?:bad example|wrong|not true|untrue|false|incorrect|counter-?example|contrary to)\b:?|\ba myth\b|"
    r"^\W*(?:undo|revert|cancel|retract|take back|disprove|prove me wrong|argue (?:for|against)|for the sake of argument|a hypothetical|hypothetically)\b:?|"
    r"\bno longer always\b|\bused to\b|\b(?:nonsense|silly|obsolete|stupid|ridiculous|absurd|terrible|unsinn|quatsch|absurde|тонтерия|чушь)\b|\b(?:too|so) (?:harsh|strict|strong|much|rigid|soft)\b|\b(?:is|was|are|were) wrong\b|"
    r"^\W*(?:why|who|how come|is it true|is it (?:right|ok|okay) (?:that|to)|do we|are we|did i|did we|warum|wieso|wer|pourquoi|qui a|por qué|quién|почему|кто|зачем)\b|^\s*(?:为什么|为何|谁|なぜ|誰)|"
    r"\bi (?:have |['’]ve )?(?:read|heard|was told|been told|was asked)\b|\bstop (?:claiming|saying|telling|pretending)\b|\bnot what i (?:meant|said|want)\b|\bthere['’]s (?:a|this) saying\b|"
    r"\b(?:doubt|wonder|refuse|not convinced|(?:not|un)\s?sure (?:that|whether|if|about the rule|we|you|i|one))\b|\bwhat would\b|^\W*let['’]?s imagine\b|"
    r"\b(?:explain|understand|tell me|describe|discuss|write|know)\b[^.!?\n]{0,40}\b(?:why|the reasons?|whether|pros and cons|essay)\b|\bpros and cons\b|\bwhat (?:does|do)\b[^\n]{0,200}\bmean\b|"
    r"\b(?:in|at|from) my (?:old|last|former|previous) (?:job|company|team|project|employer)\b|\byou (?:told|wrote|said|claimed)(?: me)? (?:that|to|i)\b|我不同意|我没说",
    re.IGNORECASE,
)
# After one of these words, the user may state what applies.
YET = later(
    r"[:;—–]\s|, (?:here|hier|ici|aquí|qui|здесь|tutaj)\s|,? (?:but|instead|anyway|rather|so|sondern|aber|stattdessen|mais|pero|sino|но|а)\s|但是?|而是|"
    r"(?<!ically), (?=(?:from now on|going forward|from today|ab jetzt|ab sofort|ab heute|künftig|désormais|dorénavant|à partir de|a partir de|de ahora en adelante|d['’]ora in|отныне|теперь|впредь|od teraz|od teď|vanaf nu|voortaan)\b)",
    re.IGNORECASE,
)
# Before a colon, the user shares the opinion of others.
CONCEDES = later(
    r"\b(?:is|are|['’]s|isn['’]t|aren['’]t) (?:\w{1,12} )?(?:wrong|outdated|out of date|out-of-date|obsolete|stale|incorrect|misleading|nonsense|deprecated|up to date|right|no longer (?:true|right|valid))\s*$|"
    r"\b(?:ist|sind) (?:\w{1,12} )?(?:veraltet|falsch|überholt)\s*$|\b(?:est|sont) (?:\w{1,12} )?(?:faux|fausse|obsolètes?|périmée?s?)\s*$|"
    r"\byou (?:just |again |still |have |['’]ve )?(?:forgot|forgotten|missed|skipped|broke|broken|ignored|didn['’]t|did not|deleted|removed|overwrote|pushed|committed)\b[^.:;\n]{0,40}$|\bdu\b[^.:;\n]{0,40}\bvergessen\s*$|"
    r"^\W*(?:to be (?:clear|precise|exact)|in (?:short|summary|other words)|(?:while|if) you['’]?(?:re| are) at it|as you know|if you (?:can|could|don['’]t mind))\W*$|\b(?:is|are|was|were|['’]s) (?:absolutely |totally |quite )?right\b|\b(?:hat|haben|hatte) recht\b|\b(?:a|ont|avait) raison\b|\btienen? razón\b|\bha(?:nno)? ragione\b|\bprav[aoy]?\s*$|\bправ[аы]?\s*$|\bma rację\b|\bheeft gelijk\b|\btem razão\b",
    re.IGNORECASE,
)
# The attribution after a quotation.
SAID_AFTER = later(
    r"(?:,\s*|\s[–—-]\s|\s)(?:[(\[](?i:sic|wiki|docs?|readme|handbook|manual|faq|spec)[)\]]|\((?:[\w-]{1,60}/)*[\w.-]{1,80}\.\w{1,5}:\d{1,7}\)|(?:he|she|they|it|someone|somebody|[A-Z]\w{1,30}) (?:says|said|wrote|claims|claimed|insists|thinks)|(?:quoth|says|said|wrote|claims|claimed) (?:the |my |our |an? )?\w{1,30}(?: \w{1,30})?|"
    r"[—–] ?[A-Z]\w{1,30}(?:,? \d{1,2}:\d{2})?|\(?(?:quote|quoted|a quote|copied|taken|quelle|source)(?: \w{1,20})? (?:from|by|of|aus|von)\b[^.!?\n]{0,60}|\(?according to [^.!?\n]{1,60})\)?\s*[.!?]?\s*$"
)
# The start of a line in a conversation, with the speaker's name in marks or before a sign.
DIALOG = later(
    r"^\s*(?:[(\[<*_]{1,2}[\w. -]{2,25}[)\]>*_]{1,2}:?\s+\S|[\w.-]{2,20}(?: [\w.-]{2,20})?\s(?:→|\||—|–|>|»|:{2,4})\s+\S|@[\w-]{2,30}\s+\S)"
)
# A single word on a line. Several such lines indicate names.
LONE = later(r"^\s*[^\W\d_][\w.-]{1,20}:?\s*$")
# Lines within program output: an indented line, an exception with its message, or a changed line in a diff.
OUTPUT_TAIL = later(r"^(?:\s{2,}\S|[\w.]{1,60}(?:Error|Exception|Warning|Interrupt)\b|[+-](?:\s|\S)|TS\d{3,5}: )")
# A remark typed directly after the last line of an output, in another script.
LAST_REMARK = later(r"(?<=[!-~])\s{1,4}[\u3400-\u9fff\u3040-\u30ff][^!-~]{3,200}$")
# Hearsay, memories of other places, fiction and test data. Requirements in such a clause are not the user's, unless the user says
# so afterwards.
BINDING = later(
    rf"{ORDER_SOURCE}|\b(?:zawsze|nigdy|od teraz|należy|trzeba|musi\w*|pamiętaj|powinno się|a partir de agora|deve(?:m|mos)?|tem que|bisogna|occorre|d'ora in avanti|non si deve|"
    r"altijd|nooit|voortaan|moet(?:en)?|vždy|nikdy|od teď|musí\w*|alltid|aldrig|måste|altid|skal|aina|koskaan|her zaman|asla|mindig|soha|întotdeauna|niciodată|завжди|ніколи|man müsse|man solle|il faudrait|habría que)\b",
    re.IGNORECASE,
)
# Every match in a script with spaces contains one of these words. Comparing sets of words is faster than the pattern.
BINDING_WORDS = frozenset(
    "always never now forward future must mustn shouldn should shall need have don dont not prefer prefers remember sure ensure please rule every each whenever only avoid "
    "immer stets nie niemals jetzt sofort künftig zukünftig soll sollst sollen sollt müssen muss merk merke merken merkt bitte nur jede jeder jeden jedes jedem müsse solle "
    "toujours jamais désormais dorénavant faut faudrait dois doit doivent veuillez chaque siempre nunca jamás ahora debe deben hay que habría recuerda cada sempre mai poi "
    "всегда никогда впредь отныне надо нужно должен должна должно должны запомни запомните пожалуйста каждый каждая каждое каждую каждого каждом "
    "zawsze nigdy teraz należy trzeba musi musimy musisz muszą pamiętaj powinno agora deve devem devemos tem bisogna occorre avanti altijd nooit voortaan moet moeten vždy nikdy teď "
    "musí musíme musíš alltid aldrig måste altid skal aina koskaan zaman asla mindig soha întotdeauna niciodată завжди ніколи".split()
)
# The first letters of the rarest word in each match of HEARSAY.
HEARSAY_STARTS = frozenset(
    "сказ сове cons stan posi dema règl acco laut gemä selo aprè segú segu seco wedł podl volg iføl enli согл слов dett deci dire appa supp alle repo rumo they ange verm sagt heiß soi para parl dit on dice pare apar dize quan podo rzek pono prý údaj якоб гово мол каже schi blij naar tydl kuul állí söyl "
    "othe anot old form prev last diff ande alt alte früh ehem vori letz autr anci préc dern otr otra otro ante anti últi outr altr prec vecc inny inne popr star jin jiné jiný minu друг прош стар пред oud oude vor- year back days jahr dama sein year époq autr hace aque antg anni volt temp kied dawn "
    "лет раны рань когд своё vroe dest förr nove stor fair scre poem song lyri saga chap roma gesc kurz gedi lied märc thea dreh krim hist poèm chan cont scén cuen canc guio rote racc poes canz powi opow wier pios romá poví рома расс стих песн сказ пове verh misl misc utte test samp exam dumm "
    "beis phra fras zdan тест shou yell swea swor prea mumb whis sing sang excl joke used fond mein sagt beha schw pred ruft rief brül prét disa crie jura répé decí dijo afir grit dizi diss diz dice sost urla mówi twie krzy powi říka tvrd křič утве крич счит zei zegt bewe roep säge sa påst sano väit "
    "says tell dema revi note quot mess mail tip requ repl answ feed advi opin view poin idea sugg wish comm clai take argu mott mant what like put puts per read stat schr sage mein beha empf ford ils elle scri escr dico dize dice dici pisz mówi píšo říka zegg пишу сове hat habe rät riet schw cons reco insi "
    "pone vien apar scri napi stoi steh staa står écri escr asks aski taug teac requ goes comp past unti rece hist muss fall devi tení tenía habí dove biso tính надо нужн прих trze musi moes muse "
    "will woll möch wüns verl ford bitt bat best veut veul voul voud dema souh exig quie quer pide pidi sol soli dese ense pede pedi vuol vogl vole chie esig desi pret хоче хотя хоте прос попр треб веле наст chce chcą chci pros popr wyma żąda wil vraa vroe eist "
    "chtě žádá požá vyža vill ber bad kräv vil ønsk kræv halu pyyt isti tale diyo söyl "
    "peop thos guys folk voic leut gens gent люди drea getr rêvé soñé снил had cont ther hatt gab labe text titl mess capt comm docs tool bann butt head sign post stic shir mug vora vor il sta".split()
)
HEARSAY = later(
    r"\b(?:according to|laut|gemäß|selon|d['’]après|según|segundo|secondo|według|podle|volgens|ifølge|enligt|согласно|по словам|a detta di|a decir de|au dire de)\b "
    r"(?!(?:our|us|me|my|unser\w*|uns|mir|mein\w*|notre|nos|nous|moi|nuestr\w*|mí|noss\w*|nostr\w*|naszy\w*|наш\w*|мо\w{1,3}|ons|onze|vår\w*)\b)[^,.;:!?\n]{1,60}|"
    r"\b(?:apparently|supposedly|allegedly|reportedly|rumou?r has it|they say|angeblich|vermeintlich|man sagt|es heißt|apparemment|soi-disant|paraît-il|il paraît qu|on dit que|al parecer|por lo visto|aparentemente|supuestamente|dicen que|"
    r"parece que|dizem que|a quanto pare|pare che|si dice che|podobno|rzekomo|ponoć|prý|údajně|якобы|говорят|мол|кажется, у них|schijnbaar|blijkbaar|naar verluidt|tydligen|angiveligt|kuulemma|állítólag|söylenene göre)\b|"
    r"(?<!\w)(?:in|at|from|over at|auf|bei|beim|dans|chez|à|en|nel|nella|nell['’]|na|no|em|w|we|v|ve|в|во|на|i|hos|bij|på) (?:(?:an?|the|our|my|his|her|some|de[rmn]|eine[mr]|meine[mr]|unsere[mr]|mon|ma|notre|un|une|le|la|el|mi|nuestr[oa]|mio|mia|mojej|моей|моём|нашей|het|een|mijn|ons) )?"
    r"(?:other|another|old|former|previous|last|different|ander\w*|alt(?:e[mnr]?)|früher\w+|ehemalig\w*|vorig\w*|letzte[mnr]|autre|ancien\w*|précédent\w*|dernière?|otr[oa]|anterior|antigu[oa]|últim[oa]|outr[oa]|altr[oa]|precedente|vecchi[oa]|inn(?:ym|ej|ych)|poprzedni\w*|star(?:ej|ym)|jin\w{2}|minul\w{2}|друг\w+|прошл\w+|стар\w+|предыдущ\w+|andere|vorige|oude) "
    r"(?:\w{2,20} )?(?:teams?|compan(?:y|ies)|jobs?|projects?|repos?|firms?|employer|department|place|shop|firma|projekt\w*|arbeitgeber|abteilung|laden|stelle|équipe|boîte|boulot|entreprise|projet|equipo|empresa|proyecto|trabajo|curro|equipe|projeto|emprego|squadra|azienda|progetto|lavoro|"
    r"zespo\w*|firm\w*|projek\w*|pracy|tým\w*|firm\w*|prác\w*|команд\w*|компани\w*|фирм\w*|проект\w*|работ\w*|bedrijf|baan|werk)\b|"
    r"\b(?:years ago|(?:at|in) my (?:old|former|previous|last) \w{2,20}|back then|back in the days?|in the old days|vor jahren|damals|seinerzeit|früher (?:hieß es|galt|war)|il y a (?:des|quelques|dix) ans|à l['’]époque|autrefois|hace (?:muchos )?años|en aquel entonces|antigamente|anni fa|una volta|tempo fa|kiedyś|dawniej|před lety|"
    r"раньше|когда-то|в своё время|vroeger|destijds|förr)\b|"
    r"\b(?:in|of|from|aus|in meine[mr]|dans|de|en|nel|nella|w|в) (?:(?:my|the|a|an|our|this|his|her|his|meine[mr]|unsere[mr]|de[rm]|eine[mr]|mon|ma|notre|un|une|le|la|el|mi|mio|mia|mojej|moim|моём|моей|нашем) )?(?:\w{2,20} )?"
    r"(?:novel|novella|story|short story|fairy ?tale|screenplay|poem|song|lyrics|saga|chapter \d+|roman|geschichte|kurzgeschichte|gedicht|lied|märchen|theaterstück|drehbuch|krimi|histoire|poème|chanson|conte|scénario|novela|cuento|poema|canción|guion|romance|conto|roteiro|romanzo|racconto|"
    r"poesia|canzone|powieści|opowiadaniu|wierszu|piosence|románu|povídce|романе|рассказе|стихотворении|песне|сказке|повести|verhaal|gedicht|liedje)\b|"
    r"\b(?:people|those|guys|folks|voices|leute|gens|gente|люди) (?:who|that|die|qui|que),? (?:say|claim|insist|sagen|behaupten|disent|dicen|говорят)\b|\bi (?:dreamt|dreamed)\b|ich (?:habe )?geträumt|j['’]ai rêvé|soñé|мне снилось|"
    r"\b(?:had|contained|there (?:was|used to be)|hatten? (?:einmal |mal )?|gab) (?:the|an?|this|that|die|eine|den|einen) (?:\w{2,20} )?(?:line|rule|sentence|entry|note|comment|section|policy|convention|regel|zeile|satz|vermerk)\b|"
    r"\b(?:label|text|title|message|caption|comment|docstring|tooltip|banner|button|heading|sign|poster|sticker|t-?shirt|mug) (?:reads?|says?|should (?:read|say)|goes)\b|"
    r"\b(?:mislabel\w*|misclassif\w*|utterances?|test (?:sentence|utterance|phrase|string|prompt)|(?:sample|example|dummy) (?:sentence|utterance|phrase|string|prompt|command|instruction)|(?:test|beispiel)(?:satz|text|eingabe)|phrase (?:d['’]exemple|de test)|frase de (?:ejemplo|prueba|exemplo|teste|esempio|prova)|"
    r"zdanie (?:testowe|przykładowe)|тестов\w+ (?:фраз\w|строк\w|предложени\w))\b|"
    r"(?<!\w)(?:der|die|das|ein|eine|unser\w*|mein\w*|dein\w*|eu(?:er|re))(?: [\w-]{2,24}){1,3} (?:will|wollen|wollte|möchten?|wünscht|verlangt|fordert|bittet|bat|besteht|verlangte|forderte|empfahl|empfiehlt|rät|riet|schwor)\b|"
    r"(?<!\w)(?:(?:de|het|een|mijn|den|det|ett|min|the|an?|my|our|his|her|their|some|one|this|that|unser\w*|notre|nuestr\w|noss[oa]|nostr[oa]|naš\w*|nasz\w*|наш\w*|onze|vår\w?|der|die|das|ein|eine|mein\w*|le|la|un|une|mon|ma|el|mi|il|lo|mio|mia|o|meu|minha)|(?-i:[A-ZÀ-ÞА-ЯЁ]\w{2,20}))(?: [\w'’-]{2,24}){0,4} "
    r"(?:shouts?|shouted|yells?|yelled|swears(?: by)?|swore by|preache[sd]|mumbles?|mumbled|whispers?|whispered|sings?|sang|exclaims?|exclaimed|jokes?|joked|(?:is|are) asking|asks|taught|teaches|swore|goes|complain(?:s|ed)?|used to (?:say|tell)|was fond of saying|meinte|meint|sagte|behauptete|behauptet|schwört auf|predigt\w*|ruft|rief|brüllt|"
    r"prétend|prétendait|(?:m['’]|nous |t['’]|lui )?a(?:vait)? (?:dit|conseillé|recommandé)|(?:mi |ci )?ha (?:detto|consigliato|raccomandato)|(?:me |nos )?(?:ha dicho|recomendó)|disait|crie|jurait|répétait|decía|dijo|dice|afirma|afirmaba|grita|gritó|juraba|dizia|disse|diz|grita|diceva|dice|sostiene|urla|mówił[aio]?|mówi|twierdzi\w*|krzyczy|powiedział[aio]?|říkal\w?|tvrdí|tvrdil\w?|křičí|"
    r"говорил[аи]?|сказал[аи]?|советовал[аи]?|рекомендовал[аи]?|утверждал[аи]?|утверждает|кричит|считал[аи]?|zei|zegt|beweert|beweerde|roept|säger|sa|påstår|sanoi|väittää|exigeait|demandait|insistait|recommandait|recommande|conseille|veut|veulent|voulait|voudrait|demande(?:nt)?|(?:a|ont) demandé|exige(?:nt|n)?|souhaite(?:nt)?|quieren?|quería|piden?|pidi(?:ó|eron)|ha(?:n)? pedido|solicita|desea|enseñó|quer|querem|queria|pede|pedem|pediu|pediram|deseja|vuole|vogliono|voleva|chiede|chiedono|ha(?:nno)? chiesto|esige|desidera|pretende|хочет|хотят|хотел[аи]?|просит|просят|попросил[аи]?|требует|требуют|велел[аи]?|настаивает|chce|chcą|chciał[aio]?|prosi|proszą|poprosił[aio]?|wymaga|żąda|wil|willen|wilde|vraagt|vroeg|eist|chtějí|chtěl\w?|žádá|požádal\w?|vyžaduje|vill|ville|ber|bad|kräver|vil|ønsker|kræver|haluaa|pyytää)\b|^(?:[\w’'-]{2,24} ){1,3}(?:[^.!?\n]{0,80})\b(?:istiyor(?:lar)?|istedi(?:ler)?|talep etti|diyor(?:lar)?|söylüyor(?:lar)?)\b|\b(?:(?:his|her|their|the|an?|review(?:er)?|user|customer|\w{2,24}['’]s) (?:\w{2,20} )?(?:reply|answer|feedback|advice|opinion|view|stance|position|recommendation|demand|point|idea|suggestion|wish|request|comment|claim|take|argument|motto|mantra) (?:was|is|were|goes)|"
    r"what (?:he|she|they|\w{2,20}) (?:meant|said|wrote)|(?:he|she|they) (?:was|were|is|are|goes|went) like|(?:as|like) [\w ]{1,30} (?:put it|puts it|wrote|would say|used to say)|per (?!our\b)[\w'’ ]{1,40}(?:docs?|documentation|guide|manual|spec|policy|wiki|readme|rules)|"
    r"(?:comment|review|note|quote|message|mail|reply|answer|feedback|advice|tip|request) (?:by|from) (?!me\b|us\b)\w+|(?:from|in|per|see) (?:the|our|their|his|her) (?:readme|docs?|wiki|handbook|manual|guide|spec|ticket|issue|mail|chat|contract|website|page) ?[-–—] |(?:that|which|who|qui|que|che|который|która|który) (?:says?|reads?|tells?|states?|claims?|demands?|asks?|dit|dice|diz|mówi|говорит|гласит)|"
    r"(?:schreiben|sagen|meinen|behaupten|empfehlen|fordern) (?:sie|die|viele|leute|einige)|(?:sie|viele|leute|einige) (?:schreiben|sagen|meinen|behaupten|empfehlen)|(?:ils|elles|les gens|certains) (?:disent|écrivent|prétendent|conseillent|recommandent)|"
    r"dicono|scrivono|dizem|escrevem|dicen|escriben|piszą|mówią|píšou|říkají|zeggen ze|schrijven ze|пишут|советуют|(?<!wir )(?:hat|haben) (?:[\w'’-]{1,20} ){0,3}(?:geschrieben|gesagt|gemeint|verlangt|gefordert|behauptet|empfohlen|geraten)|"
    r"in the past|until (?:last|recently|yesterday|\d{4})|formerly|previously|historically|(?:always|never) had to|had to (?:always|never))\b|\b(?:read-?me|change ?log|contributing|agents|claude|wiki|doku\w*|docs?|документаци\w|dokumentacj\w|documentación|documentazione|documentation|manuale?|handbuch)\b(?:\.md)?[^.!?\n]{0,30}\b(?:pone|viene|aparece|è scritto|jest napisane|napisano|stoi|steht|staat|står|est écrit|está escrito)\b|\b(?:mussten?|musste|fallait|devions|teníamos que|tenía que|había que|dovevamo|bisognava|tínhamos que|(?:надо|нужно) было|(?:la )?règle était de|la regla era|la regola era|приходилось|trzeba było|musieliśmy|moesten|muselo se)\b",
    re.IGNORECASE,
)
# The user's agreement afterwards
AGREES_AFTER = later(
    r"[,;–—-] (?:and|which|und|et|y|e|и|i|what)? ?(?:i|we|ich|wir|je|nous|yo|nosotros|я|мы) (?:fully |totally |do |also )?(?:agree|want (?:that|it) too|second that|stimme|finde das (?:gut|richtig)|suis d['’]accord|estoy de acuerdo|согласен|согласна|согласны)",
    re.IGNORECASE,
)
# The user's decision to the contrary, in the same clause
NOW_ON = later(
    r"(?<![:\w] )(?<=[,;–—-] )(?:(?:so|therefore|deshalb|daher|also|donc|así que|por eso|quindi|więc|поэтому|так что|dus) )?(?:from now on|going forward|but|instead|anyway|sondern|stattdessen|aber|sino|pero|но|а|ab jetzt|ab sofort|künftig|désormais|dorénavant|a partir de ahora|de ahora en adelante|a partir de agora|d['’]ora in poi|od teraz|od teď|отныне|теперь|voortaan|from today|ab heute|ale|mas|però|maar|wir|we|nous|nosotros|мы|here|hier|ici|aquí|здесь)\b",
    re.IGNORECASE,
)
# A sentence that retracts the preceding one
RETRACTS = later(
    r"^\s*(?:[(\[](?:wiki|docs?|readme|handbook|manual|faq|spec|sic)[)\]]|\((?:[\w-]{1,60}/)*[\w.-]{1,80}\.\w{1,5}:\d{1,7}\))\W*$|"
    r"^\W*(?:(?:that|this|it)(?:['’]s| is| was) (?:what|how) (?!i\b|we\b)[\w'’ ]{1,40} (?:said|say|says|told|tell|wrote|writes?|want\w*|put it|claims?)|(?:that|this) (?:was|is|comes from) (?:my|the|our|an?|his|her|their) (?:\w{1,20} )?(?:boss|colleague|customer|client|manager|teacher|wiki|sign|vendor|docs?|manual|handbook|linter|bot|quote|wife|husband|friend|intern|reviewer)|"
    r"(?:quoted |copied |taken )?(?:from|source:) (?:the|our|a|an|his|her) [\w ]{1,30}\)|why does (?:every(?:body|one)|the \w+|he|she) say|(?:das|so) (?:hat|sagte|meinte|stand|steht) (?!ich\b|wir\b)|(?:c['’]est|ça vient) (?:ce que|de) (?!je\b|nous\b)|(?:eso|así) (?:dijo|dice|dicen|pone)|так (?:сказал|говорит|написа)|tak (?:powiedział|mówi|napisa))|"
    r"^\W*(?:(?:what |so ein |qué |che |ce |какая |какой )?(?:nonsense|rubbish|bullshit|bollocks|quatsch|unsinn|blödsinn|schwachsinn|tonter[ií]as?|absurdo|absurd|bêtises?|sciocchezze|assurdo|bobagem|bzdur[ay]|nesmysl|чушь|ерунда|бред|onzin|struntprat)\b|"
    r"n['’]importe quoi|glad (?:that|this)(?:['’]s| is| was) over|good thing (?:that|we)|thank god (?:that|we)|never again|not (?:here|us|our style|with us)\b|i (?:never|didn['’]t) (?:asked?|say|said|agreed?|wanted?) (?:for )?(?:that|this|it|to)\b|"
    r"(?:das )?gilt (?:hier|für uns|bei uns) nicht|bei uns nicht|(?:das )?machen wir (?:hier )?nicht|zum glück (?:vorbei|nicht)|chez nous,? non|pas chez nous|yo no (?:lo|he) ped\w+|aquí no\b|no es nuestr\w+|non qui\b|da noi no|aqui não|nie u nas|u nas nie|у нас (?:не так|нет)|"
    r"я (?:этого|так) не (?:просил|говорил)\w?)",
    re.IGNORECASE,
)
# A question about a text shown after it
ASKS_ON_SHOWN = later(
    r"(?<!\w)(?:this|that|these|diese[rsnm]?|dies|cette|ce|ces|cet|esta|este|estas|essa|esse|questa|questo|tym|tej|to|tato|этом|этой|эта|это|deze|dit|denna|detta|denne) (?:\w{2,20} )?"
    r"(?:sentence|paragraph|clause|wording|phrase|caption|slogan|snippet|passage|verse|satz|absatz|formulierung|zitat|vers|texte|paragraphe|citation|slogan|frase|oración|párrafo|texto|eslogan|cita|parágrafo|citação|testo|paragrafo|citazione|zdani\w+|tekst\w*|akapi\w+|"
    r"cyta\w+|vět\w+|предложени\w+|фраз\w+|текст\w*|абзац\w*|цитат\w*|zin|tekst|citaat|mening(?:en)?|sætning|lause)\b[^.!?\n]{0,60}[?？]\s+",
    re.IGNORECASE,
)
# One of several numbered things, or a change named by its number, as in "Option A: …" and "commit 8fa31c: …"
NUMBERED_ITEM = later(
    r"^\W*(?:option|variante?|alternative|choice|approach|idea|plan|scenario|case|example|commit|revision|pr|mr|issue|ticket|line|row|step|lesson|level|exercise|question|slide|stage|phase|figure|table|"
    r"möglichkeit|schritt|zeile|étape|ligne|opción|paso|línea) #?(?:(?-i:[A-Z])|\d{1,6}|[0-9a-f]{6,40}|one|two|three)\b[^:\n]{0,20}$",
    re.IGNORECASE,
)
# A letter whose text begins on the line of its salutation. The agent is not addressed by another name.
SALUTATION = later(
    r"^\s*(?i:dear|cher[s]?|chères?|liebe[rs]?|estimad[oa]s?|queridos?|hello|hi|hallo|hey|bonjour|hola) (?i:colleagues|team|maintainers|customers?|users?|sirs?|madam|collègues|équipe|client\w*|kolleg\w+|kund\w+|compañeros|equipo)\b[^.!?\n]{0,20}?[,!]\s|"
    r"^\s*(?!(?i:claude|opus|sonnet|haiku|agent|assistant|also|next|first|second|third|finally|then|now|today|again|please|thanks|hello|hi|hey|ok|okay|great|perfect|right|sorry|yes|no|well|so|anyway|done|nice|cool|good)\b)[A-ZÄÖÜ][a-zäöüß]{2,20}(?: [A-ZÄÖÜ][a-zäöüß]{2,20})?,\s*$|"
    r"^\s*(?i:hi|hello|hey|dear|good (?:morning|afternoon|evening)|morning|hallo|moin|servus|guten (?:morgen|tag|abend)|liebe[rs]?|sehr geehrte[rs]?|bonjour|bonsoir|salut|cher|chère|hola|buen[oa]s (?:días|tardes|noches)|estimad[oa]|ciao|olá|привет|здравствуйте|добрый день|уважаем\w+)"
    r"(?: (?:Mr|Mrs|Ms|Dr|Herr|Frau|Madame|Monsieur|Señora?|Sra?)\b\.?)?[ \t]+(?!(?i:claude|opus|sonnet|haiku|agent|assistant|bot|there|again|all|friend|buddy|mate|world)\b)[A-ZÄÖÜА-Я][\w’'-]{1,30}(?: (?:and|und|et|y|и) [A-ZÄÖÜА-Я][\w’'-]{1,30})?[,!]\s+\S"
)
# Agreement asked for after a rule ("…, is that clear?")
TAG_QUESTION = later(
    r"[,;.!–—-]\s*(?:(?:is )?(?:that|this|it) (?:clear|ok(?:ay)?|understood)|(?:all )?(?:clear|ok(?:ay)?|right|alright|understood|got (?:it|that)|deal|agreed|yes|yeah|please)|will you|would you|won['’]t you|can you|could you|verstanden|klar|ja|ok|gell|oder|in ordnung|einverstanden|"
    r"d['’]accord|compris|c['’]est clair|vale|entendido|de acuerdo|está claro|capito|va bene|chiaro|certo|tá|entendeu|combinado|понятно|ясно|хорошо|ладно|договорились|jasne|dobrze|rozumiesz)\s*[?？]\s*$|[，,](?:好吗|好嗎|明白吗|行吗|可以吗|懂了吗)[?？]\s*$",
    re.IGNORECASE,
)
# The end of a head that says what a text contains or what an example may be
CONTAINS_TEXT = later(
    r"\b(?:with|containing|including|saying|reading|along the lines of|mit|avec|con)\s*$|\b(?:could|might|would|may) be\s*$|\b(?:könnte|würde) (?:sein|lauten)\s*$|\bpourrait être\s*$|\bpodría ser\s*$",
    re.IGNORECASE,
)
# A text-work request that names no text, so that its text comes next
NEXT_IS_TEXT = later(
    r"^\W*(?:(?:can|could|would) you |please |pls )*make (?:this|that|it) (?:sound )?(?:a bit |a little |much )?(?:more \w+|less \w+|\w+er)(?:,? please)?\W*$|"
    r"^\W*(?:(?:can|could|would) you |please |pls )*(?:check|correct|fix|improve) my (?:english|german|french|spanish|russian|grammar|spelling|wording|style|sentence|text|translation)\W*$|"
    r"^\W*(?:kannst|könntest|würdest) du (?:das|dies|es|den satz|den text|mir das)(?: bitte)? (?:ins? \w+ |auf \w+ )?(?:übersetzen|korrigieren|verbessern|kürzen|umformulieren)\W*$|"
    r"^\W*(?:peux|pourrais)-tu (?:le |la |me |ça )?(?:traduire|corriger|reformuler)(?: (?:ça|ceci|cela|cette phrase|ce texte))?(?: en \w+)?\W*$|^\W*(?:puedes|podrías) (?:traducir|corregir|reformular)(?:lo|me)?(?: (?:esto|esta frase))?(?: al \w+)?\W*$|"
    r"^\W*(?:(?:can|could|would) you |please |pls |bitte )*(?:translate|proofread|rephrase|paraphrase|reword|shorten|summari[sz]e|spell-?check|polish|übersetze?|korrigiere|kürze|fasse|formuliere|traduis|corrige|reformule|traduce|traduci|corrija|переведи|исправь|przetłumacz|vertaal)"
    r"(?: (?:this|that|it|these|das|dies|es|ça|esto|questo|это|to|dit))?(?: (?:sentence|text|phrase|line|paragraph|satz|texte?|frase))?(?: (?:in)?to \w+| in \w+| ins? \w+| auf \w+| en \w+| al \w+| на \w+)?(?:,? (?:for me|please|bitte|um|zusammen|por favor|пожалуйста))?\s*[.!:?]\s*$",
    re.IGNORECASE,
)
# A text that the user needs, and one that is to serve as another ("Use this as the commit message: …")
NEEDED_TEXT = later(
    rf"^\W*(?:i|we)(?:['’]d| would)? (?:want|need|like) (?:an?|some|another) (?:[\w'’-]{{1,20}} ){{0,4}}{NOUN}(?: (?:for|about|to|in|that|which)\b[^:\n]{{0,40}})?\s*$|"
    rf"\b(?:as|als|comme|como) (?:the|an?|our|new|der|die|das|neue|le|la|el|un|una) (?:[\w'’-]{{1,20}} ){{0,3}}(?:{NOUN}|title|label|caption|heading|name|slogan|banner|tooltip|placeholder|input|fixture|sample|example|titel|titre|título)\s*$",
    re.IGNORECASE,
)
# What somebody puts forward, which is no decision of the user yet ("Proposal for tomorrow's meeting: …")
PUT_FORWARD = later(
    r"^\W*(?!(?:my|our|mein|unser|mon|notre|mi|nuestr)\w*\b)(?:(?:an?|the|one|another|new|possible|current|crazy|wild|ein\w?|une?|una?) )?(?:proposals?|suggestions?|ideas?|thoughts?|thinking (?:out loud|aloud)|brainstorm\w*|food for thought|hypothetically|devil['’]s advocate|claims?|theory|hypothesis|rumou?rs?|quotes?|vorschlag|idee|gedanke|proposition|idée|propuesta|"
    r"sugerencia|proposta|предложение|идея)\b(?! of mine\b)[^:\n]{0,60}$",
    re.IGNORECASE,
)
# A phrase before the verb of a request ("For the demo, type …")
FRONTED = later(r"^\W*(?:for|in|as|on|at|to|with|after|before|für|im|als|pour|dans|para|en) [^,:\n]{1,60}, ", re.IGNORECASE)
# A file named by its path or ending
FILE_NAME = later(r"(?<![\w/])[\w.-]{1,60}/[\w./-]{1,100}|(?<!\w)[\w-]{1,60}\.[a-z]{1,5}\b")
# A request to remember something. The text after the colon is the user's own.
SAVES = later(
    r"^\W*(?:(?:and|then|so|ok(?:ay)?|also|now|please|dann|und|bitte|puis|alors|et|entonces|y|por favor|allora|então|więc|тогда|и|пожалуйста)[, ]{1,2}){0,3}(?:you (?:can|should|may) )?"
    r"(?:store|save|remember|memori[sz]e|note|keep in mind|merk(?:e)? dir|merken|speicher(?:e|n)?|notier(?:e|en)?|retiens|mémorise|enregistre|note|recuerda|memoriza|guarda|anota|lembra(?:-te)?|lembre-se|guarde|memorize|ricorda(?:ti)?|memorizza|salva|zapamiętaj|zapisz|zapamatuj si|"
    r"запомни(?:те)?|запиши(?:те)?|сохрани(?:те)?|onthoud|kom ihåg|husk)(?: (?:this|that|the following|it|das|dies(?:es)?|folgendes|bitte|ceci|ça|cela|esto|eso|isto|isso|questo|to|это|dit|det))?(?: (?:rule|regel|règle|regla|regra|regola|zasadę|правило))?"
    r"(?: (?:down|for (?:later|me|us|the future|next time)|in (?:your |the )?memory))?\s*$|^\W*(?:那么?|请)?(?:记住|保存|记下)(?:这个|这条|以下)?\s*$",
    re.IGNORECASE,
)
# The title of a text, and a question about it, above its lines
ASKED_TITLE = later(
    rf"^\W*(?:[\w.'’/-]{{1,30}} ){{0,2}}?{_SOURCE}\b(?:[^.!?\n]|\.(?=\w)){{0,40}}(?:\s[-–—]{{1,2}}|[,;:(])\s?[^\n]{{3,80}}[?？]\s*$",
    re.IGNORECASE,
)

# Requests to say, write or name something for somebody else: "Tell Anna: …", "Name the commit: …". The verbs open the sentence,
# after words of politeness. What the agent is to say is not what the user wants from then on.
LEADS = frozenset(
    "and now then so ok okay also just next please pls hey claude can could would will you we let s lets i want need like d to "
    "und dann nun jetzt bitte noch kannst könntest du et puis maintenant peux pourrais tu y luego ahora puedes podrías por favor e poi ora puoi agora pode você "
    "и затем теперь можешь пожалуйста i potem teraz możesz proszę en dan nu kun je lütfen".split()
)
# Verbs of speaking to somebody, which may be followed by "to" or "that"
TELL_VERBS = frozenset(
    "tell ask remind inform notify warn instruct advise teach order convince persuade beg invite "
    "sag sage sagt frag frage erinnere informiere überzeuge warne weise teile dis demande rappelle préviens informe avertis conseille ordonne "
    "di dile diles diga dígale pide pídele recuérdale recuerdale avisa avísale informa digli dille chiedi ricorda ricordagli avvisa diz diga pede peça avise informe lembre "
    "скажи скажите передай попроси напомни сообщи предупреди объясни powiedz poproś przekaż przypomnij poinformuj ostrzeż zeg vertel vraag herinner waarschuw "
    "řekni popros připomeň säg påminn sig bed kerro söyle".split()
)
# Verbs of producing a text, of naming something, and of searching for a text
WRITE_VERBS = frozenset(
    "message dm ping text email mail answer reply respond write send forward post tweet announce publish name title entitle label caption call tag headline commit amend push "
    "print log echo output display show say shout whisper sing type enter paste submit draft compose prefill fill seed return raise throw insert put add append create open file "
    "translate proofread paraphrase übersetze übersetz korrigiere verbessere umformuliere traduis reformule corrige przetłumacz popraw vertaal verbeter traduci correggi traduza corrija çevir přelož översätt oversæt käännä reformuliere formuliere reformule riformula reformula "
    "ignore store recognise recognize repeat copy quote cite search grep find look locate scan delete remove comment reword document describe speak read explain justify discuss debate evaluate assess question challenge defend criticise criticize rate analyse analyze "
    "nenne nenn benenne benenn betitle beschrifte schreib schreibe antworte schick schicke sende poste melde verkünde gib zeige zeig drucke committe suche such finde tippe lösche "
    "nomme appelle intitule titre réponds écris envoie annonce publie poste affiche imprime montre cherche trouve crée ouvre ajoute mets supprime "
    "nombra llama titula etiqueta pon ponle responde respóndele contesta escribe escríbele envía envíale manda mándale anuncia publica muestra imprime busca encuentra crea abre añade borra "
    "nomina chiama intitola etichetta rispondi scrivi invia manda annuncia pubblica mostra stampa cerca trova apri aggiungi metti cancella "
    "nomeia nomeie chama chame intitula responda escreva escreve envia envie mande anuncie publique mostre imprima procura procure busque encontre crie abra adicione apague "
    "назови озаглавь подпиши ответь ответьте напиши напишите отправь пошли объяви опубликуй покажи выведи напечатай найди поищи создай открой добавь удали "
    "nazwij zatytułuj podpisz odpisz odpowiedz napisz wyślij ogłoś opublikuj pokaż wypisz wydrukuj znajdź poszukaj utwórz otwórz dodaj usuń "
    "noem antwoord schrijf stuur meld toon zoek vind maak voeg napiš odpověz pošli pojmenuj najdi skriv svara skicka döp svar skriv kald send kirjoita vastaa yaz cevapla gönder bildir".split()
)
# After these verbs, the user speaks of oneself or of notes for oneself.
ONESELF = frozenset(
    "me us yourself down mir uns dir dich mich moi nous toi nos te mi mí vos ci ti se mim мне нам себе mi nam sobie mij ons jezelf mig oss os bana bize".split()
)
# What these verbs are about, other than names. Bare plurals are the topic of a rule ("Name branches: …").
OBJECTS = frozenset(
    "the this that these those it an a my our his her their its him them they everyone everybody all to as in on into at under with somebody someone "
    "ins dem den der die das ein eine einen einem einer es ihm ihr ihnen allen im auf an als ins zum zur mein meine meinen meinem unser unsere unseren unserem diesen diese dieses diesem "
    "le la les l un une à au aux lui leur ce cette mon ma notre dans sur comme el los las al a una su este esta en de como título lo il gli i alla allo ai agli nel sul questo questa o os as ao à aos um uma no na "
    "ему ей им всем в на как этот эту это коммит тикет заказчику клиенту команде mu jej im wszystkim w na jako ten tę to klientowi commit het een dit deze hem haar hen alle tegen aan op".split()
)
# Of these, "in" and "on" say where a rule applies if the verb may be a noun ("Text in buttons: …").
PLACES = frozenset("in on at under with into".split())
NOUN_VERBS = frozenset(
    "text log tag comment title name label message email mail order file headline caption post commit call push print output display document answer reply write respond".split()
)
# These make things as well as texts, so that the list after them may be the user's own.
MAKING_VERBS = frozenset(
    "store create add insert put open append file return document describe seed prefill crée ouvre ajoute mets crea abre añade pon ponle apri aggiungi metti crie abra adicione создай открой добавь "
    "utwórz otwórz dodaj maak voeg gib zeige zeig show display".split()
)
# Words that make what stands before a colon a rule's own topic
STANDING = later(
    r"\b(?:always|never|every|each|whenever|rules?|conventions?|memory|memories|from now on|going forward|in future|immer|nie|jede\w?|regeln?|ab jetzt|künftig|toujours|jamais|chaque|règles?|désormais|"
    r"siempre|nunca|cada|reglas?|sempre|mai|regol[ae]|regras?|всегда|никогда|кажд\w+|правил\w*|zawsze|nigdy|zasad\w*|altijd|nooit|regels?)\b",
    re.IGNORECASE,
)
# What such a request passes on, and texts that directly precede an order
PASSES_ON = later(
    r", (?:er|sie|es|ihr|man) (?=soll|muss|müss|möge|darf)|\b(?:that|dass|daß|que|che|чтобы|что|żeby|aby|że|dat|att|že|ať)\b|\bqu['’]",
    re.IGNORECASE,
)
PASSES_ON_TO = later(
    r"(?<!up )(?<!how )\b(?:to(?= (?:always|never|please|only|use|not|stop|avoid|run|\w+ \w+))|de|di|zu|om)\b|\bd['’]",
    re.IGNORECASE,
)
_ORDER_START = (
    r"(?:please )?(?:always|never|from now on|going forward|from today|you (?:must|should)|we (?:must|should)|every(?:one|body)\b|do not|don['’]t|immer|nie(?:mals)?|ab (?:jetzt|sofort|heute)|künftig|"
    r"toujours|jamais|désormais|à partir d|(?-i:[A-ZÀ-Ý]\w{2,14}) (?:siempre|toujours|sempre|immer)|siempre|nunca|a partir de|desde ahora|sempre|d['’]ora|всегда|никогда|отныне|впредь|zawsze|nigdy|od teraz|altijd|nooit|vanaf nu)\b"
)
ORDER_INSIDE = later(
    r"\b(?:say(?:s|ing)?|said|reads?|reading|titled|entitled|called|named|labell?ed|captioned|for|rules?|lines?|sentences?|strings?|phrases?|texts?|words?|wording|message|note|comment|body|heading|title|name|as|about|to|with|echo|printf?|type|output|log|"
    r"zeile|satz|text|steht|lautet|nach|als|ligne|phrase|texte|dit|línea|frase|texto|dice|frase|testo|riga|строк\w|фраз\w|текст\w*|linię|zdanie|tekst|regel|zin)\s+(?="
    + _ORDER_START
    + ")",
    re.IGNORECASE,
)
# The same in languages without spaces, where the verb may come last
PASSED_ON_CJK = later(
    r"^\s*(?:请|請|帮我|幫我|麻烦)?(?:告诉|告訴|通知|转告|轉告|提醒|回复|回覆|答复|写信给|发消息给|发邮件给|跟|对|给|把)(?!我们?(?:[，,。]|$))[^，,。：:]{0,20}?(?:说|发|写|以后|今后|一律|总是|务必|必须|永远|不要|命名|[：:，,])|"
    r"(?:に|へ)[^。]{0,80}(?:と|よう(?:に)?)(?:返信|返事|伝え|書い|言っ|送っ|連絡|お願い|頼ん)|(?:에게|한테|께)[^.]{0,80}(?:라고|다고|달라고|도록) (?:전해|말해|답장|보내|써|알려)|(?<![私僕俺])(?:が|から|は)、?[^。]{0,80}ように(?:と)?(?:言っ|言わ|頼ま|指示)|(?:이|가|은|는|께서) [^.]{0,80}(?:라고|다고|달라고) (?:합니다|말했|말씀|전했|했|해요|하네|하는|하던|그래|요청)|(?:さん|様|客|社|者|長|部|人|先生|上司|同僚|友達)(?:が|は|から)[^。]{0,80}(?:と言って|そうです|らしい|とのこと|と書いて|と頼まれ|と言われ)",
)
# A question without a question mark
# What somebody else is to be taught. Each match contains one of these words.
TAUGHT_WORDS = frozenset("explain mention state write note say stress learn know understand".split())
TAUGHT = later(
    r"\b(?:explain|mention|state|write|note|say|stress) that (?:you|one|they|users?|readers?|people|everyone|everybody) (?:should|must|shall|always|never|have to|has to|needs? to)\b|"
    r"\b(?:apprentices?|interns?|trainees?|students?|pupils?|readers?|customers?|he|she|they) (?:should|must|shall|has to|have to|needs? to) (?:learn|know|understand)\b",
    re.IGNORECASE,
)
# What is said afterwards on the origin of an order
SAID_LATER = later(
    r"(?<!\bin )(?<!\bon )(?<!\bat )\b(?:the|an?|this|that) (?:input|string|phrase|utterance|sentence|line|prompt|wording) (?="
    + _ORDER_START
    + r")|\b(?:sentences?|strings?|phrases?|inputs?|utterances?|prompts?|words?|lines?) (?:like|such as) (?="
    + _ORDER_START
    + r")|"
    r"\b(?:row|line|cell|column|field|entry|item|step|page) [\w.-]{1,10} (?:reads?|says?|contains|is) (?=" + _ORDER_START + r")|"
    r"\s[–—-]{1,2} ?(?:(?:that|this|it)(?:['’]s| is| was) (?:what|how) (?!i\b|we\b)|(?:says|said|sagt|laut|dixit|dit|dice|according to)\b|(?-i:[A-ZÄÖÜ][a-zß-ÿ]{2,20})\s*[.!]?\s*$)",
    re.IGNORECASE,
)
ASKS = later(
    r"^\W*(?:(?:and |so |but |hey,? )?(?:(?:would|do|did|can|could) you (?:(?:really|also|ever) )?(?:agree|say|think|believe|consider|recommend|know|call|tell me (?:why|whether|if|where)|explain (?:why|whether|what)|see why)|(?:does|did|is|was) (?:the|this|that|it|there|he|she|anyone|someone|somebody|our|my|your)|(?:do|must|should|shall|may) (?:i|we|one|they)|do you|is [^.!?\n]{1,60} an? (?:\w{1,20} )?(?:rule|idea|convention|policy|habit|requirement)|how (?:do|does|can|could|would|should|did) |how would |"
    r"where (?:do|does|did|is|was)|what (?:do|does|did|would|is|was)|which (?:\w{1,20} )?(?:is|are|was|do|does|did|says?|of)|who (?:said|says|wrote|told|decided|wants)|"
    r"(?:muss|müssen|soll|sollen|sollte[nt]?|darf|dürfen) (?:ich|wir|man|ihr)|(?:faut|doit|dois|devons|devrait|peut)-(?:il|on|je|nous)|est-ce qu\w*|(?:нужно|надо|стоит|можно|должн\w|обязательно|следует) ли|czy|moet(?:en)? (?:ik|we|wij|je|men)|müssen wir|wie (?:heißt|sagt|schreibt|übersetz\w+|würde)|wo (?:steht|ist)|was (?:heißt|bedeutet)|comment (?:dit|dire|écrit|traduire)|où (?:est|trouve)|que (?:veut|signifie|significa)|cómo (?:se|digo|escribo)|dónde (?:dice|está|pone)|"
    r"qué (?:significa|quiere)|come si|cosa significa|dove (?:dice|sta)|como (?:se|digo)|onde (?:diz|está)|как (?:сказать|будет|перевести|написать)|где (?:написано|сказано)|что (?:значит|означает)|"
    r"jak (?:powiedzieć|napisać|się)|gdzie (?:jest|napisano)|co (?:znaczy|oznacza)|hoe (?:zeg|schrijf)|waar staat|wat betekent))\b",
    re.IGNORECASE,
)
