"""Findings of the assistant: root causes with fixes, dead ends with reasons, and retractions. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memoryd.core.text import dice, keywords, shorten
from memoryd.core.types import Kind, Polarity, TurnKind
from memoryd.daydream.offline import cues
from memoryd.daydream.offline.acts import worded
from memoryd.daydream.offline.sentences import Episode, Sentence, size
from memoryd.daydream.offline.units import PASTE_CHARS, Unit
from memoryd.language.cues import negations
from memoryd.language.patterns import later
from memoryd.language.stems import roots

# Claims of the assistant that are refuted: corrected by the user, or contradicted by a later statement.

# Minimum token F1 with an opposite statement and with a correction, and the number of later statements to compare.
OPPOSED, CORRECTED = 0.5, 0.3
WINDOW = 400
_FIXED_SYMPTOM = re.compile(
    r"\b(?:now|fixed|added|updated|changed|restored|works?|will)\b|现在|已|修复|теперь|jetzt|maintenant|ahora", re.IGNORECASE
)
_CORRECTS = re.compile(
    r"^(?:no\b|nope|wrong|actually|not (?:the|that|true|quite)|that'?s (?:not|wrong)|thats (?:not|wrong)|but (?:this|"
    r"that|it|the)|this should|you (?:forgot|missed|misunderst)|I mean|"
    r"nein|falsch|non\b|faux|нет|неправильно|не так)|\bshould ?n[o']t be|\bdoes ?n[o']t work\b|\binstead\b|"
    r"^(?:不[，,。是对]|不对|错了|其实|为什么(?:是|不是))|而不是",
    re.IGNORECASE,
)


def opposed(units: Sequence[Unit]) -> set[int]:
    """Return the indexes of assistant claims that a later statement contradicts in almost the same words."""
    negated = [negations(unit.text) > 0 for unit in units]
    out: set[int] = set()
    for index, unit in enumerate(units):
        if unit.by_user or unit.cues & {"root cause", "fix"}:
            continue
        later = range(index + 1, min(len(units), index + WINDOW))
        if any(negated[k] != negated[index] and _opposes(units[k], unit) for k in later):
            out.add(index)
    return out


def _opposes(later: Unit, unit: Unit) -> bool:
    """Return whether the later statement contradicts the earlier one.

    Neither fixes nor questions count as contradictions.
    """
    if later.turn is unit.turn or dice(unit.words, later.words) < OPPOSED:
        return False
    return not _FIXED_SYMPTOM.search(later.text) and "noise question" not in later.cues


def corrections(parts: Sequence[Episode]) -> dict[int, frozenset[str]]:
    """Map the id of each corrected assistant turn to the keywords of the user's correction."""
    out: dict[int, frozenset[str]] = {}
    for part, following in zip(parts, parts[1:], strict=False):
        said = [t.text for t in following.user if len(t.text) <= PASTE_CHARS and _CORRECTS.search(t.text)]
        replies = [t for t in following.rest if t.kind is TurnKind.ASSISTANT]
        if said and replies and cues.AGREEMENT.search(replies[0].text[:80]):
            words = frozenset(keywords(" ".join(said)))
            out |= {id(t): words for t in part.rest if t.kind is TurnKind.ASSISTANT}
    return out


def refuted(units: Sequence[Unit], parts: Sequence[Episode]) -> set[int]:
    """Return the indexes of refuted units, which should not be kept."""
    answers = corrections(parts)
    corrected = {i for i, u in enumerate(units) if dice(u.words, answers.get(id(u.turn), frozenset())) >= CORRECTED}
    return corrected | opposed(units)


_I = re.IGNORECASE
MAX_CHARS = 560
# Number of sentences after a cause in which to search for a fix.
REACH = 3
MAX_LISTED = 2
# Number of words that a separate fix must share with its cause.
SHARED = 2

