"""Acts of memory: statements meant to last. Pure functions.

Only these become active without confirmation. From the user, they are requests to remember something, "from now on",
"always" or "never" with an action, conventions, corrections with the old and the new value, decisions with their
reason, facts about the environment, and todos. From the assistant, they are root causes with their fixes, and dead
ends with their reasons. When in doubt, a sentence is not treated as an act of memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from memoryd.core.checks import Check
from memoryd.core.text import CJK, keywords
from memoryd.core.types import Kind, Polarity
from memoryd.daydream.offline import moment
from memoryd.daydream.offline.sentences import size, statements
from memoryd.daydream.offline.standing import Standing, may_be_standing, standing
from memoryd.language.cues import forbids, opens_as_correction, without_openers
from memoryd.language.patterns import later

_I = re.IGNORECASE
MAX_WORDS = 60
MIN_WORDS = 5


@dataclass(frozen=True, slots=True)
class Act:
    """A lasting statement.

    Attributes:
        revises: Whether it begins by correcting the speaker's previous statement.
        outright: Whether it explicitly asks to be remembered or applies from now on, so that no further check is needed.
    """

    text: str
    kind: Kind
    polarity: Polarity = Polarity.KNOW
    reason: str = ""
    revises: bool = False
    outright: bool = False


# Words that mark acts

_REMEMBER = later(
    r"^(?:(?:please |always )?(?:remember|keep in mind|don'?t forget(?= that|:| to)|do not forget(?= that|:| to)|"
    r"bear in mind|take note|make a note|"
    r"note(?= that (?!down)|:)|memori[sz]e|save to memory|"
    r"add to (?:your )?memory|for your memory)\b(?! (?:when|how|why|what|where|who|the time|me\b|last))(?:\s*(?:that|"
    r"(?:this|the following|a|our|my) (?:rule|convention|instruction)(?=:)|this|,|:))*|"
    r"(?:bitte )?(?:merk(?:e)? dir|denk(?:e)? (?:immer )?daran|behalte im kopf|vergiss nicht|"
    r"notiere?(?: dir)?)\b(?:\s*(?:dass|(?:die|diese|folgende) regel(?=:)|,|:))*|"
    r"(?:souviens-toi|rappelle-toi|retiens|note(?= que|:)|n'oublie pas|garde en tête)\b(?:\s*(?:que|qu'|bien|,|:))*|"
    r"(?:recuerda|ten en cuenta|no olvides|acuérdate(?: de)?|apunta|anota)\b(?:\s*(?:que|,|:))*|"
    r"(?:ricorda(?:ti)?|tieni a mente|onthoud|zapamiętaj)\b(?:\s*(?:di|che|dat|że|,|:))*|"
    r"(?:lembre(?:-se)?(?: de)?|tenha em mente|não (?:se )?esqueça(?: de)?|anote?|guarde)\b(?:\s*(?:que|,|:))*|"
    r"(?:запомни(?:те)?|помни|имей в виду|не забудь|не забывай|учти|запиши)\b(?:\s*(?:что|,|:))*|"
    r"(?:请?记住|记得|请?记一下|记下来?|别忘了|牢记)[：:，,]?|"
    r"(?:覚えて(?:おいて)?|忘れないで)(?:ください|ね)?[：:、,]|기억해(?:\s?(?:줘|두세요|둬|주세요))?[：:,.])\s*",
    _I,
)
_REMEMBER_AT_END = later(
    r"[,;.]? (?:please )?(?:remember (?:that|this)|keep (?:that|this) in mind|don'?t forget (?:that|this)|merk(?:e)? dir das|"
    r"denk daran|souviens-t'en|n'oublie pas ça|recu[eé]rdalo|no lo olvides|lembre-se disso|не забудь(?: это)?|"
    r"запомни(?: это)?)[.!]?$|[，,。]\s*(?:请)?记住(?:这点|这个|了)?[。！]?$|"
    r"(?:を|と|って|ことを?)?(?:覚えて(?:おいて)?(?:ください|ね)?|忘れないで(?:ください)?)[。！]?$|(?:을|를|라고|다고|"
    r"는 걸|라는 걸)?\s*기억해(?:\s?(?:줘|두세요|둬|주세요))?[.!]?$"
)
_STANDING = moment.STANDING
# An instruction for all cases, by its first word. What the program should show is a task as often as a rule, and reports
# ("never worked") are no acts.
_FOR_ALL_CASES = later(
    r"^(?:please |bitte )?(?:always|never|immer|nie(?:mals)?|toujours|siempre|nunca|sempre|jamais|всегда|никогда)\s+"
    r"(?!(?:show|hide|display|cent(?:er|re)|align|render|scroll|highlight|animate|let|open|zeig|montre|affiche|muestra|mostra)"
    r"\w*\b)\S+\s+\S",
    _I,
)
_LABEL_RULE = later(
    r"^(?:(?:new |house |project |team |our )?(?:rule|convention|policy|guideline|standard|final)|(?:neue |"
    r"unsere )?(?:regel|konvention|richtlinie)|"
    r"(?:nouvelle )?(?:règle|convention)|(?:nueva )?(?:regla|convención|norma)|(?:nova )?(?:regra|convenção)|"
    r"(?:новое )?(?:правило|соглашение)|"
    r"规则|规定|约定|最终|ルール|規約|규칙)\s*[:：—–]\s*",
    _I,
)
_LABEL_TODO = later(
    r"^(?:(?:a )?(?:to-?do|follow-?up|still (?:open|to do|missing))(?: (?:for|left for) (?:later|next time|tomorrow|"
    r"another (?:day|session)))?|"
    r"(?:for )?(?:next time|later)|note for (?:later|next time)|remaining|open point|nächstes mal|für (?:später|"
    r"nächstes mal)|offen|noch (?:offen|zu tun)|"
    r"à faire(?: plus tard)?|pour (?:plus tard|la prochaine fois)|la prochaine fois|reste à faire|"
    r"para (?:después|luego|más tarde|la próxima(?: vez)?)|pendiente|la próxima vez|tarea pendiente|para (?:depois|"
    r"a próxima)|pendência|na próxima vez|"
    r"на (?:потом|следующий раз)|в следующий раз|осталось(?: сделать)?|待办|下次|待做|遗留|以后要做|次回|後でやる|TODO|"
    r"다음에|할 일)\s*[:：,，—–-]\s*",
    _I,
)
_NOT_A_VERB = (
    r"the|an?|this|that|these|those|it|its|they|i|i'm|i've|you|we|he|she|my|your|our|their|his|her|same|some|any|all|no|"
    r"not|never|always|is|are|was|"
    r"were|been|being|am|had|has|have|did|does|mind|ever|again|once|when|if|in|on|at|with|for|from|of|like|likes?|ready|"
    r"true|possible|good|nice|fun|"
    r"wrong|right|bad|better|there|here|happy|glad|sure|got|gets?|saw|seen|heard|found|knew|known|thought|went|gone|"
    r"came|took|taken|made|said|told|"
    r"felt|left|lost|kept|built|ran|done|won|such|so|too|very|just|only|as|by|about|because|worth|going|nothing|"
    r"something|everything|enough|"
    r"an?|more|less|most|much|many|one|two|and|or|but|love[ds]?|hate[ds]?|need(?:s|ed)?|want(?:s|ed)?|happens?|seems?|feels?"
)
# "Always" or "never" with an action, i.e. a verb in its base form.
_DO = (
    rf"(?!(?:{_NOT_A_VERB})\b)"
    r"(?!(?!embed|seed|feed|shed|speed|proceed|exceed|succeed|bring|string|ping)\w*(?:ed|ing)\b)"
    r"(?!\w+(?<![us])(?<!alia)(?<!canva)s\b)[a-z][\w-]+"
)
_LEAD = (
    r"(?:^|[,;:.!—–]\s*|"
    r"\b(?:and|but|so|then|to|please|you (?:should|must|have to|need to)|we (?:should|must)?|everyone (?:should|must))\s+)"
)
_ALWAYS = later(rf"{_LEAD}(?:please )?(?P<word>always|never(?: ever)?|don'?t ever|do not ever)\s+(?P<verb>{_DO})", _I)
_ALWAYS_OTHER = later(
    r"^(?:bitte )?(?:immer|nie|niemals) (?:die|das|der|den|dem) [^.!?]{3,80}(?:en|ern|eln)[.!]?$|"
    # In German, the adverb precedes an infinitive or follows an imperative.
    r"^(?:bitte )?(?:immer|nie(?:mals)?|stets|grundsätzlich)\s+(?!(?:noch|das|der|die|dasselbe|wieder|mehr|wenn|gleich|"
    r"so|ein\w*|es|ich|diese\w*|war|im|mehr)\b)\w+|"
    r"^(?:bitte )?(?:benutze?|verwende?|nutze?|nimm|schreibe?|mache?|mach|führe?|lass|teste?|prüfe?|halte?|nenne?|"
    r"committe?|pushe?|speicher[ne]?|"
    r"antworte?|setze?|starte?|füge?|lege?|gib|frage?|vermeide?)\b[^.!?]{0,60}\b(?:immer|nie(?:mals)?|stets|grundsätzlich)\b|"
    # French
    r"^(?:toujours|jamais) (?!(?:le|la|les|un|une|pas|en|vu|été|eu|aussi|plus|autant)\b)\w+|^ne (?:jamais \w+|\w+(?:ez|"
    r"e|s)? jamais)\b|^n'\w+ jamais\b|"
    r"^(?:utilise|écris|lance|mets|fais|garde|nomme|teste|commite|vérifie|ajoute|réponds|évite|préfère|"
    r"emploie)z?\b[^.!?]{0,40}\btoujours\b|"
    # Spanish and Portuguese
    r"^(?:siempre|nunca|jamás|sempre|jamais) (?!(?:el|la|lo|los|las|un|una|que|me|se|es|está|fue|ha|he|había|falla|"
    r"igual|o|os|as|um|uma|foi|é|vi|tive|más|mais|funciona|pasa|passa|falha|sale|sai|responde|carga|carrega|termina|llega|"
    r"chega|quiere|quer|aparece|abre|compila|anda|sirve|acaba|quise|quis|quería|queria)\b|\w+(?:é|í|ó|aba|ía)\b)\w+ \w+|"
    r"^(?:usa|utiliza|escribe|ejecuta|pon|haz|mantén|nombra|prueba|añade|responde|guarda|use|utilize|escreva|execute|"
    r"rode|faça|mantenha|responda|adicione)\b"
    r"[^.!?]{0,40}\b(?:siempre|sempre)\b|^no \w+ nunca\b|^não \w+ nunca\b|"
    # In Russian, an imperative or an infinitive follows.
    r"^(?:всегда|никогда(?: не)?) (?!(?:так|было|был|была|одно|это|та|тот|одна|хотел\w*|видел\w*)\b)\w*(?:й|йте|и|ите|ь|"
    r"ьте|ть|ти|ся|сь)\b|"
    r"^(?:используй|пиши|запускай|делай|проверяй|добавляй|отвечай|ставь|называй|храни)(?:те)?\b[^.!?]{0,40}\bвсегда\b|"
    r"^(?:нельзя|запрещено) никогда|"
    # Chinese, Japanese, Korean
    r"^(?:use|keep|write|put|run|add|name)\b.{4,120}, always[.!]?$|^(?:严禁|禁止)(?!这)|"
    r"永远(?:不要|别|不能|用|使用|保持)|绝(?:对)?不(?:要|能|可以|允许)|务必|一律|每次\S{0,12}(?:都要|都得|必须|之前|"
    r"前都|后都|时都)|始终(?:使用|用|保持|要)|"
    r"总是(?:使用|用|先|要)|必须(?:始终|总是|一直)|任何(?:时候|情况下)都|所有\S{1,14}(?:都?必须|都要|一律)|(?:本|"
    r"这个)(?:项目|仓库)\S{0,12}(?:必须|不要|禁止|不允许|统一)|"
    r"(?:常に|必ず|いつも|決して|絶対に|毎回)[^。！？!?\n]{2,60}(?:こと|ください|する|して|使う|ない(?:で)?|書く|にする)[。！]?$|"
    r"(?:항상|반드시|절대(?:로)?|매번|언제나)\s?\S.{1,60}(?:세요|해|줘|하기|마|말 것|할 것|써|쓰기|하자|십시오|마세요)[.!]?$",
    _I,
)
_NORM = later(
    r"^(?:(?:all|every|each|any|no) (?:\w[\w/-]* ){1,4}?(?:must|has to|have to|needs? to|should always|should never|may|"
    r"is|are)(?: not| never| always)? \w+|"
    r"(?!(?:you|we|i|it|they|he|she|this|that|the|there|one|who|what)\b)(?:[\w/-]+ ){1,3}?(?:must|should) (?:always|"
    r"never)(?: be)? \w+|"
    r"(?:jede[rs]?|alle) (?:\S+ ){1,4}?(?:muss|müssen|darf|dürfen)\b|(?:toute?s?|chaque|tous les|"
    r"toutes les) (?:\S+ ){1,4}?(?:doit|doivent)\b|"
    r"(?:todo|toda|todos los|todas las|cada|todos os|todas as) (?:\S+ ){1,4}?(?:debe|deben|tiene que|tienen que|deve|devem)\b|"
    r"(?:все|каждый|каждая|любой|любая|любое) (?:\S+ ){1,4}?(?:долж\w+|обязан\w*)\b)",
    _I,
)
_SCOPE = later(
    r"\b(?:in|for|across|within) (?:this|our|the whole|the entire|my) (?:\w+ )?(?:repo(?:sitory)?|project|code ?base|"
    r"team|company|monorepo|workspace|organi[sz]ation|app)\b|"
    r"\b(?:in|bei) (?:diesem|unserem|dem ganzen) (?:projekt|repo(?:sitory)?|team)|in dieser codebasis|"
    r"\bdans (?:ce|notre) (?:projet|dépôt|repo)\b|\ben (?:este|nuestro) (?:proyecto|repo(?:sitorio)?|equipo)\b|"
    r"\bn(?:este|o nosso) (?:projeto|repo(?:sitório)?|time)\b|"
    r"\bв (?:этом|нашем) (?:проекте|репозитории)\b|(?:本|这个|我们)(?:项目|仓库|团队|代码库)|このプロジェクト|"
    r"このリポジトリ|이 (?:프로젝트|저장소)",
    _I,
)
_IMPERATIVE = later(
    r"^(?:(?:don'?t|do not|avoid|stop|never|always|only|use|name|write|keep|put|prefer|run|format|prefix|store|follow|"
    r"commit|push|test|add|document|sign|"
    r"we|nobody|all)\b|kein|nicht|wir|nous|on |nosotros|usamos|мы\b|не\b|我们|不要|别|用|使用)",
    _I,
)
_TEAM = later(r"^(?:we|nobody|all|wir|nous|on|nosotros|usamos|мы)\b|^我们", _I)
_DONT_LASTING = later(
    r"^(?:don'?t|do not|dont|avoid|never)\b.{3,}\b(?:ever|anywhere|at all|under any circumstances?|without (?:asking|my|"
    r"an? |permission|approval|tests?|review)\w*|"
    r"unless (?:I|we|asked|told|the user)|on (?:fri|mon|tues|wednes|thurs|satur|sun)days|in production|(?:to|on|"
    r"into) (?:main|master|production|prod))\b",
    _I,
)
_DONT_EVER = later(r"^(?:please )?(?:don'?t|do not|dont)\b.{3,}\b(?:ever|under any circumstances?|no matter what)\W*$", _I)
# A sentence that requests something rather than describing the current state.
_TASK = later(
    r"\b(?:we|you|I) (?:need|have to|should|must|want you|can|could)\b|\blet'?s\b|\bplease\b|"
    r"\b(?:wir|du) (?:müssen|sollten|musst|solltest)\b|"
    r"\b(?:il faut|on doit|tu dois)\b|\b(?:hay que|tenemos que|temos que|precisamos)\b|\b(?:надо|нужно)\b|需要|应该",
    _I,
)
_IS = later(
    r"\b(?:is|are|live|lives|stay|stays|go|goes|have|has|use|uses|start|starts|end|ends|must|always|never|heißen|heißt|liegen|"
    r"liegt|sind|ist|sont|est|se llaman?|están?|son|ficam?|são|лежат|называются|находятся)\b|叫|放在|位于|使用",
    _I,
)
# As in "The backup writes to the NAS, not to S3."
_CONTRASTED = later(
    r"^(?:the|our|my|all|die|der|das|unsere?|le|la|les|notre|nos|el|los|las|nuestr[oa]s?|o|a|os|as|noss[oa]s?|наш\w*)\b "
    r"(?:[\w`'/.-]+ ){1,5}?(?!(?:should|must|needs?|looks?|seems?|shows?)\b)[\w]+ [^?!]{2,80}?(?:, |\s)"
    r"(?:not|nicht|pas|no|não|а не) \S+",
    _I,
)
# True only temporarily, as in "the server is down" and "the port is taken".
_TRANSIENT = later(
    r"\b(?:is|are|was|were|ist|est|está|es|é) (?:\w+ )?(?:down|up|dead|slow|full|busy|taken|in use|red|green|running|ready|"
    r"done(?! by)|"
    r"empty|back|gone|stuck|late|offline|online|unavailable|unreachable|free|voll|langsam|belegt|pleine?|lente?|"
    r"llen[oa]|lent[oa]|caíd[oa]|chei[oa]|ocupad[oa]|at \d+ ?(?:percent|%))(?! for me)",
    _I,
)
# Habits of a team, in the present tense.
_HABIT = later(
    r"\bwe (?:(?:always|never|only|usually|generally|don'?t|do not|all) )?(?P<verb>use|name|write|keep|store|deploy|"
    r"ship|run|test|follow|format|target|support|host|release|"
    r"require|review|version|tag|call|avoid|squash|rebase|merge|lint|pin|sign|log|cache|build|publish|track|speak|"
    r"document|bump|commit|branch|indent|prefix|round|"
    r"bill|charge|validate|mock|seed|generate|vendor|translate)\b(?! (?:it|this|that|them|these|those|to|here)\b)|"
    r"\bwir (?:(?:immer|nie|nur|hier) )?(?:benutzen|verwenden|nutzen|nennen|schreiben|speichern|deployen|unterstützen|"
    r"testen|versionieren|committen|brauchen kein\w*)\b|"
    r"\b(?:nous (?:utilisons|nommons|écrivons|déployons|gardons|stockons|testons)|on (?:utilise|nomme|écrit|déploie|"
    r"garde|stocke|teste))\b|"
    r"\b(?:usamos|nombramos|escribimos|desplegamos|guardamos|nomeamos|escrevemos|implantamos|guardamos|utilizamos)\b|"
    r"\bмы (?:используем|называем|пишем|храним|деплоим|поддерживаем|тестируем|выкатываем|не используем)\b|"
    r"我们(?:\S{0,6})?(?:统一|一般|都|只|不)?(?:用|使用|采用|部署|存放|命名)(?!这|它|那)|(?:では|"
    r"は)\S{1,20}を?使(?:います|っています|う)|(?:우리는|우리 팀은|저장소에서는|프로젝트에서는).{2,40}(?:사용|씁니다|"
    r"써요|쓴다)",
    _I,
)
_TELLS_MORE = later(
    r"\bnot\b|\bonly\b|\binstead\b|\bnever\b|\bno longer\b|\bwithout\b|\bbecause\b|\bsince\b|\bso that\b|\bso \b|"
    r"\bexclusiv\w*\b|\bausschließlich\b|\bисключительно\b|\bnicht\b|\bkein\w*\b|\bnur\b|\bweil\b|\bstatt\b|"
    r"\bpas\b|\bseulement\b|\bau lieu\b|\bcar\b|\bparce\b|\bsolo\b|\bporque\b|\bno\b|\ben lugar\b|\bem vez\b|\bnão\b|"
    r"\bне\b|\bтолько\b|\bвместо\b|\bпотому\b|"
    r"而不是|因为|只|不|ではなく|から|아니라|때문",
    _I,
)
_NAMES = later(
    r"`[^`]+`|\d|[\w-]{1,60}[/_.<>@][\w<>/-]|\b[a-z]{1,40}[A-Z]\w*|(?<!^)(?<![.!?:] )\b[A-Z][\w+#-]+|\b[A-Z]{2,}\b|"
    r"\b\w{1,40}-\w{1,40}\b|"
    r"(?<=[一-鿿ぁ-ヿ가-힣])\s?[A-Za-z][\w.-]+"
)
_DECIDED = later(
    r"\b(?:(?:we|I|the team)(?:'ve| have| had)? (?:decided|agreed|chose|chosen|picked|settled|opted|standardi[sz]ed|"
    r"ruled out)|(?:it|that) was (?:agreed|decided)|"
    r"the decision (?:is|was)|wir haben uns (?:für|gegen|auf|darauf)|wir haben (?:beschlossen|entschieden|vereinbart)|"
    r"(?:on a|nous avons) (?:décidé|choisi|opté|convenu)|(?:hemos )?(?:decidimos|elegimos|acordamos|decidido|elegido|"
    r"acordado)|(?:decidimos|escolhemos|optamos|combinamos)|"
    r"мы (?:решили|выбрали|договорились)|решено)\b|我们(?:\S{0,4})?(?:决定|选择了?|选了|约定)|(?:することに)(?:した|"
    r"しました|決めた|決めました)|기로 (?:했|결정)",
    _I,
)
_CHANGED = later(
    r"\b(?:we(?:'ve| have)? (?:just )?(?:dropped|moved (?:\S+ ){0,5}?(?:to|from|off)|switched|migrated|renamed|replaced|"
    r"deprecated|stopped (?:using|supporting)|gave up|"
    r"abandoned|no longer \w+|don'?t \w+ .{0,40}any ?more)|wir (?:haben .{2,50}(?:umgestellt|migriert|abgeschafft|"
    r"umbenannt|eingestellt)|sind (?:auf|von|zu) .{2,40}(?:umgestiegen|gewechselt)|"
    r"(?:unterstützen|benutzen|verwenden) .{2,40}nicht mehr)|(?:on a|nous avons) (?:abandonné|migré|remplacé|renommé)|"
    r"on n'utilise plus|"
    r"(?:hemos )?(?:migrado|migramos|abandonamos|reemplazamos|cambiamos (?:de|a)|ya no usamos)|(?:migramos|abandonamos|"
    r"substituímos|trocamos|não usamos mais)|"
    r"мы (?:перешли|перенесли|отказались|заменили|переименовали|больше не используем))\b|"
    r"我们(?:已经?)?.{0,16}(?:不再|改用|换成|迁移到|弃用|停用|放弃了?)|に(?:移行|変更)しました|(?:로|으로) (?:옮겼|바꿨|변경했|"
    r"이전했)",
    _I,
)
_REASON = later(
    r"\b(?:because|since|so that|due to|as (?:it|we|they|the)|given that|otherwise|the reason|in order to|to avoid|"
    r"so (?:we|no|there|the)|for its?)\b|"
    r"[,;:] ?(?:we|it|they|there|the) (?:don'?t|can'?t|won'?t|do|already|have|has|need|needs|is|are|would|doesn'?t)\b|"
    r"\b(?:weil|da (?:wir|es|die)|damit|wegen|denn|sonst|parce qu|car|puisque|pour (?:que|éviter)|sinon|porque|ya que|"
    r"para (?:que|evitar)|pois|para (?:não|evitar)|"
    r"потому что|так как|чтобы|из-за|иначе)|因为|由于|否则|以免|避免|以便|ため|ので|から|때문|니까|위해",
    _I,
)
_CHOOSES = later(
    r"^(?:let'?s (?:go with|use|take|keep|stick (?:with|to)|do)|go with|we went with|"
    r"we(?:'ll| will)? (?:go with|take|stick (?:with|to))|I'?(?:'d|'ll)? ?(?:go|going) with|"
    r"wir nehmen|nehmen wir|on prend|prenons|partons sur|vamos (?:con|com)|usemos|vamos usar|берём|возьмём|"
    r"давай(?:те)? (?:возьмём|использу\w+)|我们用|就用|采用|選びます)",
    _I,
)
# What the team tried and gave up. An attempt of the speaker alone ("I tried to restart it") belongs to the moment.
_TRIED = later(
    r"^we(?:'ve| have| had)? (?:already )?tried\b.{3,160}?\b(?:gave (?:it |that )?up|abandoned|rolled (?:it )?back|"
    r"went back|dropped|did(?: not|n'?t) (?:work|scale|help)|does(?: not|n'?t) (?:work|scale|help)|failed)\b|"
    r"^wir haben .{3,120}?(?:probiert|versucht)\b.{0,80}?\b(?:aufgegeben|verworfen|ging nicht|funktioniert(?:e)? nicht)\b|"
    r"^(?:on a|nous avons) essayé\b.{3,160}?\b(?:abandonné|ne marche pas|n'a pas marché)\b|"
    r"^(?:hemos probado|probamos)\b.{3,160}?\b(?:abandonamos|no funcion(?:a|ó))|"
    r"^мы пробовали.{3,160}?(?:отказались|не (?:сработало|работает))|^我们(?:已经)?(?:试过|尝试过).{2,60}(?:放弃|行不通|不行)",
    _I,
)
_SWAP = later(
    r"^(?:use|prefer|drop|take|pick|write|say|call it|nimm|benutze?|verwende?|utilise[rz]?|usa|use|"
    r"используй)\s+`?(?P<new>[\w.@/+#-]+)`?\s*"
    r"(?:,? (?:not|instead of|rather than|over|nicht|statt|anstatt|pas|au lieu de|en vez de|en lugar de|em vez de|а не|"
    r"вместо)|,? and not)\s+(?:to )?`?(?P<old>[\w.@/+#-]+)`?\s*[.!]?$|"
    r"^(?:用|使用)\s*(?P<newz>[\w.@/+#-]+)[，,]?\s*(?:而不是|不要用|别用|不用)\s*(?P<oldz>[\w.@/+#-]+)[。！]?$",
    _I,
)
_DETERMINER = frozenset("the a an this that these those it my your our one ones first second third other last".split())
_NO_LONGER = later(
    r"\b(?:not? (?:\S+ ){1,4}?any ?more|no longer|instead of|rather than|used to be|nicht mehr|statt|plus (?:sur|en|à)|"
    r"ya no|não (?:está|é|usa|roda) mais|mais|больше не|уже не|вместо)\b|"
    r"不再|而不是|改成|改为|換成|ではなく|아니라",
    _I,
)
_DENIES = later(
    r"^\W*(?:no\b|nope|wrong|actually|that'?s (?:not|wrong)|nein|falsch|non\b|faux|нет\b|неправильно|não\b|"
    r"不[，,。是对]|不对|错了|いや|違|아니)",
    _I,
)
_CONTRAST = later(
    r"\bnot\b|\binstead of\b|\brather than\b|\bno longer\b|\bsondern\b|\bnicht\b|\bstatt\b|\bet non\b|\bpas\b|\bau lieu de\b|"
    r"\bsino\b|\bno en\b|\bnão\b|\bem vez\b|\bа не\b|\bвместо\b|不是|而不是|ではなく|아니라",
    _I,
)
_PREFERS = later(
    r"^(?:I (?:always |really |strongly |much |generally |usually |personally )?prefer|I'd (?:always )?(?:prefer|"
    r"rather)|my preference is|ich bevorzuge|mir (?:ist|sind) .{2,40}lieber|"
    r"je préfère|prefiero|prefiro|eu prefiro|(?:я )?предпочитаю)\b|^我(?:更?喜欢|偏好|习惯用|倾向)|(?:の方が好み|"
    r"が好き)です|(?:을|를) 선호",
    _I,
)
_GENERIC = (
    r"(?:(?:commit|error|log|api|release|pr|test|code|ui|git|inline|doc)[- ])?(?:messages|commits|branch(?:es| names)|"
    r"names|identifiers|variables|comments|docstrings|tests|logs|"
    r"prs|pull requests|titles|descriptions|changelogs?|dates|amounts|prices|timestamps|answers|replies|responses|"
    r"explanations|docs|documentation|code|functions|files|imports|"
    r"migrations|endpoints|components|summaries|plans|diffs|types|constants|secrets|texts|headings)"
)
_STYLE = later(
    rf"^(?:(?:write|keep|name|format|structure|prefix|phrase|put|use|answer|reply|respond|explain|sort|order|end|start|"
    rf"begin|store|return|document|sign)\b\s+){{1}}"
    rf"(?:all |your |new |every )?{_GENERIC}\b.{{0,160}}\b(?:so that|in|with|without|as|like|after|under|by|for|short|"
    rf"small|to|before|on|using|alphabetically|lowercase)\b",
    _I,
)
_ENV_WORDS = (
    r"staging|production|prod|dev|ci|runners?|databases?|db|servers?|hosts?|machines?|laptop|accounts?|api|cluster|"
    r"registry|proxy|vpn|buckets?|queues?|redis|postgres\w*|mysql|"
    r"kafka|sandbox|pipelines?|environments?|env|keyboard|tokens?|docs|config\w*|secrets?|credentials?|ports?|schema|"
    r"tenants?|customers?|users?|frontend|backend|deploys?|"
    r"deployments?|releases?|reviews?|on-?call|design system|monorepo|packages?|modules?|service|services|gateway|dns|"
    r"domain|certificates?|cert|license|licence|office|team|"
    r"apps?|clients?|website|site|library|[\w-]{0,20}(?:datenbank|server|rechner|konto|umgebung)|base(?: de données|"
    r" de préprod)?|préprod|стейдж\w*|serveur|"
    r"machine|compte|environnement|"
    r"base de datos|servidor|máquina|cuenta|entorno|"
    r"banco(?: de dados)?|conta|ambiente|баз\w+|сервер\w*|машин\w*|аккаунт\w*|окружени\w+|стенд\w*"
)
_ENV = later(
    rf"^(?:the|our|my|this|all|every|on|die|der|das|unsere?|notre|la|le|les|el|los|nuestr[oa]s?|o|a|nosso|nossa|наш\w*|"
    rf"meine?|mon|mi|meu|minha)?\s?(?:[\w./-]+ ){{0,4}}?(?:{_ENV_WORDS})\b.{{0,60}}?"
    r"\b(?:is|are|lives?|lies|runs?|uses?|has|have|needs?|requires?|supports?|targets?|ships?|listens?|points?|sits?|"
    r"belongs?|speaks?|accepts?|"
    r"allows?|expires?|resets?|gets?|contains?|goes|go|happen|"
    r"ist|sind|liegt|liegen|läuft|laufen|hat|haben|braucht|steht|est|sont|tourne|tournent|utilise|a|vit|está|están|"
    r"corre|usa|tiene|vive|acepta|escucha|permite|soporta|fica|roda|tem|"
    r"находится|лежит|работает на|использует|живёт)\b|"
    r"^(?:我们的|测试|生产|预发|线上|开发|数据库)\S{0,12}(?:在|是|用|运行|位于|部署)|^\S{2,16}(?:サーバー|環境|"
    r"データベース|DB)は\S+|^\S{0,10}\s?(?:서버|환경|데이터베이스|DB)(?:는|은) .+",
    _I,
)
_OWNED = later(
    r"\b(?:is|are) (?:\w+ )?(?:done|owned|maintained|reviewed|approved|handled|managed|run|operated|"
    r"administered) by [A-Z]|\b[A-Z]\w+ (?:owns|maintains|reviews|approves|handles|is responsible for|takes care of)\b|"
    r"\bask [A-Z]\w+ (?:for|about|when|if|before)\b|(?:macht|betreut|verantwortet) [A-Z]\w+|est (?:géré|"
    r"maintenu)\w* par [A-Z]|lo (?:lleva|mantiene) [A-Z]|отвечает [А-ЯЁ]\w+"
)
_PERSONAL = later(
    r"^my (?:shell|editor|ide|os|machine|laptop|keyboard|terminal|browser|phone|screen) (?:is|has|strips|uses|runs|"
    r"shows|only)\b|"
    r"^I(?:'m| am) (?:colou?r-?blind|dyslexic|left-handed|deaf|blind)\b|^I use (?:a|an) (?:screen reader|mac|pc|tiling|"
    r"left-handed|"
    r"german|french|us|uk|dvorak)\b|^I (?:only )?have (?:only |no )?(?:read|write|admin)\w* (?:access|rights)|"
    r"^I(?:'m| am)? (?:(?:always|only|mostly|usually) )?(?:(?:work|working|code|develop) (?:on|in|with|from|"
    r"as) (?!the\b|this\b|that\b|it\b)|(?:on|"
    r"using) (?:windows|linux|macos|a mac|wsl|ubuntu|arch|fedora|debian)|use (?:[A-Z]\w+|fish|zsh|vim|neovim|emacs|nano|"
    r"dvorak) (?:as|for|on|with)|"
    r"don'?t (?:speak (?!to)|know|use|have)|speak (?!from|of|to)|have (?:only|no) (?!idea|time|clue|questions?)\w+)|"
    r"^ich (?:arbeite (?:auf|"
    r"mit|in)|benutze|spreche|habe (?:nur|kein))\b|^je (?:travaille (?:sur|avec|sous)|parle)\b|"
    r"^(?:trabajo (?:en|con)|hablo|trabalho (?:em|com|no)|falo)\b|^я (?:работаю (?:на|в|с)|говорю)\b|^我(?:用的是|在用|"
    r"只有|不会|的(?:电脑|系统|键盘)是)",
    _I,
)


def is_negative(text: str) -> bool:
    """Return whether a rule is a prohibition.

    "From now on never …" is one. "Use A, never B" is not.
    """
    return forbids(moment.strip_standing_phrases(text).strip(" ,，:"))


# A denial followed by a comma, as in "No, …", unlike "No tests may …".
_DENIAL = later(
    r"^(?:(?:no|nope|wrong|actually|sorry|that'?s (?:wrong|not (?:right|true|correct))|not (?:quite|true)|nein|falsch|"
    r"(?:das )?stimmt nicht|non|faux|c'est faux|incorrecto|нет|неправильно|не так)(?:\s*[,.:;!—–]+|\s+-)\s*)+|"
    r"^(?:不对?|不是的?|错了?)[，,。！!]\s*",
    re.IGNORECASE,
)
_PRONOUN = later(r"^(?:it|that|this)(?P<is>'s|s)?\b(?! (?:is|was) not\b)", re.IGNORECASE)
_WRONG_VALUE = later(
    r"\b(?:not|instead of|rather than|no longer)(?: (?:on|at|in|to|from|the|a|an|with|by|called|named))*"
    r" `?(?P<value>[\w./:-]*\w)`?",
    re.IGNORECASE,
)
# The subject of a claim, up to its verb. Example: "The staging database runs on 5432".
_ABOUT = later(
    r"^(?P<about>(?:the|our|your|this|its) [\w`'/. -]{2,60}?) (?:is|are|was|were|runs?|listens?|lives?|lies|uses?|points?|"
    r"stands?|sits?|comes?|goes|works?|needs?|starts?|reads?|writes?|has|stores?|expects?)\b",
    re.IGNORECASE,
)


# A sentence of the user


def act_of(sentence: str, before: str = "") -> Act | None:
    """Return the act of memory in a user's sentence, or None. `before` is the assistant's preceding text."""
    core = without_openers(sentence)
    if not 2 <= size(core) <= MAX_WORDS or moment.asks(core) or moment.asks(sentence):
        return None
    act = _labelled(core) or _remembered(core)
    outright = act is not None or bool(_STANDING.search(core))
    checkable: Act | None = None
    if act is None and not moment.is_strictly_momentary(core):
        act = _strong(core) or _corrected(sentence, core, before) or _weak(core)
        checkable = None if outright else _said_in_passing(core, opens_as_correction(sentence))
        if checkable and (act is None or act.kind not in (Kind.RULE, Kind.PREFERENCE, Kind.DECISION)):
            act = checkable
        outright = outright or (act is not None and checkable is not None and checkable.outright)
        outright = outright or (act is not None and act.kind is Kind.RULE and bool(_FOR_ALL_CASES.match(core)))
    elif act is None:
        act = _corrected(sentence, core, before)
    if act is None:
        return None
    vague = checkable is None and moment.only_points(act.text, len(keywords(act.text)))
    if vague and not CJK.search(act.text):
        return None
    return replace(act, text=worded(act.text), revises=opens_as_correction(sentence), outright=outright)


def _labelled(core: str) -> Act | None:
    match = _LABEL_TODO.match(core)
    if match and size(core[match.end() :]) >= 3:
        return Act(core[match.end() :], Kind.TODO, Polarity.DO, "left open")
    match = _LABEL_RULE.match(core)
    if match and size(core[match.end() :]) >= 3 and not moment.is_strictly_momentary(core[match.end() :]):
        return _rule(core[match.end() :], "stated as a rule")
    return None


def _remembered(core: str) -> Act | None:
    match = _REMEMBER.match(core)
    at_end = _REMEMBER_AT_END.search(core)
    rest = core[match.end() :] if match else core[: at_end.start()] if at_end else ""
    rest = re.sub(r"^(?:to|de|zu) (?=\w)", "", rest)
    if re.match(r"I (?:have|am|need|must|will|want|go|leave)\b|I'(?:m|ll|ve)\b", rest):
        return None
    plain = size(rest) >= 3 or (CJK.search(rest) is not None and len(rest) >= 6)
    # "It is on 6000 now" says what has changed. An instruction with "now" is a task.
    instructs = _IMPERATIVE.match(rest) and not _TEAM.match(rest)
    lasting = rest if instructs else moment.without_change(rest)
    if not plain or moment.is_strictly_momentary(lasting) or moment.asks(rest):
        return None
    inner = _strong(rest)
    if inner is not None:
        return inner
    to_do = bool(match and re.match(r"(?:to|de) ", core[match.end() :], _I))
    if to_do and not _RECURS.search(rest):
        return None
    if to_do or _IMPERATIVE.match(rest) or (_can_be_checked(rest) and not _PERSONAL.search(rest)):
        return _rule(rest, "asked to remember")
    # The polarity is "do" because the user asked to remember this and the next session must get it.
    return Act(rest, _state_of(rest), Polarity.DO, "asked to remember")


def _can_be_checked(text: str) -> bool:
    """Return whether tool calls can violate the text, so that it is a rule although it isn't phrased as an instruction."""
    return _check_of(text) is not None


