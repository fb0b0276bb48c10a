"""Words for denial, limits, changes, endings and openings in nine languages, and functions that find them.

The languages are English, German, French, Spanish, Portuguese, Russian, Chinese, Japanese and Korean. Every pattern has bounded
repetitions, so matching takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

from memoryd.language.patterns import later

READ = 2_000  # In characters. Statements are one or two sentences, so only this much is searched.
THING = r"[^\s,;:!?()\[\]{}<>\"'“”«»„，。；：！？、（）「」]{1,60}"
PHRASE = rf"{THING}(?: {THING}){{0,5}}"

_HAN = later(r"[㐀-䶿一-鿿豈-﫿]")
_KANA = later(r"[぀-ヿ]")
_HANGUL = later(r"[가-힯]")
_CYRILLIC = later(r"[\u0400-\u052f]")
_LATIN_WORD = later(r"[^\W\d_]+")
# Words that identify languages in Latin script. The default is English.
_TELLING: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "de": frozenset(
            """der die das den dem des ein eine einen einem einer und oder nicht kein keine keinen mit für auf im ist sind wird
            werden wir ich zu zum zur von vom bei nach nur auch statt jetzt immer nie über bitte läuft nutzen aus mehr""".split()
        ),
        "fr": frozenset(
            """le la les un une des du de et ou pas plus avec pour sur dans est sont nous on au aux ce cette ne jamais toujours
            que qui par mais où être utilise utiliser désormais maintenant l d n""".split()
        ),
        "es": frozenset(
            """el la los las un una unos del de y o con para por en es son se que no ya nunca siempre al lo está están hay usar
            usamos usa ahora pero sin nos""".split()
        ),
        "pt": frozenset(
            """o a os as um uma do da dos das de e ou com para por em no na nos nas é são se que não já nunca sempre ao está
            estão usar usamos usa agora mas sem""".split()
        ),
        "en": frozenset(
            """the a an and or not is are was with for on in to of we i it that this never always by at from use uses using must
            should be no do don run runs our""".split()
        ),
    }
)


@lru_cache(maxsize=4_096)
def language(text: str) -> str:
    """Detect which of the nine languages a statement is written in. The default is English."""
    head = text[:READ]
    for code, script in (("ko", _HANGUL), ("ja", _KANA), ("zh", _HAN), ("ru", _CYRILLIC)):
        if script.search(head):
            return code
    found = [word for word in _LATIN_WORD.findall(head.casefold())]
    scores = {code: sum(word in telling for word in found) for code, telling in _TELLING.items()}
    best = max(scores.values(), default=0)
    return "en" if scores["en"] == best else max(scores, key=lambda code: scores[code])


def _compiled(patterns: Mapping[str, str]) -> Mapping[str, re.Pattern[str]]:
    return MappingProxyType({code: later(pattern, re.IGNORECASE) for code, pattern in patterns.items()})


# Words with little meaning, in addition to the English ones in memoryd.core.text
_FILLERS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "de": _TELLING["de"]
        | frozenset(
            """er sie es man uns unser unsere unserem unseren ihr dieser diese dieses dass weil wenn als wie aber noch schon hier da so
            am an bis durch gegen ohne unter über zwischen hat haben hatte war waren sein soll sollen sollte muss müssen kann können
            darf dürfen will wollen wird nutze nutzt nutzen verwende verwendet verwenden benutze benutzt benutzen läuft laufen liegt
            liegen lass mach mache machen macht gibt geht gehen kommt heißt nun ab sofort künftig heute inzwischen mittlerweile
            neuerdings seit sondern anstatt stattdessen eigentlich korrektur doch bisher früher wieder alle alles jede jeder jedes
            umgestellt umgestiegen gewechselt gewechselt ersetzt abgelöst""".split()
        ),
        "fr": _TELLING["fr"]
        | frozenset(
            """je tu il elle ils elles vous se sa son ses leur leurs notre nos votre vos mon ma mes lui y en si comme donc car quand
            sans sous entre vers chez depuis avant après a ont avons avez avait été être avoir faut doit doivent peut peuvent fait
            faire tourne tournent utilise utilisons utilisent utilisé sert va vont passe passé passée passés dorénavant finalement
            tous toutes tout toute chaque s c j m t qu""".split()
        ),
        "es": _TELLING["es"]
        | frozenset(
            """yo tú él ella ellos ustedes su sus nuestro nuestra mi tu lo le les esto esta este estos estas eso ese esa como cuando
            porque si más muy también sobre entre hasta desde hacia ha han hemos había ser estar tener hacer hace debe deben puede
            pueden tiene tienen utilizar utiliza utilizamos utilizan usan uso usado va van ahora antes luego finalmente todo todos
            toda todas cada cambiamos pasamos migramos""".split()
        ),
        "pt": _TELLING["pt"]
        | frozenset(
            """eu ele ela eles você vocês seu sua seus suas nosso nossa meu minha isto isso este esta esse essa como quando porque se
            mais muito também sobre entre até desde ha tem têm temos havia ser estar ter fazer faz deve devem pode podem utilizar
            utiliza utilizamos usam uso usado vai vão agora antes depois finalmente tudo todos toda todas cada pelo pela mudamos
            passamos migramos pra pro fica ficam""".split()
        ),
        "ru": frozenset(
            """и в во на не с со из от к ко по за для до о об у при без под над про мы вы он она они оно я ты это этот эта эти тот та те
            что как где когда чтобы если то же ли бы а но или да уже ещё еще только все всё весь вся каждый свой наш наша наши его её
            их есть был была были было быть будет надо нужно нужен нужна должен должна должны можно используем использует использовать
            используется используются пользуемся работает работают лежит теперь сейчас отныне больше вместо раньше снова
            перешли перешёл заменили перенесли переехали""".split()
        ),
        "en": frozenset(),
    }
)
_CJK_FILLERS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "zh": later(
            r"我们|你们|他们|使用|采用|改用|改为|改成|换成|换到|换为|用的是|现在|目前|已经|从今以后|以后|今后|必须|需要|应该|可以|一律|所有|每次|请|都|了|的|是"
            r"|在|把|将|被|从|到|由|用|而|和|与|也|就|再|要|会|有|为|成|一个|这个|那个|进行|其实|不再|而不是|代替|取代"
        ),
        "ja": later(r"[ぁ-ん]+|使用|利用|現在|今後|変更|移行"),
        "ko": later(
            r"(?<=[가-힯\w])(?:으로|에서|에게|까지|부터|이다|입니다|은|는|이|가|을|를|에|로|와|과|도|의|만)(?=\s|[.,]|$)"
            r"|(?:사용|이용)?(?:한다|합니다|하고|해요|했다|했습니다|하는|해야|하지|됩니다|된다|있다|있습니다)|사용|이제|지금|현재|앞으로|더 이상|대신|우리"
        ),
    }
)
_WORD = later(r"[^\W_]+")


def content(text: str, code: str) -> str:
    """Return the text without the function words of the given language."""
    if code in _CJK_FILLERS:
        return _CJK_FILLERS[code].sub(" ", text)
    fillers = _FILLERS[code]
    return _WORD.sub(lambda match: " " if match.group().casefold() in fillers else match.group(), text) if fillers else text


# Denial

_NEGATION = _compiled(
    {
        "en": r"\b(?:not|never|no longer|no(?! (?:one|matter|later|more than|less than)\b)|none|neither(?: [\w'’-]{1,30}){1,6},? nor|neither|nor|nothing|nobody|cannot"
        r"|\w{1,12}n['’]t|dont|doesnt|didnt|isnt|arent|wont|cant|shouldnt|mustnt|without|avoid\w{0,3}|stop(?:ped|s)?|forbid\w{0,5}"
        r"|prohibit\w{0,3}|disallow\w{0,3}|refus\w{1,3}|unable|off[- ]limits|skip(?:s|ped|ping)?|omit(?:s|ted)?|dropp?(?:ed|s)? support"
        r"|gave up|giv(?:e|en|ing) up|dislikes?|hates?)\b",
        "de": r"\b(?:nicht|kein\w{0,3}|nie|niemals|ohne|weder|nichts|niemand|verboten|untersagt|tabu|vermeide\w{0,2})\b",
        "fr": r"\b(?:pas|jamais|aucun\w?|sans|ni|interdit\w?|rien|éviter|évite\w?)\b|\b(?:ne|n['’])\s?\w{1,20}\s(?:plus|que)\b",
        "es": r"\b(?:no|nunca|jamás|sin|ningún|ninguna?|nada|tampoco|prohibid\w|evitar?)\b",
        "pt": r"\b(?:não|nunca|jamais|sem|nenhum\w?|nada|tampouco|proibid\w|evitar?)\b",
        "ru": r"\b(?:не|нет|нельзя|никогда|без|никак\w{0,4}|ни|запрещ\w{1,6}|избегать)\b",
        "zh": r"不(?!同|仅|断|错)|别(?!的|名)|勿|禁止|没有|没(?!收)|无(?!论)|未",
        "ja": r"ない|ません|禁止|なし|せず|ずに|不要|不可|ダメ|だめ|やめ",
        "ko": r"않|\b안\s|지\s?마|말\s?것|말고|없|금지|\b못\s|아니",
    }
)


def negation(text: str) -> re.Pattern[str]:
    """Return the pattern for negations in the language of a text."""
    return _NEGATION[language(text)]


def negations(text: str) -> int:
    """Count the negations of a text in its language."""
    return len(_NEGATION[language(text)].findall(text[:READ]))


_ALSO_DENIES = later(r"\b(?:out of(?! (?:the box|habit))|stays? off|free of|off[- ]limits)\b", re.IGNORECASE)


def other_denials(text: str) -> int:
    """Count denials such as "out of", which don't negate the whole clause."""
    return len(_ALSO_DENIES.findall(text[:READ]))