_LABEL = later(
    r"^(?:(?:so |and )?(?:the |found the |found it: ?the )?(?:actual |real |true |underlying )?(?:root cause|"
    r"culprit)\b.{0,30}?(?:[:：—–-]|\bis\b|\bwas\b)|"
    r"(?:cause|problem|issue|reason|diagnosis|why it (?:failed|broke|happened)|(?:key|important|main) (?:finding|insight))"
    r"\s*[:：—–]|(?:the )?(?:cause|reason) (?:is|was)\b|"
    r"(?:the )?(?:(?:actual|real|underlying) )?(?:issue|problem|bug|error|failure|fault|crash) (?:is|was) (?:that|"
    r"caused|due|in)\b|"
    r"(?:die )?(?:grund)?ursache\b.{0,20}?(?:[:—–]|\bist\b|\bwar\b)|(?:la )?cause(?: racine)?\b.{0,20}?(?::|\best\b|"
    r"\bétait\b)|(?:la )?causa(?: raíz| raiz)?\b.{0,20}?(?::|\bes\b|\bera\b|\bé\b)|"
    r"(?:корневая )?причина\b.{0,20}?(?:[:—–]|\bв том\b|\bбыла\b)|根(?:本原)?因(?:是|在于|[:：])|(?:问题|失败|"
    r"报错)?(?:的)?原因(?:是|在于|[:：])|问题(?:出)?(?:在于|是因为)|原因は|"
    r"問題は.{2,60}(?:こと|ため)|원인은|문제는 .{2,60}(?:때문|것)|"
    r"(?:el|o) problema (?:es|era|é) (?:que|el|la|o|a)\b|(?:le|das) (?:problème|problem) (?:est|était|ist|war)\b|"
    r"(?:проблема|дело) (?:был[ао] )?в том)",
    _I,
)
_ROOT = re.compile(
    r"\broot cause\b|\bculprit\b|\bgrundursache\b|\bcause racine\b|\bcausa ra[ií]z\b|\bкорневая причина\b|根(?:本原)?因|"
    r"根本原因|근본 ?원인",
    _I,
)
_TROUBLE = (
    r"slow\w*|grew|gr[oe]w\w*|fail\w*|crash\w*|break\w*|broke\w*|hang\w*|hung|error\w*|wrong|off by|missing|lost|"
    r"leak\w*|timed? ?out|"
    r"timeouts?|empty|duplicat\w*|stale|reject\w*|refus\w*|"
    r"ignor\w*|corrupt\w*|flak\w*|not (?:work\w*|found|load\w*|start\w*|show\w*|fire\w*|sent|run\w*)|n't (?:work|load|"
    r"start|show|fire|run|match|find|connect|appear|update)\w*|"
    r"\b[45]\d\d\b|denied|blocked|unreachable|drift\w*|overflow\w*|logged out|undefined|null|race|deadlock\w*|"
    r"too (?:long|big|large|many)|"
    r"langsam|schlug|schlägt|fehl\w*|hängt|stürzt|lent\w*|échou\w*|plant\w*|bloqu\w*|lent[oa]|falla\w*|falló|falha\w*|"
    r"falhou|travav?a|медленн\w*|пада\w*|упал\w*|ошибк\w*|завис\w*"
)
_BECAUSE = later(
    rf"\b(?:{_TROUBLE})\b[^.!?]{{0,160}}?(?:\b(?:because|since|due to)\b|\b(?:weil|wegen|da)\b|\b(?:parce qu\w*|car|"
    rf"à cause)\b|\b(?:porque|ya que|debido a|devido a|pois)\b|"
    r"(?:потому что|так как|из-за))|\b(?:was|were|is) caused by\b|"
    r"(?:慢|失败|报错|崩溃|卡住|出错|丢失|不生效|超时)[^。]{0,60}(?:因为|由于)|(?:因为|由于)[^。]{2,80}(?:导致|"
    r"所以)[^。]{0,40}(?:慢|失败|报错|崩溃|卡|错|丢|超时|不)|"
    r"(?:遅い|失敗|エラー|落ち)[^。]{0,60}(?:ため|から|原因)|(?:ため|ので)[^。]{0,40}(?:失敗|エラー|遅|落ち)|(?:느린|"
    r"실패|오류|에러)[^.]{0,60}(?:때문|원인)|때문에[^.]{0,40}(?:실패|느리|오류|에러)",
    _I,
)
_CURE = later(
    r"\b(?:fix(?:es|ed)?(?: (?:it|this|that|the|by|with|in)|\s*[:：—–])|(?:the |that'?s the )?fix (?:is|was)\b|"
    r"solv(?:es|ed) (?:it|this|the)|resolv(?:es|ed) (?:it|this|the|by)|(?:solution|workaround|cure|remedy)\s*(?:[:：—–]|"
    r"is\b|was\b)|"
    r"(?:it|this|that|which) now \w+|now (?:gets?|takes?|has|is|goes|uses?|reads?|sums?|passes|waits|returns|closes|"
    r"sends|checks|retries|sorts|"
    r"writes|keeps|runs|sets|caches|loads|rounds|builds|works)\b|"
    r"(?:\w+ ){1,3}now (?:only )?[a-z]+s\b|"
    r"I(?:'ve| have)? (?:changed|replaced|switched|added|set|moved|pinned|raised|removed|wrapped|increased|rewrote|"
    r"disabled|enabled|"
    r"made|patched|upgraded|downgraded|renamed|excluded)\b|"
    r"\w+ing (?:\S+ ){0,8}?(?:fixes|fixed|solves|solved|resolves|brings|brought|cuts|cut|helps|helped|avoids|cures|"
    r"makes it)\b|(?:brings|brought|cuts?|drops?|dropped) (?:it|this|the \w+)(?: \w+)? (?:down )?(?:from|to)\b|"
    r"works? (?:after|once)\b|with \S+ (?:it|they|"
    r"everything) (?:works|passes|runs)|went (?:down )?from|"
    r"behebt|behoben|gelöst|lösung|hilft|jetzt \w+t\b|corrige|corrigé|résout|résolu|règle le|solution|maintenant \w+|"
    r"soluciona|solucionado|corregido|arregla\w*|se arregló|lo resuelve|ahora \w+|"
    r"corrigido|resolve(?:u)?|agora \w+|исправл\w*|исправил\w*|решает|решено|помогает|помогло|теперь \w+)\b|修复|修好|"
    r"解决|改为|改成|换成|改用后|加上.{0,20}后|現在は|修正|直り|直った|解決|수정|해결|고쳤",
    _I,
)
_DEAD = later(
    r"\b(?:can(?:not|'t) be used|can(?:not|'t) use|does(?: not|n'?t) (?:work|support)|did(?: not|n'?t) work|won'?t work|"
    r"is(?: not|n'?t) (?:possible|supported|compatible|usable)|not an option|"
    r"dead end|ruled out|incompatible|impossible|funktioniert (?:hier )?nicht|geht (?:hier )?nicht|"
    r"unterstützt .{0,30}nicht|ne (?:marche|fonctionne|supporte|convient) pas|impossible|"
    r"no (?:funciona|sirve|soporta|se puede usar)|não (?:funciona|suporta|dá para usar|serve)|не (?:работает|подходит|"
    r"поддерживает|годится))\b|行不通|用不了|不能用|无法使用|不支持|不可行|"
    r"使えない|使えません|動きません|対応していない|サポートしていない|쓸 수 없|사용할 수 없|지원하지 않|안 됩니다",
    _I,
)
_WHY = later(
    r"[:：—–] ?\S|\b(?:because|since|as it|as they|due to|weil|denn|da (?:es|sie|das)|parce qu\w*|car|porque|ya que|"
    r"pois|потому что|так как|из-за)\b|因为|由于|ため|ので|から|때문",
    _I,
)
_BACK = later(
    r"\b(?:revert(?:ed)?|went back|going back|rolled back|backed out|undid|switched back|abandon(?:ed)?|gave up|dropped|"
    r"stay(?:ed|ing)? (?:on|with)|kept|instead|zurück(?:gesetzt|gerollt|genommen|gestellt)?|"
    r"bin wieder|revenu|annulé|volví|revertí|he vuelto|voltei|reverti|откатил\w*|вернул\w*)\b|回退|回滚|撤回|退回|改回|"
    r"換回|戻し|되돌",
    _I,
)
_UNSURE = later(
    r"\b(?:might|may (?:be|have|need)|maybe|perhaps|probably|likely|possibly|could be|could have|seems?|appears?|"
    r"i (?:think|suspect|believe|guess|assume)|hypothesis|theory|presumably|"
    r"let me|let's|i'll|i will|i'm going to|should (?:now )?(?:fix|work|help)|would (?:fix|be)|if (?:the|this|that|it)|"
    r"vielleicht|wahrscheinlich|vermutlich|könnte|ich werde|"
    r"peut-être|probablement|sans doute|je vais|quizás|tal vez|probablemente|puede que|voy a|talvez|provavelmente|vou|"
    r"возможно|вероятно|наверное|кажется|сейчас я|давай)\b|"
    r"可能|也许|大概|应该是|似乎|让我|我来|我先|接下来|かもしれ|おそらく|たぶん|아마|것 같|[?？]\s*$",
    _I,
)
_SPECIFIC = later(
    r"`[^`]+`|\d|[\w-]{1,60}[/_.]\w|\b[a-z]{1,40}[A-Z]\w*|\b[A-Z]{2,}\b|(?<!^)(?<![.!?] )\b[A-Z]\w+|"
    r"(?<=[一-鿿ぁ-ヿ가-힣])\s?[A-Za-z]\w+|--\w+|\b\w{1,40}-\w{1,40}\b"
)
_TAKES_BACK = later(
    r"\b(?:(?:that|this|it|my(?: [\w'-]+){1,10}|the (?:earlier|previous|first|initial|original)(?: [\w'-]+){1,10}) "
    r"(?:was|is|were|turned out to be) (?:wrong|incorrect|mistaken|not right|a red herring|false)|"
    r"(?:was|is|were|had) (?:never|not) (?:really |actually )?"
    r"(?:the (?:real |root |actual )?(?:problem|cause|culprit|reason|issue)|to blame)|"
    r"(?:had|has|have) nothing to do with|(?:wasn|isn|weren)'t (?:to blame|at fault)|"
    r"i was (?:wrong|mistaken)|i (?:take back|retract|withdraw)|ich nehme .{0,60}zurück|je retire|me retracto|"
    r"i misdiagnosed|scratch that|correction:|(?:is|was|were|does|did|do) ?(?:not|"
    r"n't) .{0,60}(?:after all|the (?:root )?cause)|"
    r"not the (?:real |actual )?(?:root )?cause|red herring|das war falsch|ich lag falsch|doch nicht|"
    r"je me suis trompée?|c'était (?:faux|une erreur)|finalement ce n'est pas|"
    r"me equivoqué|estaba equivocad[oa]|era incorrecto|al final no|eu estava errad[oa]|estava errado|me enganei|"
    r"я ошиб(?:ся|лась)|это было неверно|оказалось,? что (?:это )?не)\b|"
    r"(?:之前|刚才)?(?:我)?(?:判断|说|搞|弄|分析)?错了|之前的(?:判断|分析|结论)(?:是错|有误|不对)|并不是(?:根因|原因)|"
    r"間違って(?:い|ました)|誤りでした|잘못 (?:봤|짚|판단)|틀렸",
    _I,
)
_ERROR_ECHO = later(r"^\s*(?:[{\[]|API Error\b|Error:|error:|<\w+>)")