def _check_of(text: str) -> Check | None:
    from memoryd.guard.compile import compile_rule  # slow to import, and few sentences get here

    return compile_rule(text)


def _said_in_passing(core: str, corrects: bool) -> Act | None:
    """Return the rule in a text that is general in form and can be checked. It is outright if it covers all cases by its words.

    A text that `corrects` what the agent does must cover all cases, or say what to do instead.
    """
    check = _check_of(core) if may_be_standing(core) else None
    found = Standing.NO if check is None else standing(core, check)
    if corrects and found is Standing.LIKELY and not (check and check.instead):
        return None
    return replace(_rule(core, "stated as a rule"), outright=found is Standing.CLEAR) if found else None


_RECURS = later(
    r"\b(?:every|each|whenever|when(?:ever)? (?:you|we)\b(?!')|if (?:you|we)\b|"
    r"(?:before|after) (?:you |we |a |an |each |every |the )?"
    r"(?:commit|push|merg|releas|deploy|rebas|pull|tag|publish)\w*|"
    r"(?:before|after|when|while) (?!finish|complet|do(?:ing)?\b|fix)[a-z]{2,20}ing\b(?! (?:this|that|it|these|those)\b)|"
    r"jed\w+|bevor|chaque|avant de|cada|antes de|кажд\w+|перед)\b",
    _I,
)