# Words that exclude something without a negation: "leave it alone", "only the server", "offline", "up to ten".
_EXCLUDES = later(
    r"\b(?:only|just|solely|sole|exclusively|nothing|alone|offline|off|outs?(?:ide)?|inside|within|max(?:imum)?|minimum|at (?:most|least)"
    r"|up to|under|below|above|limit\w{0,3}|until|unless|except\w{0,3}|other than|rather|instead|otherwise|lacks?|lacking|missing|empty|blank"
    r"|ignor\w{1,3}|skip\w{0,4}|omit\w{0,4}|fail\w{0,4}|break\w{0,3}|broken|wrong|lost|los[et]s?|gone|quit|stop\w{0,4}|refus\w{1,3}|reject\w{0,3}"
    r"|forb\w{2,6}|bann?\w{0,3}|private|closed|cut off|read-only|stale|fake|hates?|dislikes?|free|zero|opt-in|dead end|remov\w{1,3}|fix\w{0,3}"
    r"|solv\w{1,3}|cur(?:es?|ed)|sequential\w{0,2}|simultaneous\w{0,2}|first)\b",
    re.IGNORECASE,
)


def excludes(text: str) -> bool:
    """Return whether an English text excludes something in words other than a negation."""
    return _EXCLUDES.search(text[:READ]) is not None


# A prohibition starts with one of these words, or has one next to a modal verb. "Use A, never B" contains a denial but is an
# instruction.
_PROHIBITION = later(
    r"^(?:please )?(?:you (?:should|must) )?(?:don'?t|do not|dont|never|avoid|stop|no\b|not\b|nobody|must not|niemals|"
    r"nie\b|nicht|kein|vermeide|ne |n'\w+ (?:pas|jamais)|jamais|évite|"
    r"nunca|jamás|no \w+|evita|não|evite|никогда|не |нельзя|запрещ)|\b(?:must|should|may|shall) (?:not|never)\b|"
    r"\b(?:should|must)n'?t\b|\bwe (?:never|don'?t|do not|avoid)\b|"
    r"^no (?:[\w-]+ ){1,4}?(?:may|must|should|can|is|are)\b|^(?:永远|绝对?)?(?:不要|别|不能|不许|不可以|不允许)|^禁止|"
    r"绝对?不|永远(?:不|别)|一律不|"
    r"(?:しない|使わない|ない(?:で|こと)?(?:ください)?)[。！]?$|(?:마세요|말 것|지 ?마|금지)[.!]?$|\b(?:darf|"
    r"dürfen) (?:nicht|nie|kein)|(?:не должн)",
    re.IGNORECASE,
)


def forbids(rule: str) -> bool:
    """Return whether a rule is a prohibition."""
    return _PROHIBITION.search(rule[:READ]) is not None


_PERMISSION = later(
    r"\b(?:(?<!only )allowed(?! only)|may(?! only\b)|ok(?:ay)?|permitted|free to|fine|you can|darf|dürfen|erlaubt|puedes?|peux|peut|permis|permitid\w"
    r"|pode[ms]?|можно|разрешен\w)\b|可以|允许|てよい|してもいい|해도",
    re.IGNORECASE,
)
_WITHOUT = later(r"\b(?:without|ohne|sans|sin|sem|без)\b", re.IGNORECASE)
_ADDITION = later(
    r"\b(?:also|as well|in addition|auch|zusätzlich|aussi|également|también|además|também|além|также)\b|也要|还要", re.IGNORECASE
)


