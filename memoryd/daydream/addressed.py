"""Decide from a sentence's structure whether its rule addresses the agent. Pure functions that run in linear time.

The word of a rule ("always", "never" …) counts where it governs the main clause of an order, or of what the user, the
agent or both do. It does not count inside a phrase about somebody else ("tells visitors to always …", "the line about
always using …", "a robot who must never …"), in the past ("we never released …"), or in a specification of what the
program does ("Customers must always log in. Add that validation.").
"""

from __future__ import annotations

import re
from enum import Enum
from itertools import islice

from memoryd.daydream.quoted_signs import OPENERS
from memoryd.language.patterns import later


class Addressee(Enum):
    """Whom a rule addresses."""

    AGENT = "agent"
    UNSURE = "unsure"
    OTHERS = "others"


def addressee(sentence: str, before: str = "", following: str = "") -> Addressee:
    """Return whom the rule in a sentence addresses. `before` and `following` are the sentences next to it."""
    shown = sentence[:MAX_CHARS]
    rule = _RULE.search(shown)
    if rule is None:
        return Addressee.AGENT
    # A later clause of the user's own counts on its own ("We used yarn, but from now on always …").
    if _OWN_CLAUSE.search(shown):
        return Addressee.AGENT
    if (
        _is_said_by_others(shown)
        or _EXAMPLE_NEXT.search(before)
        or any(sign.search(shown) for sign in _EMBEDDED)
        or _is_past(shown)
        or _is_legal(shown)
    ):
        return Addressee.OTHERS
    if _SPEAKER.match(shown) and _ASKS_FOR_THING.match(before):
        return Addressee.OTHERS
    if not _is_about_things(shown):
        return Addressee.AGENT if _is_direct(shown) else Addressee.UNSURE
    if _SPECIFIES.search(shown[rule.end() :]) or _SPECIFIES_NEXT.match(following) or _continues(before):
        return Addressee.OTHERS
    return Addressee.UNSURE


def states_rule(text: str) -> bool:
    """Return whether the text contains a word such as "always" or "must"."""
    return _RULE.search(text) is not None


def is_unsure(text: str) -> bool:
    """Return whether the text contains rules and none of them certainly addresses the agent."""
    sentences = _SENTENCE.split(text[: MAX_CHARS * 4])
    found = [addressee(sentence) for sentence in sentences if _RULE.search(sentence[:MAX_CHARS])]
    return bool(found) and Addressee.AGENT not in found


def is_titled_list(text: str) -> bool:
    """Return whether the text is only a list below a short title without punctuation, like a page of a document."""
    title, _, rest = text.strip().partition("\n\n")
    lines = [line for line in rest.splitlines() if line.strip()]
    if len(lines) < MIN_ITEMS or not all(_ITEM.match(line) for line in lines):
        return False
    return _TITLE.fullmatch(title) is not None and _OWN_TITLE.search(title) is None


