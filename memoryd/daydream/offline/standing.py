"""Rules said in passing that tool calls can break: whether one holds beyond the moment. Pure functions.

Such a sentence rarely says "always" or "from now on". Two facts together make it an act of memory: the guard understands it,
so that it names a command, path or piece of code, and it is general in form. "Don't run npm, use pnpm instead" is general,
"don't push, CI is busy" is not. When in doubt, it is not an act of memory.
"""

from __future__ import annotations

import re
from enum import IntEnum

from memoryd.core.checks import Access, Check, CheckKind, New
from memoryd.core.text import CJK
from memoryd.daydream.offline import moment
from memoryd.daydream.offline.sentences import size
from memoryd.language.patterns import later

_I = re.IGNORECASE
MAX_WORDS = 30
# Names in code, flags with the value before the next flag, and remarks in parentheses, whose words must not count.
_CODE = later(
    r"`[^`\n]{1,120}`|(?<![\w-])--?[a-zA-Z][\w-]{0,40}(?:[ =][\w./:@-]{1,60}(?= --))?|"
    r"\b[\w.]{1,60}\(\)|\([^()]{1,160}\)|[\w.*@-]{0,60}/[\w./*@-]{0,80}"
)


class Standing(IntEnum):
    """How clearly a rule holds beyond the moment."""

    NO = 0
    LIKELY = 1  # General in form. The classifier of acts must agree.
    CLEAR = 2  # Quantified, such as "each commit" and "never by hand".