def permits(text: str) -> bool:
    """Return whether the statement allows something.

    "Fine without asking" does, while "nothing may" and "not allowed" don't.
    """
    return _PERMISSION.search(text[:READ]) is not None and negations(_WITHOUT.sub(" ", text)) % 2 == 0


def has_addition(text: str) -> bool:
    """Return whether the statement mentions something additional."""
    return _ADDITION.search(text[:READ]) is not None


# Limits. If only one of two statements has a limit, the statements are different.

_ORDER_WORDS = later(
    r"\b(before|after(?! (?:an? (?:second|minute|hour|day|week|quarter)|\d[\d.,]{0,20}|one|two|three|five|ten|half)\b)|until|during|vor|nach|bis|avant|après|antes|después|depois|до|после)\b|之前|之后|前に|後に",
    re.IGNORECASE,
)


def order_words(text: str) -> frozenset[str]:
    """Return the words that express a temporal order."""
    return frozenset(match.group().casefold() for match in _ORDER_WORDS.finditer(text[:READ]))


_LIMITS = _compiled(
    {
        "en": r"\b(?:except(?:ion|ions|ing)?|unless|only|until|but not|other than|apart from|aside from|excluding|besides"
        r"|solely|exclusively|if|when|while|during|whenever|in case|as long as|provided)\b",
        "de": r"\b(?:außer|ausser|nur|bis|ausgenommen|mit ausnahme|solange|falls|wenn|sofern|es sei denn|lediglich|während)\b",
        "fr": r"\b(?:sauf|seulement|uniquement|excepté|hormis|jusqu\w|à moins|à l['’]exception|si|lorsque|quand|tant que|pendant)\b",
        "es": r"\b(?:excepto|salvo|solo|sólo|solamente|únicamente|hasta|a menos|a no ser|si|cuando|mientras|durante|menos)\b",
        "pt": r"\b(?:exceto|salvo|só|somente|apenas|unicamente|até|a menos|a não ser|se|quando|enquanto|durante|menos)\b",
        "ru": r"\b(?:кроме|только|лишь|пока|если|за исключением|исключая|когда|во время|исключительно)\b",
        "zh": r"除了|除非|只有|只在|只能|仅|直到|例外|如果|除外|的时候|期间",
        "ja": r"以外|だけ|のみ|まで|除|限り|場合|とき|例外|ただし",
        "ko": r"제외|만\s|만\b|까지|경우|때만|예외|빼고|않으면",
    }
)


def limits(text: str) -> frozenset[str]:
    """Return the words that limit a statement to some cases or exclude some."""
    return frozenset(" ".join(match.casefold().split()) for match in _LIMITS[language(text)].findall(text[:READ]))


_EXCEPTIONS = _compiled(
    {
        "en": r"\b(?:except(?:ion|ions|ing)?|unless|but not|other than|apart from|aside from|excluding|exempt\w{0,3})\b",
        "de": r"\b(?:außer|ausser|ausgenommen|ausnahme\w?|es sei denn)\b",
        "fr": r"\b(?:sauf|excepté|hormis|à moins|exception)\b",
        "es": r"\b(?:excepto|salvo|a menos|a no ser|excepción|menos en)\b",
        "pt": r"\b(?:exceto|salvo|a menos|a não ser|exceção|menos em)\b",
        "ru": r"\b(?:кроме|исключени\w{1,2}|исключая)\b",
        "zh": r"除了|除非|例外|除外",
        "ja": r"以外|除|例外|ただし",
        "ko": r"제외|예외|빼고",
    }
)


def has_exception(text: str) -> bool:
    """Return whether a statement excludes some cases."""
    return _EXCEPTIONS[language(text)].search(text[:READ]) is not None


# Change