MAX_CHARS, MIN_ITEMS = 600, 2
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n")
_ITEM = re.compile(r"^\s*(?:[-*+•·–]|\d{1,2}[.)])\s+\S")
_TITLE = re.compile(r"[^\W\d_a-zäöüß][\w'’-]{0,30}(?: [\w'’-]{1,30}){0,5}")
_OWN_TITLE = later(
    r"\b(?:rules?|conventions?|preferences?|reminders?|please|my|our|we|i|you|always|never|notes?|regeln|wichtig|bitte)\b",
    re.IGNORECASE,
)
_ALWAYS = r"(?:always|never|(?:not|n['’]t) ever|from now on|immer|stets|niemals|nie|toujours|jamais|siempre|nunca|sempre|mai)"
_MODAL = r"(?:must(?:n['’]t)?|should(?:n['’]t)?|shall|ought to|ha(?:s|ve) to|needs? to|(?:is|are) (?:never |not )?allowed to|may|can(?:not)?)"
_RULE = later(rf"\b(?:{_ALWAYS}|{_MODAL})\b", re.IGNORECASE)
_OWN_CLAUSE = later(
    r"(?:^|[,;:–—-] ?|\b(?:and|but|so) )(?:(?:and|but|so|therefore|then|please|also) )*"
    r"(?:from now on|going forward|here we|(?:in|for) (?:this|our|my) \w+|i (?:want|need|expect|would like|['’]d like) (?:you|us|to|that|every|all|it)\b|i prefer\b|"
    r"(?:i|we)['’]?(?:ve| have)? (?:decided|agreed)\b)(?! (?:all|every) teams?\b)",
    re.IGNORECASE,
)
# Verbs whose object, rather than the user, is to follow the rule
_TELLS = (
    r"(?:tell|ask|remind|instruct|teach|advise|encourage|urge|warn|order|require|force|oblige|expect|allow|invite|get|want|need|lead|"
    r"train|beg|persuade|convince|command)(?:s|e?d|ing)?|told|taught|led"
)
# Verbs of making a text or thing
_MAKES = (
    "write|create|make|draft|compose|generate|invent|imagine|sketch|produce|prepare|design|build|include|insert|add|give|tell|sing|draw|paint|schreibe?|erstelle|entwirf|verfasse|erfinde|mache?|füge|"
    "écris|crée|rédige|compose|invente|escribe|crea|redacta|compón"
)
_EMBEDDED = tuple(
    later(source, re.IGNORECASE)
    for source in (
        # "the line about always using …"
        r"^(?!.*\b(?:insist|in favou?r|keen|believe in|count|rely|stick|focus|thank|thanks|sorry)\b.*\b(?:always|never)\b)[^:\n]*?\b(?:about|on|of|against|for|from|by|with|to|in|over|between|without|than) (?:always|never|not ever) \w+ing\b",
        r"^(?!\W*(?:acuérdate|recuerda|trata|asegúrate|procura|no (?:te )?olvides|te pido|quiero|n['’]oublie|pense|essaie|veille|je te demande|merci|prière|ricorda|cerca|lembra|tenta)\b)[^:\n]*?\b(?:(?:en|sobre|por|con|sin|de) (?:usar|\w+(?:ar|er|ir)) (?:siempre|nunca)|"
        r"(?:de|à|pour|sur|sans) (?:toujours|ne jamais) \w+(?:er|ir|re))\b",
        # "requires clients to always …"
        rf"(?<!i )(?<!i['’]d )(?<!would )(?<!we )\b(?:{_TELLS}) (?!you\b|me\b|us\b|to\b)(?:[\w.'’/-]+ ){{1,5}}(?:to (?:please )?(?:always|never|not)|not to|never to)\b",
        # "Gemini proposed to always …", "my manager would like us to always …"
        r"^\W*(?!(?:i|we|you|please|it)\b)(?:[\w'’./-]+ ){1,5}?(?:(?!(?:need|used|need|suppos|allow)(?:s|ed)\b)\w{3,20}(?:ed|es|s)|(?:would|['’]d) (?:like|prefer|love|rather)|keeps? \w+ing) (?:that )?(?:us |me |you |everyone |everybody )?to (?:always|never)\b",
        # "Everybody seems to think that you must always …"
        r"\b(?:everybody|everyone|people|many|most|some|they|he|she|who(?:ever)?|nobody) (?:\w+ ){0,4}?(?:thinks?|believes?|claims?|says?|assumes?|insists?|swears?|argues?|pretends?)\b[^.;:!?]{0,40}\b(?:always|never|must|should)\b",
        r"\b(?:does|do|did|would)(?:n['’]t| not) mean\b[^.;:!?]{0,40}\b(?:always|never|must|should|have to)\b|\bwas(?:n['’]t| not) (?:asking|talking|thinking)\b[^.;:!?]{0,30}\b(?:always|never)\b",
        # "They would always …", "we won't always …", "I'd be tempted to always …"
        r"\b(?!i\b|we\b|you\b)\w+ would (?:always|never)\b|\b(?:i|we|they|it|you) (?:won['’]t|will not|don['’]t|do not|doesn['’]t|needn['’]t|can['’]t|cannot) always\b|\b(?:nobody|no one|no-one) (?:has|needs) to (?:always|ever)\b",
        r"\bi(?:['’]d| would)(?:n['’]t| not)? (?:be tempted|go so far|hesitate|argue|guess|even)\b[^.;!?]{0,40}\b(?:always|never)\b",
        r"^\W*(?:alternatively|hypothetically|theoretically|in theory),? [^.;!?]{0,40}?\b(?:always|never|from now on)\b",
        # Reported speech and what was valid, in German
        r"\bman (?:dürfe|solle|müsse|könne)\b|\bgalt(?:en)?\b[^.;!?]{0,60}\b(?:immer|nie|niemals|stets)\b|^\W*(?:nach|laut|gemäß) (?:der|dem|den) \w+ (?:darf|muss|soll|sollte|dürfen|müssen|sollen) (?:man|wir|ich)\b",
        # A rule that a word names as a text
        r"\b(?:sentences?|lines?|texts?|phrases?|hints?|notes?|messages?|strings?|something) (?:like|such as) [^.;!?\n]{0,30}?\b(?:always|never|from now on|must)\b",
        r"^(?!.*\b(?:follow|remember|apply|obey|keep|learn|adopt|note)\b)[^.;!?\n]*?\b(?:this|that|the following|these) (?:principle|rule|policy|sentence|guideline|idea|claim|statement|saying|motto|slogan|line|convention)s?[,:–—-]+ (?:always|never|from now on)\b",
        # An example, and what holds only once
        r"\S (?:such as|e\.g\.|for (?:example|instance)|say|z\. ?B\.|par exemple|por ejemplo)[,:]? (?:always|never|from now on|must|immer|nie|niemals|toujours|siempre|nunca)\b",
        r"\b(?:just|only) (?:this (?:time|once|one time)|for (?:now|today|this (?:run|task|search|session|commit|pr|one)))\b|\bthis one time\b|\bnur (?:dieses mal|diesmal|heute)\b",
        r"^\W*(?:should|if|when|in case) (?:any(?:one|body)|some(?:one|body)|they|he|she|customers?|users?|people) (?:\w+ ){0,2}?(?:asks?|wonders?|complains?)\b",
        # "a robot who must always …", "a story in which …"
        r"\b(?:an?|some|every|the|those|people) (?:[\w'’-]+ ){1,4}(?:who|whose|in which|(?:whose|in whose) \w+) (?:[\w'’-]+ ){0,5}(?:always|never|must|should)\b",
        r"\b(?:in which|in whose|whose) [^.;:!?]{0,60}?\b(?:always|never|must|should)\b|\ban? (?:[\w'’-]+ ){1,4}(?:where|wherein) [^.;:!?]{0,60}?\b(?:always|never|must|may|ever)\b",
        r"\beine[nrms]? (?:[\wäöüß-]+ ){1,3}?[\wäöüß-]+, (?:der|die|das|dessen|deren|in der|in dem) [^.,;:]{0,60}\b(?:immer|nie|niemals|stets)\b",
        # "whether to always …"
        r"\b(?:whether|ob) [^.;:!?]{0,80}?\b(?:always|never|must|should|immer|nie|niemals)\b",
        # "if I ever say always …"
        r"\b(?:if|when|whenever|in case|once|unless|wenn|falls) (?:[\w'’]+ ){0,5}?(?:say|says|said|tell|tells|told|write|writes|wrote|type|types|typed|ask|asks|asked|sage|sagt|schreibt|objects?|agrees?) "
        r"(?:(?:that|you|to|me|us|we|i|the \w+) ){0,4}(?:might |should |must )?(?:always|never|from now on|immer|nie|niemals)\b",
        # "Write a poem about a man who …", "Include a rule to always …": one thing to be made, not a habit
        rf"^(?!.*\b(?:each|every|whenever|when|if|jede\w?|wenn|chaque|cada)\b.*\b(?:always|never|immer|niemals|nie)\b)\W*(?:(?:please|pls|now|then|and|also|can you|could you|bitte|jetzt|dann)[, ]+)*(?:{_MAKES}) (?:me |us |mir |uns )?"
        r"(?:an?|two|three|four|five|ten|some|eine?[nrms]?|zwei|drei|une?|deux|una?|dos) [^.!?;\n]*?[^.!?;,\n] (?:always|never|must|immer|nie|niemals|toujours|jamais|siempre|nunca)\b",
        r"^\W*(?:(?:please|bitte)[, ]+)?(?:schreib|schreibe|erstelle|entwirf|verfasse|dichte|erfinde) (?:mir |uns )?eine?[nrms]? [^.!?;\n]*?\b(?:immer|nie|niemals|stets)\b",
        # Other worlds
        r"^\W*(?:in|at|on) (?:an?|another|some|any other|einem|einer|un|une|una) (?:[\w-]+ ){0,2}(?:universe|world|company|team|dream|galaxy|scenario|future|life|place|country|movie|film|book|novel|game|story|planet|village|kingdom|welt|firma|traum|universum|monde|univers|empresa|mundo)\b[^.!?;\n]*?\b(?:always|never|immer|nie|toujours|jamais|siempre|nunca)\b",
        # Thinking aloud
        r"\b(?:i|we)(?:['’]m|['’]re| am| are| was| were| have been|['’]ve been) (?:\w+ )?(?:thinking|wondering|considering|debating|pondering|toying|contemplating|musing)\b[^.;!?]{0,80}\b(?:always|never|must|should)\b",
        r"\b(?:we|i|it|that|this|one|you|they) (?:might|could|may well) (?:\w+ ){0,4}?(?:always|never|from now on)\b",
        r"^\W*(?:might|could) be [^.;!?\n]{0,40}\b(?:always|never)\b",
        # "Word is that …", "I get the warning that …"
        r"\b(?:(?<!my )(?<!our )(?:word|rumou?r|claim|theory|story|myth|legend|saying|impression|suggestion|proposal|warning|message|hint|notice|complaint|advice|comment|feedback|tip|line|sentence|text|note|belief|notion|wisdom|consensus|view|opinion|feeling|assumption|prejudice|tradition)) "
        r"(?:(?:is|was|goes|says|has it) )?that\b[^.;!?\n]{0,80}?\b(?:always|never|must|should|from now on|may)\b",
        # Somebody, nobody in particular, or others as the subject of what is said
        r"^\W*(?:(?:yesterday|today|recently|once|then|and|so),? )?(?:someone|somebody|(?:a|some|this|that|one) (?:guy|man|woman|person|user|colleague|friend|commenter|stranger|dude|blogger|speaker)|people|folks) "
        r"(?!must\b|should\b|who\b)(?:[\w'’-]+[ :,]+){1,12}?(?:always|never|from now on|must|should)\b",
        # "Their interns must never …"
        r"^\W*(?:their|his|her) (?:[\w'’-]+ ){1,5}?(?:always|never|must|should|shall|(?:is|are) (?:never|not|always))\b",
        # "Back then the rule was never to …"
        r"\b(?:was|were|had been|used) (?:\w+ ){0,3}?(?:to )?(?:always|never|not to)\b",
        r"\b(?:had|needed|were required|was required) to\b[^.;!?]{0,60}\b(?:always|never|every|each)\b|\b(?:always|never) (?:had|needed) to\b",
        # Others as the subject of "always" without any modal: "visitors always complain", "the other team never deploys"
        r"^\W*(?:[\w'’ ]{1,40}, )?(?:the other|another|some|most|many|few|big|other) [\w'’ -]{1,40}? (?:always|never) (?!be\b)\w+",
        r"^\W*(?:musste|mussten|durfte|durften)\b|\b(?:man|wir|ich|sie) (?:musste|mussten|durfte|durften) [^.;!?]{0,30}\b(?:immer|nie)|\b(?:musste|mussten|durfte|durften) (?:man|wir|ich|sie) [^.;!?]{0,30}\b(?:immer|nie)",
    )
)