# A wish about every step of the work rather than about the program.
_AT_EACH_STEP = later(
    r"\b(?:after|before|on|with|for) (?:each|every|any) (?:\w+ )?(?:change|edit|commit|push|merge|release|"
    r"deploy(?:ment)?|session|task|step|feature|fix|refactor(?:ing)?|"
    r"migration|answer|reply|response|plan|pull request|pr|turn)s?\b|\b(?:every|each) time (?:you|we)\b|"
    r"\bwhenever (?:you|we)\b|"
    r"\b(?:nach|vor|bei) jede[rmns]? (?:\w+ )?(?:änderung|commit|push|release|deployment|sitzung|aufgabe|schritt|antwort|plan)|"
    r"\b(?:après|avant|à) chaque (?:changement|modification|commit|push|livraison|session|tâche|étape|réponse)|"
    r"\b(?:después de|antes de|en) cada (?:cambio|modificación|commit|push|entrega|sesión|tarea|paso|respuesta)|"
    r"\b(?:после|перед) кажд\w+ (?:изменени\w+|коммит\w+|пуш\w+|релиз\w+|сесси\w+|задач\w+|шаг\w+)",
    _I,
)
_ORDERS = later(
    r"^(?:after|before|on|with) (?:each|every) (?:[\w-]+ ){1,3}?(?:please )?(?:run|use|call|update|regenerate|format|"
    r"lint|check|rebuild|test|tag|ask)\b|"
    r"^(?:please )?(?:run|use|call|update|regenerate|generate|format|lint|check|rebuild|test|tag|ask|show|add|write|"
    r"bump|execute)\b|"
    r",\s(?:please )?(?:run|use|call|update|regenerate|generate|format|lint|check|rebuild|test|tag|ask|show|add|write|"
    r"bump|execute)\b|"
    r"\b(?:I|we)(?:'d| would)? (?:want|need|like|expect) you to\b|"
    r"\b(?:ich möchte|ich will), dass du\b|\bje (?:veux|voudrais) que tu\b|\bquiero que\b|\bхочу, чтобы ты\b|"
    r"^(?:bitte )?(?:führe?|nutze?|verwende?|starte?|prüfe?)\b|"
    r"^(?:lance|exécute|utilise|vérifie)\b|^(?:ejecuta|usa|lanza|revisa)\b|^(?:запускай|используй|проверяй)\b",
    _I,
)
# "Add a hook that runs the linter before each commit" is one task.
_BUILDS_A_STEP = later(r"^(?:please )?(?:add|write) (?:an?|the) (?:[\w-]+ ){1,4}?(?:that|which|to)\b", _I)
# So is "all calls of foo must be replaced".
_ONE_TASK = later(
    r"\bmust (?:all )?(?:be (?:deleted|removed|replaced|converted|renamed|moved|fixed|migrated|rewritten|green|done)|become|"
    r"go)\b|"
    r"\b(?:müssen|muss) (?:weg|laufen|ersetzt|gelöscht|entfernt|umbenannt)\b",
    _I,
)
# Explicit norms, such as "our convention is to …" and "the only allowed client here is …".
_EXPLICIT_NORM = later(
    r"^(?:our|the) (?:\w+ )?(?:convention|rule|policy|standard|practice|agreement) (?:here )?is\b|^make it a (?:habit|"
    r"rule|point|practice)\b|"
    r"^the only (?:allowed|permitted|accepted|approved|supported) (?:[\w-]+ ){1,4}(?:here|in (?:this|our) \w+) is\b|"
    r"^wir (?:verwenden|nutzen|benutzen) hier (?:nur|ausschließlich)\b|^(?:here )?we (?:only|exclusively) use\b|"
    r"^ici,? on (?:n'utilise que|utilise uniquement)\b|"
    r"^unsere (?:konvention|regel|richtlinie) ist\b|^notre (?:règle|convention) est\b|^nuestra (?:regla|convención|"
    r"norma) es\b|^наше правило\b",
    _I,
)