_CORRECTION = _compiled(
    {
        "en": r"\b(?:actually|corrections?|corrected|no longer|instead of|rather than|not any ?more|any ?more|turned out|turns out"
        r"|(?:was|were) (?:wrong|mistaken)|not true|(?<!right )(?<!for )(?<!until )now(?! and then)|nowadays|these days|by now"
        r"|(?:changed|switch(?:ed|ing)?|mov(?:ed|ing)|renamed|migrat(?:ed|ing)|upgraded|bumped|raised|lowered|increased|reduced"
        r"|dropped|cut|grew|relocated|convert(?:ed|ing)|went|gone|back|transitioned|promoted|extended|shortened|downgraded) (?:\w{1,15} ){0,3}?(?:over )?(?:to|onto|into|from)"
        r"|replac(?:e|es|ed|ing)|supersed(?:e|es|ed)|from now on|as of|from today|starting (?:today|now|with|from)"
        r"|effective|going forward|henceforth|final(?:ly)?\s?:|update\s?:|changed our minds?|since (?:the|we|last|this|yesterday|version)"
        r"|used to|previously|formerly|new(?:ly)? (?:called|named)|decided against|gave up|given up|scrap(?:ped)?"
        r"|drop(?:ped|ping)?|ditch(?:ed|ing)?|retired|deprecated|abandon(?:ed|ing)?|got rid of|get rid of|reverted|rolled back"
        r"|final decision|after all|changed (?:my|our|their|his|her) minds?|tak(?:en|es|ing|e)? over|took over|took (?:its|their|his|her) place|mistyped|i meant"
        r"|in the end|cancell?ed|lifted|allowed again|(?:was|were|has been|have been|got) (?:removed|dropped|deleted|merged|fixed|implemented|added|done|closed|solved|resolved|finished|revoked|reversed|disabled|turned off|switched off|shut down|decommissioned)"
        r"|is (?:done|gone|fixed|obsolete|over|finished|in place|history|dead)|works since|on second thou?ght|change of plans?|forget (?:what|about|the)|scratch that|again)\b",
        "de": r"\b(?:jetzt|ab sofort|ab jetzt|ab heute|ab nun|von nun an|künftig|nunmehr|nun|inzwischen|mittlerweile|neuerdings|seit"
        r"|nicht mehr|kein\w{0,2} \w{1,30} mehr|stattdessen|statt|anstatt|anstelle|eigentlich|korrektur|doch|ersetz\w{1,4}|abgelöst"
        r"|umgestellt|umgestiegen|gewechselt|umbenannt|heißt (?:jetzt|nun)|umgezogen|verschoben|verlegt|geändert|migriert|erhöht"
        r"|gesenkt|angehoben|reduziert|verworfen|final|endgültig|quatsch|aufgehoben|wieder erlaubt|gilt nicht|angelegt|ausgerollt|behoben|erledigt|hinfällig|doch nicht|übernimmt|übernommen|früher|vorher|abgeschafft|rausgeworfen|entfernt)\b",
        "fr": r"\b(?:maintenant|désormais|dorénavant|à partir d\w|depuis|finalement|en fait|correction|au lieu|plutôt|à la place"
        r"|remplac\w{1,4}|on est passés?|nous sommes passés|rebaptis\w{1,3}|finalement|annul\w{1,3}|corrigé\w?|supprim\w{1,4}|c['’]est fait|(?:à|de) nouveau|passée?s? (?:à|de)|pass(?:e|ons) (?:à|de)|migr\w{1,4}|chang\w{1,4}"
        r"|renomm\w{1,4}|déplac\w{1,4}|basculé\w?|abandonn\w{1,4}|n['’]\w{1,15} plus|ne \w{1,15} plus|plus de|final|avant)\b",
        "es": r"\b(?:ahora|a partir de|desde|ya no|finalmente|al final|en realidad|corrección|en vez de|en lugar de|reemplaz\w{1,4}"
        r"|sustitu\w{1,5}|cambi\w{1,5}|migr\w{1,6}|pas(?:amos|ó|a|ado) (?:a|de)|renombr\w{1,4}|movi\w{1,4}|trasladad\w|traslad\w{1,4}|dejamos|deja de|cancel\w{1,4}|corregid\w|eliminad\w|resuelt\w|listo|otra vez|de nuevo|rebautiz\w{1,3}"
        r"|abandon\w{1,5}|antes|final|subi\w{1,3} a|bajó a)\b",
        "pt": r"\b(?:agora|a partir de|desde|já não|não \w{1,20} mais|finalmente|no final|na verdade|correção|em vez de|ao invés|no lugar de"
        r"|substitu\w{1,5}|mud\w{1,5}|migr\w{1,6}|pass(?:amos|ou|a) (?:a|de|para)|renome\w{1,4}|mov\w{1,4}|deix\w{1,4} de|abandon\w{1,5}"
        r"|troc\w{1,5}|cancel\w{1,4}|corrigid\w|removid\w|resolvid\w|pronto|de novo|rebatiz\w{1,3}|antes|final|subiu|caiu|larg\w{1,5})\b",
        "ru": r"\b(?:теперь|сейчас|отныне|с этого момента|впредь|больше не|уже не|вместо|на самом деле|исправление|поправка|заменил\w{0,2}"
        r"|заменен\w?|заменён\w?|замен\w{1,4}|переш\w{1,4}|перевел\w|перевели|перенес\w{1,3}|перенесен\w?|перенесён|переех\w{1,4}|переименова\w{1,4}|помен\w{1,5}"
        r"|измен\w{1,5}|отказа\w{1,5}|мигрирова\w{1,3}|окончательно|итог|раньше|ранее|с сегодняшнего|убрали|отменен\w?|отменён|отменили|исправлен\w?|исправили|удалили|готово|сделано|снова|ни при ч[её]м|а не)\b",
        "zh": r"其实|现在|现已|如今|目前|改为|改成|改用|改到|换成|换到|换为|不再|而不是|迁移|迁到|搬到|从今|今后|以后|更正|最终|最后决定|升级到|升级为|替换|取代"
        r"|代替|已经|弃用|废弃|重命名|改名|调整为|调到|提高到|降到|放弃|转到|转向|取消|已修复|已完成|已删除|恢复|无关|改回|改叫",
        "ja": r"今は|現在|今後|これから|もう|変更|移行|切り替え|改名|訂正|やはり|最終|になった|になりました|代わりに|ではなく|じゃなく|やめ|廃止|置き換|移動|移した|移りました"
        r"|乗り換え|引き上げ|引き下げ|しなくなった|取り消|修正済|完了|解決|対応済|不要になった|いらない|でいい|以降|から.{1,20}に変",
        "ko": r"이제|지금은|현재|앞으로|더 이상|변경|이전했|이전됨|옮겼|옮겨|전환|바꿨|바뀌|바꾸|정정|최종|대신|아니라|폐기|교체|그만|개명|부터|취소|완료|해결|수정됨|삭제|다시|마이그레이션",
    }
)


def has_correction(text: str) -> bool:
    """Return whether the statement reports a change or an error."""
    return _CORRECTION[language(text)].search(text[:READ]) is not None


_STANDING = later(
    r"\b(?:always|never|every|each|from now on|remember|whenever|immer|niemals?|stets|jede[rmns]?|ab jetzt|toujours|jamais|chaque|désormais"
    r"|siempre|nunca|cada|sempre|ogni|altijd|nooit|elke|всегда|никогда|кажд\w{1,3})\b|始终|总是|从不|永远|每次|以后|今后|从今|必ず|常に|決して|今後|これから|항상|절대|언제나|앞으로|이제부터",
    re.IGNORECASE,
)


def is_standing(text: str) -> bool:
    """Return whether the statement covers all cases by its words, like a rule."""
    return _STANDING.search(text[:READ]) is not None


_OPEN = later(
    r"\b(?:todo|to-do|to do|still (?:need|have|missing|open|to)|needs? to be|not yet|no \w{1,20} yet|yet|known bug|bug:|pending|missing"
    r"|offen|fehlt|noch nicht|steht noch aus|à faire|manque|pas encore|pendiente|falta|por hacer|aún no|pendente|por fazer|ainda não"
    r"|ещё не|еще не|осталось|нужно сделать|надо сделать|workaround|for now)\b|待办|尚未|还没|还需要|未実装|まだ|今後の課題|아직|할 일",
    re.IGNORECASE,
)
_DONE = later(
    r"\b(?:done(?! by| in| with| via| at)|fixed|finished|merged|implemented|landed|shipped|added|solved|resolved|completed|cancell?ed|works (?:now|since|again)|is in\b"
    r"|are in\b|in place|rolled out|erledigt|behoben|fertig|angelegt|ausgerollt|umgesetzt|fait|corrigé|terminé|ajouté|hecho|listo|corregido"
    r"|resuelto|añadid[oa]|feito|pronto|corrigido|adicionad[oa]|сделан\w?|готов\w?|исправлен\w?|добавлен\w?|добавили|исправили)\b"
    r"|完成|已修复|已添加|已上线|已实现|完了|対応済|修正済|追加した|追加済|완료|해결|추가했|수정했",
    re.IGNORECASE,
)