# Words with which a rule covers all cases. An adverb of time counts before a verb in its base form or a preposition only, since
# "pytest never finishes" reports.
_QUANTIFIED = later(
    r"(?:^|, ?)(?:always|never) the (?!same|first|last)|\b(?:always|never(?: ever)?)\s+(?!(?:the|an?|had|got|saw|did|was|"
    r"were|been|mind|found|made|ran|went|worked|got|took)\b)"
    r"(?!\w{1,40}(?:ing|ed|[^su\W]s)\b(?!\s?\())[\w`.(-]|"
    r"\bever[.!]*$|, always[.!]*$|\b(?:nothing|nobody|no one|no-one|anywhere|everywhere|anything|nowhere|elsewhere)\b|"
    r"\b(?:every|each|all|any (?:other|new)|without any)\b|\b(?:don'?t|do not|never|no) [^,;.]{2,40} without\b|"
    r"\b(?:must|mandatory|forbidden|prohibited|required|off[- ]limits|no[- ]go|hands off|read[- ]only|taboo|banned|exclusively|"
    r"(?:is|are|be) not (?:allowed|permitted)|not allowed|may not|may only|can'?t be|cannot be|append[- ]only)\b|"
    r"\b(?:by hand|manually|yourself|generated|build output|whenever|overwritten|owned by|belongs? to|vendored)\b|"
    r"\b(?<!^)only\b(?! (?:want|need|have|had|one|once)\b)|\bonly[.!]*$|"
    r"\b(?:nie(?:mals)?|stets|grundsätzlich|ausschließlich|jede[rmns]?|alle[nr]?|niemand|nichts|nirgends|verboten|tabu|"
    r"finger weg|hände weg|(?:darf|dürfen|darfst) \S.{0,60}nicht|darf nicht|dürfen nicht|"
    r"von hand|generiert\w*|muss|müssen|pflicht)\b|"
    r"^immer\b|\bimmer (?:mit|unter|über|in|auf|per|vor|nach|signier\w*|zuerst)\b|\bnur (?:mit|über|per|unter|in|via|auf)\b|"
    r"\b(?:jamais|toujours (?!pas|la même|le même|rouge)|chaque|tous les|toutes les|interdite?s?|rien|uniquement|doi(?:t|vent)|"
    r"à la main)\b|"
    r"\b(?:nunca|jamás|siempre (?!falla|el mismo)|sempre (?!falha|o mesmo)|cada|tod[oa]s (?:l[oa]s|os|as)|prohibid[oa]s?|"
    r"proibid[oa]s?|deben?|devem?|a mano|à mão)\b|"
    r"\b(?:mai|ogni|vietat[oi]|deve|devono|nooit|altijd|elke|verboden|moeten?)\b|"
    r"\b(?:никогда|всегда|кажд\w{1,6}|запрещ\w{1,6}|нельзя|ничего|только|долж\w{1,4}|вручную)\b|"
    r"直接编辑|自動生成|必须|禁止|一律|每次|每个|所有|绝不|永远|严禁|必ず|常に|決して|絶対に|すべて|毎回|"
    r"직접 수정하지|항상|반드시|절대|금지|모든",
    _I,
)
# One thing instead of another, or two alternatives that are both ruled out.
_SWAPPED = later(
    r"\b(?:instead(?: of)?|rather than|in place of|(?:and |, ?)(?:never|not)\s(?!yet|now|that|this|the|what)|"
    r"(?:use|with|via) [^,;.]{1,40}[,;] ?(?:no|not|never|don'?t)|"
    r"(?:don'?t|do not|no|never) [^,;.]{1,40}[,;.—–-]{1,2} ?(?:please )?(?:use|prefer|take|go with|we use|we have)|"
    r"no [\w./-]{2,30},? (?:and |or )?no|"
    r"statt|anstatt|anstelle|(?:, |und )(?:nicht|kein\w{0,2}) (?!jetzt|das|die|der|hier)|"
    r"au lieu d|plutôt qu|(?:en vez|en lugar|em vez) de|invece di|al posto di|in plaats van|вместо|а не)"
    r"|而不是|不要再?用|ではなく|代わりに|대신",
    _I,
)
# "No sudo", "kein any": a prohibition of a kind of thing.
_NO_SUCH = later(
    r"^(?:[\w #+./*-]{1,30}: ?|(?:in|on) [\w#+.-]{2,20}(?: code)?,? |(?:absolutely|strictly|please|bitte|por favor|"
    r"s'il te plaît),? ){0,2}"
    r"(?:(?:(?:leave|make|create|add) )?no(?! (?:need|more|problem|idea|longer|worries|commit|push|tests?|files?|changes?)\b)|"
    r"kein(?:e|en|em|er|erlei)?|nada de|pas d[e']|niente|nessun[oa']?|sem|sin|geen|никаких)"
    r"(?:(?<=')|[\s`'\".*@:!-])[`'\"\w.*@:!<-]",
    _I,
)
_DONT = later(
    r"\b(?:don'?t|do not|never|avoid|stop using|not to|must not)\b|\b(?:nicht|vermeide)\b|\bn[e']|\b(?:no|não|non|niet) |"
    r"\bне |不要|别|しないで|ないこと|마세요|지 마",
    _I,
)
_DONT_USE = later(
    r"^(?:please )?(?:[\w #+./-]{1,30}: ?|(?:in|for) [\w#+ -]{2,20},? )?"
    r"(?:(?:please )?(?:don'?t|do not|never|avoid|stop)(?: (?:ever|use|using|import|importing|pull(?:ing)? in|set|setting))?|"
    r"in [\w#+.-]{2,20} (?:code|files),? (?:please )?(?:don'?t|do not) |n'utilise[zr]? pas|no us(?:es?|ar)|não us(?:e|ar)|"
    r"non us(?:are|i)|не используй(?:те)?|(?:verwende|benutze|nutze)\b.{0,40}nicht)\s",
    _I,
)
_FLAG = later(r"(?<![\w-])--?[a-zA-Z]\w*")
# "Don't use sudo" is about a tool, "don't reboot the machine" is about a step.
_AVOIDS = later(
    r"^(?:please )?(?:don'?t|do not|never|avoid|stop) (?:ever )?(?:use|using)\b|^(?:bitte )?(?:verwende|benutze|nutze) kein|"
    r"^n'utilise|"
    r"^no us(?:es?|ar)\b|^não us(?:e|ar)\b|^non usare\b|^не используй",
    _I,
)
# Subjects in the plural, with which a sentence describes how things are done.
_KINDS_OF_THINGS = later(
    r"^(?:(?:new|all|our|git|unit|integration|e2e|custom|helm|react|vue|shell|bash|python|sql|db|database|feature|neue|"
    r"alle|unsere)\b\s?)"
    r"{0,3}(?:(?:commit|git|branch|commit-)\s?)?(?:commits?(?= (?:always|need|must|in|are|have|carry|messages|subjects))|"
    r"messages|"
    r"subjects|titles|branches|names|tests|specs|components|scripts|files|migrations|docs|charts|hooks|types|images|comments|"
    r"worktrees|imports|mocks|helpers|utils|fixtures|styles|icons|models|routes|handlers|services|configs|"
    r"nachrichten|commits|dateien|tests|skripte|komponenten|kommentare|zweige|branches)\b"
    r"(?! (?:are (?:a|missing|broken|red|green|slow|gone|there|wrong)|have no|live in \S{1,40} or|fail|is)\b)",
    _I,
)
_COMMIT_KINDS = later(
    r"^commit[- ]?(?:messages|subjects|nachrichten|titles)\b|^commits\b|^branch(?:es| names|namen)\b|"
    r"^commit (?:message|subject|title)s? (?:max|at most|up to|always)\b|^imperative\b|^conventional commits\b",
    _I,
)
_DIRECTLY = later(r"\b(?:direct(?:ly)?|direkt|directement|directamente|diretamente)\b|直接|напрямую", _I)
# Orders of the moment: a verb of work on something, at the start of a clause.
_WORK = later(
    r"(?:^|[,;:—–] ?|\. |\b(?:and|but|then|und|et|y|e|и) )(?:please |just |only |bitte )?"
    r"(?:fix|add|change|replace|rename|remove|drop|move|make(?! no\b)|create(?! no\b)|write(?! no\b)|update|delete|"
    r"implement|refactor|show|look|check|read|"
    r"open|try|start|stop|revert|undo|merge|amend|squash|deploy|install(?! (?:\w+ )?(?:with|via|through|using)\b)|"
    r"go(?![.\w])|do(?! not\b|n')|explain|finish|continue|give|find|debug|put|let'?s|"
    r"edit|stage|convert|count|search|find|"
    r"commit(?!s\b| messages?\b| subjects?\b|-|ing\b| only| always| nur| immer)|push(?!es\b| only| nur| always)|"
    r"run(?!\b.{0,80}\b(?:before|after|whenever|every time|with|via|through)\b)|"
    r"repair|restore|test|call|exclude|ignore|skip|keep|wait|regenerate|build|redo|"
    r"repariere?|korrigiere?|schau|zeig|ändere?|mach|lösche?|ersetze?|corrige|change|montre|arregla|cambia|muestra)\b(?!:)",
    _I,
)
_SPEAKER = later(
    r"\b(?-i:I)\b|\b(?:I'm|I'll|I'd|I've|me|my|mine|us|we need|we want|ich|mir|mich|mein\w{0,2}|je|moi|mon|yo|eu|meu|"
    r"minha)\b|\bj'|"
    r"[我私]|저는|\b(?:я|мне|мой)\b",
    _I,
)
# What someone or something did, does or has, as in "you pushed to main" and "npm install takes long". A reason may.
_TELLS = later(
    r"\b(?:you|someone|somebody|he|she|they|Tom|we) (?:\w{2,20}ed|forgot|broke|ran|wrote|did|had|have|used)\b|"
    r"\b(?:says?|said|complains?|claims?|warns?|prints|shows)\b|"
    r"\b(?:was|were|isn't|aren't) \w|\b(?:is|are) (?:too|there|used|not used)\b|"
    r"\b(?:takes|gets|got|(?<!be )changed|works?|worked|finishes|hangs|fails)\b(?! (?:overwritten|regenerated|longer))|"
    r"\b(?:don'?t|do not) (?:have to|need to|bother|worry)\b|\bcould (?:you|we)\b",
    _I,
)
# A state that passes.
_PASSING = later(
    r"\b(?:is|are|isn't|aren't|was|were) (?:not |still |currently )?(?:installed|running|missing|busy|down|up|red|green|"
    r"in use|empty|full|huge|slow|broken|a mess|done|ready|unrelated|wrong|failing)\b|"
    r"\b(?:crash(?:es|ed)?|hangs|fails|stuck)\b|[,;] (?:right|correct|ok(?:ay)?|yes)[.]?$|"
    r"^no \w{2,20} (?:uses|imports|calls|has|needs|contains|changed)\b|"
    r"\b(?:ist|sind) (?:rot|weg|kaputt|voll|langsam)\b",
    _I,
)
_CLAUSE = later(r"[,;:—–]|\s-\s|\bbecause\b|\bsince\b|\bweil\b")
# Something that only this conversation makes clear.
_POINTED = later(
    r"\b(?!edit|touch|change|modify|delete|commit|read)\w{2,20} (?:it|them) (?:with|to|in|into|on|from|as|via|for|instead)\b|"
    r"\b(?:for|in|with|on|to|from|of) (?:this(?! (?:machine|repo|project|codebase|host|server))|that|it|them|these|those)\b|"
    r"\b(?:use|run|fix|start|call|move|put|make|do|keep|leave|show|try|create|build|need|see|get|want) (?:it|them|that|this)\b|"
    r"\bthe (?:new|old|current|other|same|feature|test|login|next|last) \w|, only (?:the )?[\w/]{1,40}$|"
    r"\b(?:the|dem|den|der) (?!(?:repo\w{0,10}|project|root|code\w{0,5}|whole|entire|shell|terminal|command|cli|front|"
    r"back|app|api|"
    r"logger|logging|ticket|user|team|wrapper|main|default|column\w?|field\w?|production|prod|issue|jira|github|platform|"
    r"global\w{0,2}|npm|build|"
    r"generated|lock|migrations?|vendor|legacy|body|subject|scope|imperative|type|last|first line|tool|standard|native|"
    r"stdlib|database|db|projekt|code|wurzel|team|befehl\w{0,5}|datei|ordner|shell|konsole|hauptzweig|standard\w{0,12}|"
    r"path|folder|director(?:y|ies)|files? (?:in|under)|sources?|template|generator|docs|commits?|branch(?:es)?|header of|"
    r"[\w-]{0,20}(?:[/.*_][\w*/.-]*)|[\w.-]{1,30} (?:folder|director(?:y|ies)|files?|command|package|module|branch|flag|"
    r"wrapper|"
    r"script|binary|library|binar(?:y|ies)|tool|team|key|row|rows|option)|\w{2,20} (?:goes|gets|is|are|takes|needs|breaks|"
    r"has|have|does|uses|will|can|comes|gehört|ist|wird))\b)[a-z]",
    _I,
)
# A requirement on a part of the program rather than on the work, as in "the script must not call npm".
_PROGRAM = later(
    r"^(?:the|our|a|an|der|die|das|unser\w?|ein\w?|le|la|les|un|une|el|los|las|o|a|наш\w{0,2}) "
    r"(?!(?:files?|folders?|director(?:y|ies)|branch(?:es)?|commits?|datei(?:en)?|ordner|verzeichnis\w{0,2}|fichiers?|"
    r"dossiers?|"
    r"archivos?|carpetas?|[\w-]{0,20}(?:[/.*_][\w*/.-]*)|main|master|develop|`x`)\b)(?:[\w/.-]{1,30} ){1,3}?"
    r"(?:must|should|needs? to|has to|may|can|darf|dürfen|muss|müssen|soll|(?:ne )?doi(?:t|vent)|(?:no )?deben?|"
    r"(?:não )?deve)\b",
    _I,
)
_IN_ONE_FILE = later(
    r"\b(?:in|for|to|from) (?:the |a )?[\w/-]{0,60}(?:Dockerfile|Makefile|\w\.(?:ya?ml|json|toml|cfg|ini|md|html))\b", _I
)
_DELEGATED = later(r"\blet \w{1,20} do (?:it|that)\b", _I)
_ONE_SOURCE_FILE = re.compile(
    r"\.(?:py|pyi|ts|tsx|js|jsx|mjs|cjs|go|rs|java|kt|swift|c|cc|cpp|h|hpp|cs|rb|php|vue|svelte|css|scss|html|sh|sql|ex|"
    r"exs)$",
    _I,
)
_FOR_GOOD = later(r"\b(?:never|always|generated|by hand|manually|nie(?:mals)?|von hand|jamais|nunca|mai)\b|никогда|禁止|絶対", _I)
_SECRET_FILE = re.compile(r"\.env|secret|credential|\.pem$|\.key$|id_rsa|password|\.npmrc|\.netrc", _I)
# Commands that are forbidden for the moment as often as for good.
_EVERYDAY = re.compile(
    r"(?:git|gh|hg|svn|npm|pnpm|yarn|bun|pip|uv|cargo|go|make|docker|docker-compose|kubectl|mvn|gradle|dotnet|composer|"
    r"bundle|rake|"
    r"terraform|helm) [\w:-]+$"
)