def _is_said_by_others(sentence: str) -> bool:
    """Return whether the rule is in a clause of content ("that …") whose main clause is neither an order nor the user's."""
    clause = _CONTENT.search(sentence)
    if clause is None or _RULE.search(sentence, 0, clause.start("link")):
        return False
    main = _WORD.findall(sentence[: clause.start("link")].casefold())
    return bool(main) and main[0] not in _OPENS_OWN and _OWN_MAIN.isdisjoint(main)


_CONTENT = later(rf"\b(?P<link>that|as though|as if|dass|daß) (?:[\w'’&-]+ ){{1,4}}?(?:{_ALWAYS}|{_MODAL})\b", re.IGNORECASE)
_OWN_MAIN = frozenset(
    "i we you me us my our i'd i'm i've we've we'd we'll i’d i’m i’ve we’ve make ensure sure remember note keep mind important essential crucial vital clear decided agreed decision so such "
    "rule rules convention policy principle please know see careful means mean ich wir du mir uns mein unser wichtig denk merk sorge achte".split()
)
_EXAMPLE_NEXT = re.compile(r"(?<=\S )(?:e\.g\.|z\. ?B\.|p\. ?ex\.|p\. ?ej\.|etc\.)$", re.IGNORECASE)
_PAST = later(
    r"(?<!be )(?<!is )(?<!are )(?<!get )(?<!gets )(?<!being )(?<=\w )\b(?:always|never) (?P<done>[a-z]{2,20}ed)\b(?! to\b)|"
    r"\b(?:i|we|he|she|they|it|you|people|everyone|everybody|nobody) (?:always|never) "
    r"(?P<verb>[a-z]{2,20}ed|had|did|went|ran|took|got|made|kept|wrote|came|left|built|sent|found|gave|saw|broke|spoke|shipped)\b",
    re.IGNORECASE,
)
# Forms of the past that languages with endings use for what was usual
_PAST_ENDING = later(
    r"\b(?:siempre|nunca|jamás) (?:\w+ ){0,2}?\w+(?:ábamos|íamos|aban|ían|aba|ía)\b|\b\w+(?:ábamos|íamos|aban|ían) (?:\w+ )?(?:siempre|nunca)\b|\b(?:usávamos|\w+ávamos) sempre\b|\bsempre \w+(?:ávamos|íamos|avam)\b|"
    r"\b\w+(?:avamo|evamo|ivamo|avano|evano|ivano) (?:sempre|mai)\b|\b\w{3,}(?:aient|ions) (?:toujours|jamais)\b|\b(?:on|il|elle|je|tu|mon \w+|ma \w+) (?!fai[ts]|sai[ts]|connai|plaî|paraî)\w{2,}(?:ait|ais) (?:toujours|jamais)\b|\b(?:мы|они|я|он|она|все) (?:\w+ )?(?:всегда|никогда не) \w+(?:ли|ла|л)\b|"
    r"\b(?:haben|hatten) (?:wir|sie|die \w+) (?:\w+ )?(?:immer|nie|stets)\b|\b(?:wir|sie|ich) (?:haben|hatten|habe|hatte) (?:\w+ )?(?:immer|nie|stets)\b",
    re.IGNORECASE,
)
# Present forms that end like the past: "we always need", "we never embed"
_PRESENT = re.compile(r"(?:eed|bed|shed|shred|sled|wed)$", re.IGNORECASE)