def is_open(text: str) -> bool:
    """Return whether the statement is about unfinished work."""
    return _OPEN.search(text[:READ]) is not None


def is_done(text: str) -> bool:
    """Return whether the statement is about completed work."""
    return _DONE.search(text[:READ]) is not None


_CAUSE = later(
    r"\b(?:root[- ]causes?|causes?|culprit|reason|ursache|grund|raison|causa|motivo|причин\w{1,2}|дело в)\b|原因|원인",
    re.IGNORECASE,
)
_RETRACTION = later(
    r"\b(?:(?:that|this|it|i|which|diagnosis|assumption|theory|guess|we) (?:was|were|am|is) (?:wrong|mistaken|incorrect)|not the (?:root )?(?:cause|culprit|reason)"
    r"|i take (?:that|it) back|correction|das war falsch|lag (?:ich )?falsch|war nicht die ursache|doch nicht|c['’]était faux|je me suis trompée?"
    r"|n['’]était pas la cause|me equivoqué|no era la causa|era incorrecto|estava errad[oa]|não era a causa|я ошиб\w{1,3}|это было неверно"
    r"|не причина|ни при ч[её]м)\b|不对|错了|并非原因|不是原因|間違っていた|間違い|原因ではな|잘못|원인이 아니",
    re.IGNORECASE,
)


def names_cause(text: str) -> bool:
    """Return whether the statement gives a cause."""
    return _CAUSE.search(text[:READ]) is not None


def retracts(text: str) -> bool:
    """Return whether the statement retracts an earlier one."""
    return _RETRACTION.search(text[:READ]) is not None


_IDENTIFIER = later(r"\w{1,80}_\w{1,80}")


def identifiers(text: str) -> frozenset[str]:
    """Return names with an inner underscore. The order of their parts is significant."""
    return frozenset(match.group().casefold() for match in _IDENTIFIER.finditer(text[:READ]))


# Introductory words without content, and words that introduce a correction

_OPENER = later(
    r"^(?:(?:(?:actually|oh|well|wait),? no|no,? wait|no|nope|nah|yes|yeah|yep|ok(?:ay)?|so|well|oh|ah|hmm+|hey|hi|hello|great|thanks?(?: you)?|thx|perfect|good|"
    r"cool|nice|sure|right|"
    r"sorry|actually|listen|look|again|correct|wrong|exactly|fine|alright|stop|"
    r"leave it|never ?mind|forget it|one more thing|one last thing|another thing|one thing|fyi|note|important|reminder|"
    r"for the record|"
    r"just so you know|to be clear|by the way|btw|and|but|also|please note|"
    r"correction|(?:scrap|strike|ignore) that|change of plans?|my (?:bad|mistake)|korrektur|planänderung|kommando zurück|"
    r"vergiss (?:das|es)|changement de plan|oublie ça|corrección|cambio de planes?|olvida eso|correção|mudança de planos?|"
    r"esquece isso|исправление|поправка|забудь(?: это)?|"
    r"nein|ja|gut|danke|übrigens|ach|also|lass (?:es|gut sein)|lass mal|noch (?:was|etwas|eins)|wichtig|hinweis|und|"
    r"aber|falsch|"
    r"non|oui|merci|au fait|d'ailleurs|bon|alors|laisse(?: tomber)?|et|mais|"
    r"sí|si|vale|gracias|por cierto|bueno|déjalo|y|pero|não|sim|obrigad[oa]|aliás|a propósito|deixa|e|mas|"
    r"нет|да|хорошо|спасибо|кстати|ладно|оставь|ок|и|но|важно)\s*(?:[,.!:;…—–]+|\s-)\s*|"
    r"(?:btw|by the way|also|and|but|ok(?:ay)?|so|well|oh|please|pls|plz|übrigens|bitte|und|aber|also|au fait|"
    r"s'il (?:te|vous) plaît|por cierto|"
    r"por favor|aliás|кстати|пожалуйста|и|но|а)\s+|"
    r"(?:好的?|嗯|对了|那|不对?|不是的?|另外|还有|顺便(?:说一下|提一下|说)?|注意|谢谢|行|算了|"
    r"不用了|更正|订正)\s*[，,。！!：:、]\s*|请(?=[记以每永始总务]|不要)|"
    r"(?:いや|いいえ|はい|ちなみに|あと|ありがとう|なお|訂正)[、,。：:]\s*|(?:아니(?:요)?|네|참고로|그리고|고마워|정정)[,.:]?\s+)",
    re.IGNORECASE,
)
_REVISES = later(
    r"^(?:(?:actually|oh|well|wait),? no|no,? wait|no|nope|wrong|actually|sorry|final(?:ly)?|correction|(?:scrap|strike|ignore) that|change of plans?|my (?:bad|mistake)|"
    r"rather|nein|falsch|doch nicht|korrektur|planänderung|kommando zurück|vergiss (?:das|es)|non|en fait|"
    r"correction|changement de plan|oublie ça|cambio de planes?|olvida eso|correção|mudança de planos?|faux|"
    r"en realidad|corrección|não|на самом деле|нет|исправление|поправка)\s*[,.:;!—–-]|^(?:不对?|不是的?|错了|更正|订正|"
    r"最终)[，,。：:！]|^(?:いや|訂正)[、：]|^아니[,.]? ",
    re.IGNORECASE,
)


def without_openers(text: str) -> str:
    """Remove introductory words without content, such as "No,", "Btw", "Leave it." and "对了，"."""
    for _ in range(6):
        match = _OPENER.match(text)
        if not match or not text[match.end() :].strip():
            break
        text = text[match.end() :].lstrip()
    return text


def opens_as_correction(text: str) -> bool:
    """Return whether a text begins by rejecting a previous statement, as in "No, …" and "Actually, …"."""
    return _REVISES.match(text) is not None


# Endings. The group `old` matches the thing that is no longer valid.