def _strong(core: str) -> Act | None:
    """Return the rule in a text that explicitly describes it as lasting."""
    if _STANDING.search(core) and size(moment.strip_standing_phrases(core)) >= 2:
        return _rule(core, "stated as a rule")
    if (_DONT_EVER.match(core) or _EXPLICIT_NORM.match(core)) and size(core) >= 4:
        return _rule(core, "stated as a rule")
    match = _ALWAYS.search(core)
    if match and size(core) >= 3:
        rule = core[match.start() :].lstrip(" ,;:.!—–")
        lead = core[: match.start("word")]
        if _QUOTES.search(lead) and not re.search(r"\b(?:but|however|yet)\W*$", lead, _I):
            return None
        led = match.group(0).lower().lstrip()
        if led.startswith("we ") and moment.reports(core):
            return None
        return _rule(
            core if match.start() == 0 or led.startswith(("we", "to ")) else _from_clause(core, rule), "stated as a rule"
        )
    if _ALWAYS_OTHER.search(core):
        return _rule(core, "stated as a rule")
    return None


# "The log says: always …" reports the words of someone or something else.
_QUOTES = later(
    r"\b(?:says?|said|tells?|told|reads|wrote|prints|claims|complains|warns)\b[^.!?]{0,20}[:,]?\s*$|"
    r"\b(?:says?|said|prints|complains|warns)\s*:",
    _I,
)