def may_be_standing(core: str) -> bool:
    """Return whether a sentence may hold beyond the moment. A cheap test before its check is sought."""
    bare = _CODE.sub("`x`", core)
    return (
        2 <= size(core) <= MAX_WORDS
        and not moment.is_strictly_momentary(bare)
        and not moment.asks(bare)
        and not _PASSING.search(bare)
        and not _SPEAKER.search(bare)
        and not _PROGRAM.match(bare)
    )


def standing(core: str, check: Check) -> Standing:
    """Return how clearly a sentence that may be standing, and has this check, holds beyond the moment."""
    bare = _without_names(core, check)
    quantified = bool(_QUANTIFIED.search(bare))
    one_file = any(_ONE_SOURCE_FILE.search(path) and "*" not in path for path in check.paths)
    if (one_file and not _FOR_GOOD.search(core)) or _is_of_the_moment(bare, quantified):
        return Standing.NO
    if quantified or (check.kind in (CheckKind.MESSAGE, CheckKind.BRANCH) and _COMMIT_KINDS.match(core)):
        return Standing.CLEAR
    if check.new is New.ONLY and _KINDS_OF_THINGS.match(core):
        return Standing.LIKELY
    return Standing.LIKELY if _is_general(core, check) else Standing.NO


def _without_names(core: str, check: Check) -> str:
    """Mask code and the commands of the check, since "make lint" and "go test" are no orders to make and to go."""
    text = _CODE.sub("`x`", core)
    for part in check.parts():
        for name in (*part.words, *part.first, part.instead):
            if " " in name and name[0].isalpha():
                text = re.sub(rf"\b{re.escape(name)}\b", "`x`", text, flags=_I)
    return text