_ART = r"(?:(?:the|a|an|our|using|use|any|that|this|those) ){0,2}"
_GONE_EN = rf"""
(?:instead\ of|rather\ than|in\ place\ of|as\ opposed\ to)\ (?:(?:in|into|on|at|to|from|with|via|under|through)\ )?{_ART}(?P<a>{PHRASE})
|\b(?:no\ longer|don['’]?t|doesn['’]?t|do\ not|does\ not|stop(?:ped)?|not)\ (?:(?:in|at|on|by|with|via|to|for|as|need|want|use|uses|using|used|run|runs|called|named)\ ){{0,3}}{_ART}(?P<b>{THING}(?:\ {THING}){{0,4}}?)\ (?:any\ ?more|any\ longer)\b
|\b(?:no\ longer|stop(?:ped)?|quit)\ (?:(?:in|at|on|by|with|via|to|for|as|need|needs|want|use|uses|using|used|run|runs|support|supports|called|named|be|have|has|allow|require|rely|relies|depend|depends|live|lives|kept|stored)\ ){{0,3}}{_ART}(?P<c>{PHRASE})
|\b(?:drop(?:ped|ping|s)?|ditch(?:ed|ing)?|abandon(?:ed|ing)?|retir(?:e|ed|ing)|scrap(?:ped)?|remov(?:e|ed|ing)|g[eo]t(?:ting)?\ rid\ of|gave\ up(?:\ on)?|give\ up(?:\ on)?|decided\ against|away\ from|deprecated|forget(?:\ about)?|kill(?:ed)?|thr[eo]w(?:n)?\ out|phased\ out)\ {_ART}(?P<d>{PHRASE})
|\b(?:switch\w{{0,3}}|mov\w{{1,3}}|migrat\w{{1,3}}|renam\w{{1,3}}|chang\w{{1,3}}|upgrad\w{{1,3}}|downgrad\w{{1,3}}|convert\w{{0,3}}|port(?:ed|ing)?|went|go|bump\w{{0,3}}|rais\w{{1,3}}|lower\w{{0,3}}|increas\w{{1,3}}|reduc\w{{1,3}}|cut|transition\w{{0,3}}|relocat\w{{1,3}})\ (?:{THING}\ ){{0,6}}?from\ {_ART}(?P<e>{THING}(?:\ {THING}){{0,3}}?)\ (?:over\ )?(?:to|onto|into)\b
|\b(?:renam\w{{1,3}})\ {_ART}(?P<f>{THING}(?:\ {THING}){{0,3}}?)\ to\b
|\breplac(?:e|es|ed|ing)\ {_ART}(?P<g>{THING}(?:\ {THING}){{0,3}}?)(?=\ (?:with|by|as|in|for|on)\b|[,;.]|$)
|(?P<h>{THING}(?:\ {THING}){{0,2}}?)\ (?:(?:was|were|is|are|got|has\ been|have\ been|had\ been|being)\ )?(?:replaced\ (?:by|with)|superseded\ by|swapped\ (?:out\ )?for|exchanged\ for)\b
|\bswapp?(?:ed|ing)?\ (?:out\ )?{_ART}(?P<i>{THING}(?:\ {THING}){{0,2}}?)\ for\b
|(?P<j>{THING})\ (?:is|are|was|were|has\ been|have\ been)\ (?:gone|out|dead|dropped|retired|removed|deprecated|history|abandoned|scrapped|decommissioned|shut\ down|phased\ out|obsolete|no\ longer\ \w{{1,20}}|not\ \w{{1,20}}\ any\ ?more)\b
|\b(?:used\ to\ be|previously|formerly|it\ was|was\ previously|was\ formerly)\ (?:called\ |named\ |on\ |in\ |at\ )?{_ART}(?P<k>{THING}(?:\ {THING}){{0,2}})
|\b(?:over|than)\ {_ART}(?P<l>{THING})\ (?:after\ all|now)\b
|\bnot\ {_ART}(?P<m>{THING}(?:\ {THING}){{0,2}}?)\ (?:any\ ?more|any\ longer|now|after\ all)\b
|\b(?:moved|went|switched|migrated)\ (?:{THING}\ ){{0,3}}?(?:off|away\ from|off\ of)\ {_ART}(?P<n>{THING}(?:\ {THING}){{0,2}})
|(?P<o>{THING}(?:\ {THING}){{0,2}}?)\ (?:was|were|is|are|has\ been|have\ been|got|idea\ was|idea\ is)\ (?:now\ )?(?:given\ up|removed|cancell?ed|switched\ off|turned\ off|deleted|renamed|thrown\ out|ruled\ out|not\ (?:it|the\ (?:root\ )?cause))\b
|\b(?:taken|took|takes)\ over\ (?:{THING}\ ){{0,4}}?from\ {_ART}(?P<p>{THING})
"""
_GONE: Mapping[str, str] = MappingProxyType(
    {
        "en": _GONE_EN,
        "de": rf"""
(?:statt|anstatt|anstelle\ von|anstelle)\ (?:von\ |des\ |der\ |dem\ |den\ |eines\ |einer\ )?(?P<a>{PHRASE})
|\b(?:nicht\ mehr|nicht\ länger)\ (?:(?:mit|über|auf|in|im|bei|unter|an|am|von|per|als|das|die|der|den|dem)\ ){{0,2}}(?P<b>{PHRASE})
|(?P<c>{THING})\ (?:(?:wird|werden|ist|sind|wurde|wurden|nutzen\ wir|verwenden\ wir)\ ){{0,2}}nicht\ (?:mehr|länger)\b
|\bkeine?[nmrs]?\ (?P<d>{THING}(?:\ {THING}){{0,2}}?)\ mehr\b
|\b(?:von|vom)\ (?P<e>{THING}(?:\ {THING}){{0,2}}?)\ (?:auf|zu|zum|zur|nach|in)\ {THING}
|(?P<f>{THING})\ (?:wurde|wurden|wird|ist|sind)\ (?:{THING}\ ){{0,4}}?(?:durch|von|abgelöst|ersetzt|rausgeworfen|entfernt|abgeschafft|abgeschaltet|verworfen|raus)\b
|\b(?:ersetzt|ersetzen|ersetzte|löst|lösen)\ (?:das\ |die\ |der\ |den\ )?(?P<g>{THING}(?:\ {THING}){{0,1}})
|\b(?:früher|vorher|bisher|ehemals)\ (?:hieß\ |war\ )?(?P<h>{THING}(?:\ {THING}){{0,2}})
|,\ nicht\ (?:mehr\ )?(?:(?:mit|über|auf|in|im|bei|unter|an|am|von|per|das|die|der|den|dem)\ ){{0,2}}(?P<i>{PHRASE})
|\b(?P<j>{THING})\ (?:ist|fliegt|kommt)\ raus\b
""",
        "fr": rf"""
(?:au\ lieu\ (?:de\ |d['’]\ ?|du\ |des\ )|plutôt\ que\ (?:de\ )?|à\ la\ place\ (?:de\ |d['’]\ ?|du\ |des\ ))(?:la\ |le\ |les\ |l['’])?(?P<a>{PHRASE})
|\b(?:ne\ |n['’])(?:{THING}\ ){{1,3}}?plus\ (?:(?:sur|avec|dans|en|à|par|de|du|des|le|la|les|un|une|que)\ ){{0,2}}(?P<b>{PHRASE})
|\b(?:plus\ (?:de\ |d['’]))(?P<c>{PHRASE})
|\b(?:passée?s?|passons|migr\w{{1,4}}|basculé\w?|chang\w{{1,4}}|renomm\w{{1,4}}|déplac\w{{1,4}})\ (?:{THING}\ ){{0,4}}?(?:de\ |du\ |d['’])(?P<d>{THING}(?:\ {THING}){{0,2}}?)\ (?:à|vers|en|au)\b
|\b(?:remplac\w{{1,4}})\ (?:la\ |le\ |les\ |l['’])?(?P<e>{THING}(?:\ {THING}){{0,2}}?)(?=\ (?:par|dans|pour|sur)\b|[,;.]|$)
|(?P<f>{THING})\ (?:(?:a|ont)\ été\ |est\ |sont\ )?remplacée?s?\ par\b
|\babandonn\w{{1,4}}\ (?:la\ |le\ |les\ |l['’])?(?P<g>{PHRASE})
|,?\ (?:et\ non|mais\ pas|pas)\ (?:(?:sur|avec|dans|en|à|par|de|du|le|la|les|un|une)\ ){{0,2}}(?P<h>{THING}(?:\ {THING}){{0,2}})
|\b(?:anciennement|auparavant|avant\ c['’]était)\ (?P<i>{THING}(?:\ {THING}){{0,1}})
""",
        "es": rf"""
(?:en\ vez\ de|en\ lugar\ de(?:l)?|más\ bien\ que)\ (?:usar\ |el\ |la\ |los\ |las\ )?(?P<a>{PHRASE})
|\bya\ no\ (?:(?:se|usamos|usa|usan|usar|utilizamos|utiliza|está|es|son|corre|en|con|el|la|los|las|hay|va|vive|necesita|necesitamos)\ ){{0,4}}(?P<b>{PHRASE})
|\b(?:dejamos|dejado|dejar|deja|dejó)\ (?:de\ (?:usar|utilizar)\ |el\ |la\ )?(?P<c>{PHRASE})
|\b(?:reemplaz\w{{1,4}}|sustitu\w{{1,5}}|cambi\w{{1,5}})\ (?:a\ |al\ |el\ |la\ |los\ |las\ )?(?P<d>{THING}(?:\ {THING}){{0,2}}?)(?=\ (?:por|con|en|para|a)\b|[,;.]|$)
|\b(?:migr\w{{1,6}}|pas(?:amos|ó|a|ado)|cambi\w{{1,5}}|movi\w{{1,4}}|renombr\w{{1,4}}|subi\w{{1,4}}|baj\w{{1,4}})\ (?:{THING}\ ){{0,4}}?(?:de|del|desde)\ (?:el\ |la\ )?(?P<e>{THING}(?:\ {THING}){{0,2}}?)\ (?:a|al|hacia|hasta)\b
|(?P<f>{THING})\ (?:fue|ha\ sido|está|se\ ha)?\ ?(?:reemplazad|sustituid)\w\ por\b
|\b(?:abandon\w{{1,5}}|descart\w{{1,5}}|eliminamos|quitamos)\ (?:el\ |la\ |a\ )?(?P<g>{PHRASE})
|,\ (?:y\ )?no\ (?:(?:en|con|por|de|a|el|la|los|las|al)\ ){{0,2}}(?P<h>{THING}(?:\ {THING}){{0,2}})
|\b(?:antes|anteriormente)\ (?:era\ |se\ llamaba\ |estaba\ en\ )?(?P<i>{THING}(?:\ {THING}){{0,1}})
""",
        "pt": rf"""
(?:em\ vez\ d[eoa]s?|ao\ invés\ d[eoa]s?|no\ lugar\ d[eoa]s?)\ (?:usar\ )?(?P<a>{PHRASE})
|\bnão\ (?:usamos|usa|está|é|fica|roda|ficam|são)\ mais\ (?:(?:na|no|em|com|o|a|os|as|para|por)\ ){{0,2}}(?P<b>{PHRASE})
|\b(?:já\ não|não)\ (?:(?:se|usamos|usa|usam|usar|utilizamos|utiliza|está|é|fica|roda|na|no|em|com|o|a|os|as|há|precisa)\ ){{0,4}}(?P<d>{THING}(?:\ {THING}){{0,2}}?)\ mais\b
|\bjá\ não\ (?:(?:se|usamos|usa|está|é|fica|roda|na|no|em|com|o|a|mais)\ ){{0,4}}(?P<c>{PHRASE})
|\b(?:deix\w{{1,4}}\ de\ (?:usar|utilizar)|larg\w{{1,5}}|abandon\w{{1,5}}|descart\w{{1,5}}|tiramos)\ (?:o\ |a\ )?(?P<e>{PHRASE})
|\b(?:substitu\w{{1,5}}|troc\w{{1,5}})\ (?:o\ |a\ |os\ |as\ )?(?P<f>{THING}(?:\ {THING}){{0,2}}?)(?=\ (?:por|pelo|pela|com|em|no|na)\b|[,;.]|$)
|\b(?:migr\w{{1,6}}|pass(?:amos|ou|a)|mud\w{{1,5}}|mov\w{{1,4}}|renome\w{{1,4}}|subi\w{{1,3}}|ca[íi]\w{{1,2}}|troc\w{{1,5}})\ (?:{THING}\ ){{0,4}}?(?:de|do|da)\ (?P<g>{THING}(?:\ {THING}){{0,2}}?)\ (?:para|pro|ao|à)\b
|(?P<h>{THING})\ (?:foi\ |está\ sendo\ )?(?:substituíd|trocad)\w\ p(?:or|el[oa])\b
|,\ (?:e\ )?não\ (?:(?:em|na|no|com|por|de|a|o)\ ){{0,2}}(?P<i>{THING}(?:\ {THING}){{0,2}})
|\b(?:antes|anteriormente)\ (?:era\ |se\ chamava\ |ficava\ em\ )?(?P<j>{THING}(?:\ {THING}){{0,1}})
""",
        "ru": rf"""
\bвместо\ (?P<a>{PHRASE})
|\b(?:больше\ не|уже\ не|больше\ нет)\ (?:(?:используем|использует\w{{0,2}}|используется|пользуемся|работает|на|в|с|через|нужен|нужна|нужно|лежит|живет)\ ){{0,3}}(?P<b>{PHRASE})
|(?P<c>{THING})\ (?:(?:мы|у\ нас)\ )?(?:больше\ не|уже\ не)\b
|\b(?:отказа\w{{1,5}})\ от\ (?P<d>{PHRASE})
|\b(?:переш\w{{1,4}}|перевел\w|перенес\w{{1,3}}|переех\w{{1,4}}|мигрирова\w{{1,3}}|смен\w{{1,5}}|подня\w{{1,4}}|сниз\w{{1,4}}|увелич\w{{1,4}}|уменьш\w{{1,4}}|обнов\w{{1,5}})\ (?:{THING}\ ){{0,4}}?(?:с|со|из|от)\ (?P<e>{THING}(?:\ {THING}){{0,2}}?)\ (?:на|в|к|до)\b
|\b(?:замен\w{{1,5}}|помен\w{{1,5}}|смен\w{{1,5}}|переименова\w{{1,4}})\ (?P<f>{THING}(?:\ {THING}){{0,2}}?)\ (?:на|в)\b
|(?P<g>{THING})\ (?:(?:был\w?|теперь)\ )?замен[её]н\w{{0,2}}\ на\b
|,\ а\ не\ (?:(?:на|в|с|через|по|к)\ )?(?P<h>{THING}(?:\ {THING}){{0,2}})
|\b(?:выкинули|убрали|выпилили|убираем|выбросили|бросили)\ (?P<i>{PHRASE})
|\b(?:раньше|ранее)\ (?:был\w?\ |называл\w{{1,3}}\ )?(?P<j>{THING}(?:\ {THING}){{0,1}})
""",
        "zh": r"""
(?:而不是|而非|不再(?:使?用|支持|采用|需要|是|在|叫)?|代替|取代了?|替换掉?了?|替代|弃用了?|废弃了?|放弃了?|停用了?|别再用|不要再用|去掉了?|移除了?|淘汰了?)\s*(?P<a>[\w./@+\- ]{1,30})
|(?:从|由)\s*(?P<b>[\w./@+\- ]{1,30}?)\s*(?:迁移|迁|换|改|升级|切换|搬|转|移|提高|降|调整|升|切)[到成为至用]?
|(?:把|将)\s*(?P<c>[\w./@+\- ]{1,30}?)\s*(?:换成|换为|改成|改为|替换成|替换为|替换|改名为|重命名为|升级到)
|(?P<d>[\w./@+\-]{1,30})\s*(?:已经?|已被)?\s*(?:被|由)\s*[\w./@+\- ]{1,20}\s*(?:取代|代替|替换|替代)
|不用\s*(?P<e>[\w./@+\- ]{1,20})\s*了
|(?P<f>[\w./@+\-]{1,30})\s*(?:不用了|不再用|已废弃|已弃用|已停用|下线了|作废)
|(?:不是|不在|不叫)\s*(?P<g>[\w./@+\- ]{1,20})\s*(?:了|，|,|。|$)
|(?:以前|之前|原来|原先)(?:是|叫|用|在)?\s*(?P<h>[\w./@+\-]{1,30})
""",
        "ja": r"""
(?P<a>[\w./@+\-ー]{1,30})\s*(?:の代わりに|に代わって|ではなく|じゃなくて?|をやめて?|を廃止|は廃止|は使わない|は使いません|は使わなく|はもう使|を使うのをやめ|は非推奨|を捨てて?|から\s*[\w./@+\-ー]{1,30}\s*(?:に|へ)(?:移行|変更|切り替え|移動|乗り換え|移し|変わ|変え|引っ越|改名|引き上げ|アップグレード|更新|移った|移り))
|(?P<b>[\w./@+\-ー]{1,30})\s*を\s*[\w./@+\-ー]{1,30}\s*(?:に|で|へ)(?:置き換え|変更|改名|差し替え|入れ替え)
|(?:以前は|前は|もともと)\s*(?P<c>[\w./@+\-ー]{1,30})
""",
        "ko": r"""
(?P<a>[\w./@+\-]{1,30})\s*(?:대신|말고|(?:이|가)\s?아니라|(?:은|는|을|를)?\s?더\s?이상|(?:은|는|을|를)?\s?이제\s?(?:안|쓰지)|(?:을|를)\s?(?:그만|버리고|폐기|중단|폐지)|에서\s*[\w./@+\-]{1,30}\s*(?:으?로)\s*(?:이전|변경|전환|바꾸|바꿨|바뀌|옮|교체|마이그레이션|갈아|올|이동))
|(?P<b>[\w./@+\-]{1,30}?)(?:을|를)\s*[\w./@+\-]{1,30}?(?:으?로)\s*(?:교체|변경|바꿨|바꾸|대체|전환|이름)
|더\s?이상\s*(?P<c>[\w./@+\-]{1,30}?)(?:을|를|은|는|이|가|에|\s)
|(?:예전에는|이전에는|원래)\s*(?P<d>[\w./@+\-]{1,30})
""",
    }
)
_GONE_PATTERNS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {code: later(pattern.strip(), re.IGNORECASE | re.VERBOSE) for code, pattern in _GONE.items()}
)
# A condition ("when a user is deleted") does not mean that anything has ended.
_CASE = later(
    r"\b(?:when(?:ever)?|if|while|until|once|after|unless|as soon as|wenn|falls|sobald|si|cuando|quand|se|quando|если|когда)\b[^,.;:]*$",
    re.IGNORECASE,
)
# "X, not Y" affirms X, while "do not Y" is a plain negation.
CONTRAST = later(
    r"\b(?P<before>[\w'’]{1,40})[,;]? (?:and |but )?not (?:(?:on|in|at|to|from|by|with|for|via|using) )?(?:the |a |an )?"
    r"(?P<old>[\w./@+-]{1,60})",
    re.IGNORECASE,
)
_AUXILIARIES = frozenset(
    """do does did is are was were be been must should will would can could may might shall has have had ought need it's
    please also or and but why if that we you they i so""".split()
)


def contrasts(text: str) -> list[re.Match[str]]:
    """Return the places where a text affirms one thing and denies another, as in "X, not Y"."""
    return [match for match in CONTRAST.finditer(text[:READ]) if match["before"].casefold() not in _AUXILIARIES]


def ended(text: str) -> Iterator[str]:
    """Yield the things that have ended according to a statement, each with the next few words."""
    head, code = text[:READ], language(text)
    for match in _GONE_PATTERNS[code].finditer(head):
        if not _CASE.search(head[max(0, match.start() - 60) : match.start()]):
            yield from (part for part in match.groups() if part)
    for match in contrasts(head):
        yield match["old"]