def _is_past(sentence: str) -> bool:
    """Return whether somebody always or never did something."""
    if _PAST_ENDING.search(sentence):
        return True
    found = _PAST.search(sentence)
    return found is not None and not _PRESENT.search(found["verb"] or found["done"])


def _is_legal(sentence: str) -> bool:
    """Return whether the sentence is a clause of a contract ("The Contractor shall …", "You shall never …")."""
    return _SHALL.search(sentence) is not None


_SHALL = later(
    r"^(?!\W*(?:we|i|let)\b)\W*(?:(?:\(?\w{1,3}[.)] ?)?(?:the |each |every |any |all )?[A-Z][\w'’-]*(?: [\w'’-]+){0,4}) shall (?:always|never|not|at all times)\b"
)
# The subject of a rule that is neither the user, the agent nor an order
_THING = later(
    r"^\W*(?:(?:and|but|so|also|then) )?(?:[Ii]t|[Tt]hey|[Hh]e|[Ss]he|(?:[Tt]he|[Aa]n?|[Tt]his|[Tt]hese|[Tt]hose|[Oo]ur|[Mm]y|[Aa]ll|[Ee]very|[Ee]ach|[Nn]o)\s(?:[\w'’./-]+\s){0,4}?[\w'’./-]+|(?:[A-Z][\w'’-]*)(?:\s[\w'’-]+){0,3}?) "
    rf"(?:(?:always|never) )?(?:{_MODAL}|always|never)\b",
)
_NO_THING = later(
    r"^\W*(?:(?:and|but|so|also|then) )?(?:please|i|we|you|let|do|don['’]t|make|keep|remember|note|if|when|whenever|before|after|for|in|on|as|to|at|by|with|from|here|there|no|yes|ok|okay|"
    r"never|always|again|stop|why|this is|that is|use|run|write|put|add|because|since|while|until|once|the rule|the convention|my rule|our rule|(?:the|our|my) (?:\w+ )?(?:rule|convention|policy|agreement|decision))\b",
    re.IGNORECASE,
)