# Slips that the assistant fixed at once, and formatting done by a tool. Nobody needs these later.
_TRIVIAL_FIX = later(
    r"\b(?:because|since|as|that) I (?:\w+ )?(?:used|forgot|had|renamed|removed|changed|wrote|passed|left|missed|put|"
    r"typed|did)\b|"
    r"\bmy (?:previous|last|own|earlier) \w+|\b(?:typos?|semicolons?|unused|prettier|formatting|snapshot|lint\w*|indentation|"
    r"not unique|new commits|import statement|missing import)\b|"
    r"\b(?:ich (?:hatte|habe)|j'avais|je n'ai pas|yo había|eu tinha|я (?:забыл|опечатал))|我(?:忘|写错|漏)",
    _I,
)
_LEAD_IN = later(r"^(?:found it|got it|there it is|aha|ok(?:ay)?|great|perfect|so|good news)\s*[:,.!—–-]+\s*", _I)
# The assistant asks the user to do something.
_ORDERS = later(
    r"^(?:(?:now|then|next|so|please|first|try|you (?:can|should|need|may|could))\b|"
    r"(?:rebuild|run|restart|delete|open|check|set|use|add|install|retry|reload)\b)",
    _I,
)


_LEANS = later(
    r"^(?:(?:this|that|it|these|those|they|both|step \d|i (?:see|understand|can))\b|(?:line|option|test|case) \d)|"
    r"\b(?:you(?:'re| are) (?:seeing|getting|confirming)|as you (?:said|saw)|see above|above)\b|"
    r"\blines? \d{1,6}\b|[:：]$",
    _I,
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding to store as one memory: a problem with its fix, or with the reason why it can't be solved.

    `indexes` are the positions of its sentences.
    """

    text: str
    kind: Kind
    polarity: Polarity
    indexes: tuple[int, ...]
    complete: bool


# The user reports that a problem is gone.
_CONFIRMS_FIX = later(
    r"^\W*(?:(?:yes|yep|yeah|ok(?:ay)?|great|perfect|nice|awesome|cool|thanks?|thank you|super|genial|да|отлично|好的?|太好了)"
    r"[\s,.!—–-]+){0,3}(?:(?:that|it|this|all|everything)(?:'s| is| has)? (?:all )?(?:works?|worked|fixed|solved|fixes|did it|"
    r"did the trick|resolved|gone|working)\b|(?:it )?works? (?:now|fine|again|great|perfectly)|works?[.!]|(?:fixed|solved)[.!]|"
    r"(?:das|es|jetzt) (?:geht|funktioniert|läuft|klappt)(?! nicht)|(?:ça|maintenant ça) (?:marche|fonctionne)(?! pas)|"
    r"(?:ya |ahora )funciona|(?:agora )funcion(?:a|ou)|(?:теперь |всё )?(?:работает|заработало|помогло)|(?:现在)?(?:可以了|好了|"
    r"能用了|正常了|成功了|解决了)|(?:動きました|直りました|解決しました)|(?:됩니다|잘 돼|해결됐))",
    _I,
)
_BUT = later(r"\bbut\b|\bstill\b|\bexcept\b|\baber\b|\bmais\b|\bpero\b|\bmas\b|\bно\b|但|不过|还是|でも|하지만|[?？]", _I)
# In a longer message, a confirmation is often the start of another report.
CONFIRM_CHARS = 160


def confirms_fix(text: str) -> bool:
    """Return whether a short user message says that the problem is solved."""
    return len(text) <= CONFIRM_CHARS and bool(_CONFIRMS_FIX.match(text)) and not _BUT.search(text)


def is_echo(text: str) -> bool:
    """Return whether an assistant text merely repeats an error message or data."""
    return bool(_ERROR_ECHO.match(text)) and text.rstrip().endswith(("}", "]")) or text.lstrip().startswith("API Error")


def is_retraction(text: str) -> bool:
    """Return whether a sentence retracts an earlier statement."""
    return bool(_TAKES_BACK.search(text))


def is_wrong_cause(claim: str, taken_back: str, least: int = 1) -> bool:
    """Return whether a claim gives a cause that a later sentence retracts.

    They must share at least `least` words, not counting generic words about causes, or all of the retraction's: "I was
    mistaken about the CDN" says no more.
    """
    about = roots(taken_back) - _OF_CAUSES
    shared = roots(claim) & about
    return names_cause(claim) and bool(shared) and (len(shared) >= least or shared == about)


_OF_CAUSES = roots(
    "root cause wrong mistaken mistake incorrect real really actual actually earlier earliest previous problem issue"
)


def is_unsure(text: str) -> bool:
    """Return whether a sentence is a guess or a plan."""
    return bool(_UNSURE.search(text))


def is_root_cause(text: str) -> bool:
    """Return whether a sentence explicitly identifies a root cause. "Reason:" alone is too general."""
    return bool(_ROOT.search(text))


def names_cause(text: str) -> bool:
    """Return whether a sentence gives the cause of a failure."""
    return bool(_LABEL.match(text) or _BECAUSE.search(text))


def find_fix(parts: Sequence[Sentence], cause: str) -> str:
    """Return the first sentence that describes the fix for a cause and is about the same things.

    Return an empty string if there is none.
    """
    named = roots(cause)
    for part in parts:
        shared = named & roots(part.text)
        if _CURE.search(part.text) and len(shared) >= SHARED and not is_unsure(part.text) and not part.text.endswith((":", "：")):
            return worded(_LEAD_IN.sub("", part.text))
    return ""


def stands_alone(text: str) -> bool:
    """Return whether a finding can be understood without the screen or the current step."""
    return not _LEANS.search(text)


def findings(parts: Sequence[Sentence]) -> Iterator[Finding]:
    """Yield the findings in an assistant text: root causes with fixes, and dead ends with reasons."""
    used: set[int] = set()
    for index, part in enumerate(parts):
        if index in used or is_unsure(part.text) or not 4 <= size(part.text) <= 60:
            continue
        found = _dead_end(parts, index) or _cause(parts, index) or _limit(parts[index], index)
        if found is not None:
            used |= set(found.indexes)
            yield found


def _dead_end(parts: Sequence[Sentence], index: int) -> Finding | None:
    text = parts[index].text
    match = _DEAD.search(text)
    if not match or size(text) < 6 or text.lower().startswith(("it ", "this ", "that ", "they ")):
        return None
    after = index + 1
    back = after < len(parts) and bool(_BACK.search(parts[after].text))
    if not (_WHY.search(text[match.start() :]) or _BECAUSE.search(text)) or not (back or _BACK.search(text)):
        return None
    indexes = (index, after) if back else (index,)
    return Finding(_joined(parts, indexes), Kind.DEAD_END, Polarity.DONT, indexes, complete=True)


# A limitation of one thing that mentions another.
_LIMIT = later(
    r"\b(?:does(?: not|n'?t)|do(?: not|n'?t)) (?:support|accept|allow|expose|honou?r|respect|work (?:with|without|in|on))\b|"
    r"\b(?:is|are)(?: not|n'?t) (?:supported|compatible|available|allowed)\b|\bcan(?:not|'t) be used\b|"
    r"\bonly (?:supports?|accepts?|works? "
    r"(?:with|on|in)|allows?)\b|\bunterstützt .{0,30}nicht\b|\bne (?:supporte|prend) pas\b|\bno (?:soporta|admite|"
    r"acepta)\b|\bnão suporta\b|"
    r"не (?:поддерживает|принимает|умеет)\b|不(?:支持|接受|允许)|无法使用|只支持|"
    r"(?:対応|サポート)していな|使えません|지원하지 않|지원되지 않",
    _I,
)


# The consequence of a limitation, or an alternative.
_CONSEQUENCE = later(
    r"[,;—–-]\s*(?:so|hence|therefore|use|instead|which is why|otherwise|stattdessen|deshalb|donc|así que|por eso|поэтому)\b|"
    r"\b(?:must|has to|have to|needs? to) (?:first )?be \w+ed\b|[，,；;]\s*(?:所以|因此|需要|必须|只能|要先|改用)|ため、|그래서",
    _I,
)


def _limit(part: Sentence, index: int) -> Finding | None:
    match = _LIMIT.search(part.text)
    if not match or part.bullet or _TRIVIAL_FIX.search(part.text) or _ORDERS.match(part.text) or not stands_alone(part.text):
        return None
    after = part.text[match.end() :]
    if not _SPECIFIC.search(part.text[: match.start()]) or not (_SPECIFIC.search(after) or _CONSEQUENCE.search(after)):
        return None
    return Finding(_joined([part], [0]), Kind.FACT, Polarity.KNOW, (index,), complete=True)


def _cause(parts: Sequence[Sentence], index: int) -> Finding | None:
    text = parts[index].text
    if not names_cause(text) or _ORDERS.match(text) or _TRIVIAL_FIX.search(text):
        return None
    indexes = [index]
    cured = bool(_CURE.search(_after_cause(text)))
    for number in range(index + 1, min(len(parts), index + 1 + REACH)):
        if cured or is_unsure(parts[number].text):
            break
        indexes.append(number)
        cured = bool(_CURE.search(parts[number].text))
    if not cured:
        indexes = [index]
    whole = _joined(parts, indexes)
    if not _SPECIFIC.search(whole):
        return None
    return Finding(whole, Kind.FIX, Polarity.KNOW, tuple(indexes), complete=cured)


def _after_cause(text: str) -> str:
    """Return the text after the first clause, where a fix in the same sentence would be."""
    return text[len(text) // 3 :]


def _joined(parts: Sequence[Sentence], indexes: Sequence[int]) -> str:
    texts = [worded(_LEAD_IN.sub("", parts[number].text)) for number in indexes]
    after = indexes[-1] + 1
    if parts[indexes[-1]].text.endswith((":", "：")):  # a list follows
        listed = [part.text.rstrip(".:。;；：") for part in parts[after : after + MAX_LISTED] if part.bullet]
        texts[-1:] = [f"{texts[-1].rstrip('.。')}: {'; '.join(listed)}."] if listed else []
    return shorten(" ".join(texts), MAX_CHARS)