def _from_clause(core: str, rule: str) -> str:
    """Return the clause containing the rule if the text before it only quotes or denies. Otherwise, return the whole text."""
    lead = core[: len(core) - len(rule)]
    if re.search(r"[\"“”]|\bsays?\b|\bwrote\b", lead):
        return re.sub(r"^(?:and|but|so|then|please)\s+", "", rule, flags=_I)
    return core


def _weak(core: str) -> Act | None:
    """Return an act without an explicit marker. Any reference to the present moment rules it out."""
    if moment.binds(core):
        return None
    if _PREFERS.search(core):
        fixed = re.search(
            r"\boption|\bversion|\bvariant|opci[oó]n|opção|вариант|方案|"
            r"prefer(?:ence is)? (?:the|that|this|it|you|to (?:do|see|have) (?:it|this|that))\b|\bfor the \w+",
            core,
            _I,
        )
        return None if fixed or size(core) < 3 else Act(core, Kind.PREFERENCE, Polarity.DO, "preference")
    if _AT_EACH_STEP.search(core) and _ORDERS.search(core) and not _BUILDS_A_STEP.match(core):
        return _rule(core, "says when")
    if _SCOPE.search(core) and not (moment.reports(core) or _TASK.search(core)):
        inner = _SCOPE.sub("", core, count=1).strip(" ,:，")
        if _IMPERATIVE.match(inner) or _HABIT.search(core) or _IS.search(inner):
            return _rule(core, "holds in this project")
    if (
        _NORM.match(core)
        and not _ONE_TASK.search(core)
        and re.search(
            r"^(?!.*\bI\b).*\b(?:must|has to|have to|always|never|may|muss|müssen|darf|doit|doivent|debe|deben|deve|devem|"
            r"долж\w+|обязан\w*)\b",
            core,
            _I,
        )
    ):
        return _rule(core, "stated as a rule")
    if _DONT_LASTING.match(core) and size(core) >= 4 and not re.search(r", (?:I|I'm|I've|my)\b", core):
        return _rule(core, "stated as a rule")
    if _STYLE.match(core) and size(core) >= 4:
        return _rule(core, "says how things are written")
    return _decided(core) or _reasoned(core) or _stated(core)