def _is_about_things(sentence: str) -> bool:
    return _THING.match(sentence) is not None and _NO_THING.match(sentence) is None


def _is_direct(sentence: str) -> bool:
    """Return whether a word such as "always" begins a clause, or follows only the user, the agent, a verb or an adverbial.

    Sentences without such a word, or in languages whose word order is not known here, count as direct.
    """
    found = list(islice(_STRONG.finditer(sentence), MAX_STRONG))
    return not found or any(_is_own_head(sentence[: match.start()]) for match in found)


def _is_own_head(head: str) -> bool:
    words = _WORD.findall(_CLAUSE.split(head)[-1].casefold())
    order = not words or words[0] in _OPENS_OWN or (head[:1].isupper() and _GERMAN_ORDER.fullmatch(words[0]) is not None)
    return order or all(word in _LIGHT for word in words)


MAX_STRONG = 6
_STRONG = later(r"\b(?:always|never|(?:not|n['’]t) ever|immer|stets|niemals|nie)\b", re.IGNORECASE)
_WORD = re.compile(r"[\w'’]+")
_CLAUSE = later(r"[,;:.!?–—()|*\n]|\s-\s|\b(?:and|but|so|or|then|therefore|und|aber|oder|also|sondern)\b", re.IGNORECASE)
_GERMAN_ORDER = re.compile(r"[a-zäöüß]{2,20}(?<!ie|de|ne|re)e")
# Words that open an order, or a phrase on when and where it holds
_OPENS_OWN = (
    OPENERS | {"let's", "let’s", "laut", "gemäß", "per", "according", "send", "during", "within", "inside", "beim", "während"}
) - frozenset(
    "a the this these those that they there it all every each everything everyone any again both some nothing one two only we'll "
    "der die das dass diese ein eine es keine kein alle alles wer was wie".split()
)
# Words between the beginning of a clause and the word of its rule if the user speaks of oneself, both or the agent
_LIGHT = frozenset(
    "i we you me us i'd i'm i'll i've we're we've we'd we'll you're you'll you'd i’d i’m i’ve we’re must should shall have to had will would can could do don't please just also really again ever "
    "now here want wants need like prefer expect insist ask asked tell told said say mean meant decided agreed know remember sure that is be are it's its important essential crucial vital "
    "good best better as said twice once more no yes ok okay hey hi well claude everyone everybody nobody all of rule convention policy agreement my our the a one new "
    "ich wir du ihr man mir dir uns bitte soll sollst sollen muss musst müssen will möchte dass hier jetzt und es ist wichtig denk daran merk".split()
)
_DO_THAT = (
    r"(?:please |now |so |then |can you |could you |and )*(?:(?:implement|add|build|code|enforce|validate|program|hide|render|wire|model|handle|support|assert|check) "
    r"(?:that|this|it|the|an?)\b|make (?:it|that|this) (?:so|happen)\b|write (?:that|the|this) (?:branch|check|code|validation|part)\b|(?:implementiere|bau|programmiere|ergänze) (?:das|dies|es|die|den)\b|"
    r"(?:ajoute|implémente)[- ](?:le|la|ça|cette|une?)\b|(?:añade|implementa)(?:lo|la)?\b)"
)
_SPECIFIES = later(rf"[,;–—-] {_DO_THAT}", re.IGNORECASE)
_SPECIFIES_NEXT = later(rf"^\W*{_DO_THAT}", re.IGNORECASE)


def _continues(before: str) -> bool:
    """Return whether the sentence before one about a thing asks for something that this one may describe."""
    return _ASKS_FOR_THING.match(before) is not None


# A part in a dialogue ("Guard: …")
_SPEAKER = later(
    r"^\W*(?!(?:Note|Rule|Rules|Important|Also|Remember|Reminder|Always|Never|Wichtig|Regel|Nota|Attention)\b)[A-ZÄÖÜ][\w'’-]{1,20}: "
)
_ASKS_FOR_THING = later(
    r"^\W*(?:(?:please|pls|now|then|and|can you|could you|let['’]?s|i need|i want)[, ]+)*(?:(?:to )?(?:write|create|make|draft|build|design|generate|compose|implement|develop|set up|sketch|prepare|produce|add|imagine|invent) "
    r"(?:me |us )?(?:an?|the|some|our|another|new|\w+s)\b|(?:verfasse|erstelle|schreibe?|entwirf|entwickle|baue?|plane?) (?:mir |uns )?(?:eine?[nrms]?|die|das|den)\b|an?\b)|^\W*(?:act|scene|chapter|verse|stanza|szene|akt|kapitel) \d",
    re.IGNORECASE,
)