def _is_of_the_moment(bare: str, quantified: bool) -> bool:
    """Return whether a sentence without names reports, gives a task or points at something."""
    if not quantified and moment.binds(bare):
        return True
    main = next((part for part in _CLAUSE.split(bare) if size(part) > 1), bare)
    if moment.reports(main) or _TELLS.search(main):
        return True
    work = _WORK.search(bare)
    if work and not (work.start() and re.search(r"\binstead(?: please)?\W*$", bare, _I)):
        return True
    return not CJK.search(bare) and _POINTED.search(_DELEGATED.sub("", bare)) is not None


def _is_general(core: str, check: Check) -> bool:
    """Return whether a sentence without a word for "always" forbids a kind of thing, or names what to use instead."""
    if check.kind is CheckKind.PATH:
        if _DONT.search(core) and _DIRECTLY.search(core):
            return True
        secret = check.access is Access.READ and any(_SECRET_FILE.search(path) for path in check.paths)
        return secret or (check.new is New.ONLY and bool(_NO_SUCH.match(core) or _DONT.search(core)))
    if _IN_ONE_FILE.search(core):
        return False
    if check.kind is CheckKind.CONTENT:
        return bool(_NO_SUCH.match(core) or _DONT_USE.match(core) or _SWAPPED.search(core))
    if check.kind is CheckKind.COMMAND:
        if _SWAPPED.search(core):
            return bool(check.instead) or len(check.words) > 1
        if check.branch and (_NO_SUCH.match(core) or (_DONT.search(core) and _DIRECTLY.search(core))):
            return True
        if not all(" -" in word or not _EVERYDAY.match(word) for word in check.words):
            return False
        return bool(_NO_SUCH.match(core) or _AVOIDS.match(core) or (_DONT_USE.match(core) and _FLAG.search(core)))
    return bool(_NO_SUCH.match(core) or _SWAPPED.search(core))