# Expresses an action or a desired state. With a reason, it applies beyond the current task.
_PRESCRIBES = later(
    r"^(?:(?:do not|don'?t|dont|avoid|never|use|keep|prefer|store|name|write|leave|put|make sure)\b|(?:we|you|it|they|"
    r"the [\w -]{1,40}?) "
    r"(?:should(?:n'?t)?|must(?:n'?t)?|need(?:s)? to|has to|have to|can'?t|cannot|shouldn't)\b|(?:I(?:'d)? (?:do not|"
    r"don'?t )?want|I would (?:replace|keep|"
    r"use|prefer|rather))\b|(?:I think )?(?:it'?s|it is|its) (?:better|safer|best)(?: not)? to\b|(?:there'?s |"
    r"there is )?no need (?:to|for)\b|"
    r"only \S+|wir (?:sollten|müssen|dürfen)|(?:nutze?|verwende?|benutze?|vermeide?|lass)\b|(?:utilise|évite|garde|"
    r"il (?:faut|vaut mieux))\b|on (?:doit|"
    r"devrait)|(?:usa|evita|mantén|hay que|debemos|mejor|deve(?:mos)?)\b|(?:не надо|не нужно|лучше|надо|нужно|нельзя|"
    r"используй(?:те)?|не )|"
    r"(?:我觉得|我们)?.{0,12}(?:没有?必要|不需要|不用|不要|应该|必须|最好|可以使?用|统一)|.{2,30}(?:べき|ください|必要(?:は)?(?:ない|ありません))|"
    r".{2,30}(?:해야|하지 ?마|필요(?:가)? 없))",
    _I,
)
# An explicit reason. "As" and "so" alone are ambiguous.
_BECAUSE_OF = later(
    r"\b(?:because|since (?:we|it|the|they|that|our|users?)|as (?:that|it|they|this|the|we|users?) \w+s?\b|so that|otherwise|"
    r"given (?:that|the)|that'?s why|due to|to avoid|to prevent|for (?:backwards? compatibility|privacy|security|"
    r"performance)|weil|damit|sonst|"
    r"parce qu\w*|car|sinon|pour éviter|porque|ya que|para (?:que|evitar)|pois|para não|потому что|так как|чтобы|иначе)\b|"
    r"因为|由于|否则|以免|避免|以便|这样|ため|ので|から|때문|니까|위해",
    _I,
)


# A reason before its consequence, as in "Given the privacy focus, …" and "Because users share links, …".
_REASON_FIRST = later(
    r"^(?:given|because|since (?!(?:when|then|last|yesterday|\d))|as (?:we|our|the|users?)\b|due to|to (?:avoid|prevent)|"
    r"weil|da (?:wir|die|der|das|es)\b|wegen|comme|puisque?|vu (?:que|le|la)\b|como|ya que|dado que|debido a|já que|"
    r"так как|поскольку|чтобы|из-за)\b[^.!?,]{8,120},\s*|^(?:因为|由于|为了)[^。！？，,]{3,60}[，,]\s*",
    _I,
)
# "I think it is better not to …" is a wish.
_THINKS = later(
    r"^(?:(?:so|then)\s+)?(?:I (?:do )?(?:think|believe|feel)(?: that)?|我(?:觉得|认为)|ich (?:finde|denke),?)\s*", _I
)


def _reasoned(core: str) -> Act | None:
    """Return a wish or norm with its reason. Momentary wishes rarely have one."""
    lead = _REASON_FIRST.match(core)
    reason = None if lead else _BECAUSE_OF.search(core)
    wish = _THINKS.sub("", core[lead.end() :]) if lead else core
    if (
        not (lead or (reason is not None and reason.start() >= 12))
        or not _PRESCRIBES.match(wish)
        or not 8 <= size(core) <= 40
        or not (_NAMES.search(core) or CJK.search(core) or len(keywords(core)) >= 5)
        or moment.reports(core)
        or moment.asks(core)
        or _TRANSIENT.search(core)
        or re.search(r"\bI (?:can|could|need to|have to|am|will|'ll)\b|\b(?:me|them) (?:see|know|check|test|look)\b", core, _I)
    ):
        return None
    return Act(core, Kind.DECISION, Polarity.DONT if is_negative(core) else Polarity.DO, "wish with its reason")


def _decided(core: str) -> Act | None:
    named = bool(_NAMES.search(core)) or CJK.search(core) is not None
    if _DECIDED.search(core) and size(core) >= 6 and (named or _REASON.search(core)) and not moment.reports(core):
        return Act(core, Kind.DECISION, Polarity.KNOW if _against(core) else Polarity.DO, "decision")
    if _CHANGED.search(core) and size(core) >= 4 and named and not moment.reports(core):
        return Act(core, Kind.DECISION, Polarity.KNOW, "what has changed")
    if _CHOOSES.match(core) and _REASON.search(core) and named and size(core) >= 6:
        return Act(re.sub(r"^let'?s ", "", core, flags=_I), Kind.DECISION, Polarity.DO, "decision with its reason")
    if _TRIED.search(core) and _REASON.search(core) and size(core) >= 8 and (named or len(keywords(core)) >= 4):
        return Act(core, Kind.DEAD_END, Polarity.KNOW, "dead end with its reason")
    return None


def _against(core: str) -> bool:
    return bool(re.search(r"\b(?:against|ruled out|not to|gegen|contre|contra|против|не )\b|不", core, _I))


# Openings of sentences that hedge or describe a single case. General facts start with their subject.
_SETS_A_SCENE = re.compile(
    r"(?:for|in|when|if|with|after|before|as|while|during|bei|in|wenn|falls|nach|vor|soweit|pour|dans|quand|si|après|avant|"
    r"en|cuando|después|antes|para|por|que yo sepa|em|quando|depois|для|в|во|если|когда|после|перед|при|насколько)\b|"
    r"(?:在.{0,20}(?:时|中|里)|如果|当|对于|据我)|\S{0,20}(?:とき|場合)|만약",
    _I,
)
# A description of something on the user's screen is a bug report rather than a fact.
_SYMPTOM = re.compile(
    r"\b(?:is|are|was|were)(?: not|n't)? (?:shown|displayed|visible|rendered|hidden|missing|broken|cut off)\b|"
    r"\b(?:doesn't|does not|don't|do not) (?:show|appear|load|render|work)\b|\bthere (?:is|are) no\b|"
    r"\b(?:wird|werden) (?:nicht )?angezeigt\b|\bne s'affiche\b|\bno (?:aparece|se muestra)\b|не (?:отображается|показывается)|"
    r"(?:不|没有?)(?:显示|出现)|表示され(?:ない|ません)",
    _I,
)
_COMMAND_LINE = re.compile(r"\b(?:run|execute|install|type|call)\b.{0,60}(?: --?\w|\.py\b|\.sh\b)", _I)


def _stated(core: str) -> Act | None:
    """Return a fact about the user's team, project or machine."""
    if (
        moment.reports(core)
        or _SETS_A_SCENE.match(core)
        or _SYMPTOM.search(core)
        or _COMMAND_LINE.search(core)
        or size(core) < 4
        or _TRANSIENT.search(core)
        or re.search(
            r"\b(?:is|are|was) \w+ing\b|\bshould\b|\bwill be\b|\bwould\b|\bI (?:want|need|think|guess)\b|\bmaybe\b|\bplease\b",
            core,
            _I,
        )
    ):
        return None
    named, more = bool(_NAMES.search(core)), bool(_TELLS_MORE.search(core))
    if _HABIT.search(core) and (named or more) and size(core) >= 5:
        return _rule(core, "what the team does")
    swap = _SWAP.match(core)
    if swap:
        names = {value.lower() for value in swap.groupdict().values() if value}
        return None if names & _DETERMINER else Act(core, Kind.DECISION, Polarity.DO, "one thing instead of another")
    if _OWNED.search(core) and not re.search(r"\bI'?(?:ll|m)?\b|\b(?:this|that|it)\b[,.]?$|\bowns (?:this|that|it)\b", core):
        return Act(core, Kind.FACT, Polarity.KNOW, "who is responsible")
    if _PERSONAL.search(core) and size(core) >= 4:
        return Act(core, Kind.ENVIRONMENT, Polarity.KNOW, "about the user's machine")
    if _CONTRASTED.match(core) and named and size(core) >= 6:
        return Act(core, _state_of(core), Polarity.KNOW, "one thing, not the other")
    if _ENV.search(core) and (named or more) and size(core) >= 5:
        return Act(core, _state_of(core), Polarity.KNOW, "environment")
    return None


def _corrected(sentence: str, core: str, before: str) -> Act | None:
    """Return a correction that mentions both the old and the new value."""
    said = corrected(sentence, before)
    if not 4 <= size(core) <= 40 or moment.reports(said) or moment.asks(core):
        return None
    if re.search(r"\b(?:this|that) (?:one|file)|\bthe other\b", core, _I):
        return None
    specific = re.search(r"\d|`[^`]+`|\w[./_-]\w|[a-z][A-Z]", core)
    if _DENIES.match(sentence) and _CONTRAST.search(core) and specific and not re.match(r"(?:don'?t|do not|not)\b", core, _I):
        return Act(said, _state_of(said), Polarity.KNOW, "correction")
    values = re.findall(r"[\w-]*\d[\w-]*|`[^`]+`|[\w-]+[./][\w./-]+|\b[a-z]+[A-Z]\w*", core)
    if _NO_LONGER.search(core) and len(set(values)) >= 2 and not moment.asks(core):
        return Act(core, _state_of(core), Polarity.KNOW, "correction")
    return None


def corrected(text: str, before: str) -> str:
    """Return a correction without its denial. The subject comes from the corrected text `before`."""
    match = _DENIAL.match(text)
    rest = text[match.end() :] if match else text
    if size(rest) < MIN_WORDS - 1:
        return text
    pronoun = _PRONOUN.match(rest)
    about = _about(rest, before) if pronoun else ""
    if pronoun is None:
        return rest
    if not about:
        return text
    return f"{about}{' is' if pronoun['is'] else ''}{rest[pronoun.end() :]}"


def _about(correction: str, before: str) -> str:
    """Return the subject of the last claim that contains the rejected value, or an empty string."""
    wrong = _WRONG_VALUE.search(correction)
    if not wrong:
        return ""
    value = re.compile(rf"(?<![\w.]){re.escape(wrong['value'])}(?!\w)", re.IGNORECASE)
    claims = [_ABOUT.match(claim.text) for claim in statements(before) if value.search(claim.text)]
    subjects = [match["about"] for match in claims if match]
    return f"{subjects[-1][:1].upper()}{subjects[-1][1:]}" if subjects else ""


_ENVIRONMENT = later(
    r"\b(?:localhost|docker|ports?|hosts?|servers?|proxy|vpn|ssh|sudo|tty|shell|staging|production|sandbox|account|"
    r"keyboard|laptop|database|cores?|ram|runner|"
    r"env(?:ironment)?|version|installed|python ?\d|node ?\d|macos|windows|linux|wsl|homebrew|brew|hook|ci|machine|"
    r"\d{1,3}(?:\.\d{1,3}){3})\b|:\d{4,5}\b|"
    r"\b(?:datenbank|rechner|umgebung|serveur|environnement|servidor|entorno|ambiente|сервер\w*|окружени\w*|баз\w*)\b|"
    r"环境|镜像|端口|服务器|数据库|環境|サーバー|서버|환경|포트",
    _I,
)


def _state_of(text: str) -> Kind:
    return Kind.ENVIRONMENT if _ENVIRONMENT.search(text) else Kind.FACT


def _rule(text: str, reason: str) -> Act:
    return Act(text, Kind.RULE, Polarity.DONT if is_negative(text) else Polarity.DO, reason)


_TAIL = later(
    r",? (?:by the way|btw|please|thanks|thank you|übrigens|bitte|danke|merci|au fait|gracias|por cierto|кстати)[.!]?$", _I
)


def worded(text: str) -> str:
    """Format the text as a sentence ending with a full stop.

    It starts with a capital letter, unless its first word is a name in code.
    """
    text = _TAIL.sub("", without_openers(text.strip()).strip().rstrip(" :：,;，；-—"))
    head = text[:1]
    if head.isascii() and head.islower() and re.match(r"[a-z]+(?:'[a-z]+)?[ ,]", text):
        text = head.upper() + text[1:]
    if not text or text[-1] in ".!?。！？…`\"')":
        return text
    return text + ("。" if CJK.match(text[-1]) else ".")


def is_rule(text: str) -> bool:
    """Return whether a sentence is an act of memory that prescribes something."""
    act = act_of(text)
    return act is not None and act.kind in (Kind.RULE, Kind.PREFERENCE)


def is_correction(text: str) -> bool:
    """Return whether the text rejects a claim and mentions both values, as in "No, it is on 5544, not on 5432"."""
    return _corrected(text, without_openers(text), "") is not None


# A message of the user

_JOKE = later(
    r"\b(?:(?:ha){2,}h?|lo+l|lmao|rofl|jk|kidding|jaja\w*|mdr|ptdr|kkk+|хаха\w*)\b|[😂🤣😅😆😜]|哈哈|呵呵|ㅋㅋ|ｗｗ", _I
)
_SPLIT = later(
    r"(?:\s{0,8}[;；]\s{0,8}|,?\s{1,8}(?:and|but|und|aber|et|mais|y|pero|e|mas|и|но|а)\s{1,8}|,\s{1,8}|"
    r"[，、]\s{0,8}(?:但|而且)?)"
    r"(?=(?:please )?(?:always|never|don'?t|do not|only use|use|avoid|immer|niemals|nie|vermeide|verwende|benutze|"
    r"toujours|jamais|ne |n'|évite|utilise|siempre|nunca|evita|usa|"
    r"sempre|evite|use|всегда|никогда|не |используй)\s*(?!(?:the|ever|and)\b)\w+ \w+|(?:永远|绝对?)?(?:不要|别|禁止|"
    r"不能)\S{3}|(?:必须|务必|一律|始终|总是)\S{3})",
    _I,
)


# A part such as "never edit it yourself" can't be understood without the one before.
_REFERS_BACK = later(r"\b(?:edit|change|touch|modify|delete|commit|use|run|call|import) (?:it|them)\b", _I)


def split_rules(sentence: str) -> list[str]:
    """Split a sentence into rules if it contains both an instruction and a prohibition."""
    parts = [part.strip() for part in _SPLIT.split(sentence) if part.strip()]
    if len(parts) < 2 or any(size(part) < 3 for part in parts) or any(_REFERS_BACK.search(part) for part in parts[1:]):
        return [sentence]
    signs = [is_negative(without_openers(part)) for part in parts]
    if len(set(signs)) < 2:
        return [sentence]
    # Don't split after a leading condition or scope, because it applies to all parts.
    out = [parts[0]]
    for part, last, sign in zip(parts[1:], signs, signs[1:], strict=False):
        if sign == last:
            out[-1] = f"{out[-1]}, {part}"
        else:
            out.append(part)
    return out


def acts_of(texts: Sequence[str], before: str = "") -> Iterator[Act]:
    """Yield the acts in a message. Messages that joke or quote rules yield none."""
    if any(_JOKE.search(text) for text in texts):
        return
    for text in texts:
        if quotes_a_rule(text):
            continue
        parts = split_rules(text)
        acts = [act_of(part, before) for part in parts]
        if None in acts:
            # Parts that are incomplete on their own belong together.
            acts = [act_of(text, before)]
        yield from (act for act in acts if act is not None)


_QUOTED = later(
    r"\"[^\"]{8,300}\"|“[^”]{8,300}”|„[^“”]{8,300}[“”]|«[^»]{8,300}»|「[^」]{8,300}」|`[^`]{20,300}`|"
    r"(?<!\w)'[^']{20,300}'(?!\w)"
)


def quotes_a_rule(text: str) -> bool:
    """Return whether a rule occurs only within quotation marks.

    Quoted pages and files don't express the user's wishes.
    """
    quoted = [part[1:-1] for part in _QUOTED.findall(text)]
    rest = _QUOTED.sub(" ", text)
    return any(says_it_lasts(part) for part in quoted) and not says_it_lasts(without_openers(rest))


def says_it_lasts(text: str) -> bool:
    """Return whether the text contains a word that marks a statement as lasting, whoever the speaker is."""
    return bool(_STANDING.search(text) or _ALWAYS.search(text) or _ALWAYS_OTHER.search(text) or _REMEMBER.match(text))
