"""Decide whether a commit message has the form that a check requires."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from memoryd.core.checks import Check, Form

ALTERNATIVES = " | "  # separates the texts of an example of which one is enough
_FORMS_OF_AUTHORS = frozenset(
    {
        Form.CONVENTIONAL,
        Form.TICKET,
        Form.TICKET_IN,
        Form.PREFIX,
        Form.BODY,
        Form.LANGUAGE,
        Form.LOWER,
        Form.UPPER,
        Form.IMPERATIVE,
    }
    | {Form.CONTAINS, Form.EMOJI, Form.NOT_LANGUAGE}
)
_WRITTEN_BY_GIT = ("Merge branch ", "Merge remote-tracking ", "Merge pull request ", 'Revert "', "fixup! ", "squash! ")
_CONVENTIONAL = re.compile(r"(?:build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test)(?:\([^)\n]{1,60}\))?!?: \S")
_TYPE = re.compile(r"(?:[\w-]{1,20}(?:\([^)\n]{1,60}\))?!?: |[\[(][^\])\n]{1,40}[\])] |[A-Z]{2,10}-\d{1,7}:? |#\d{1,7}:? )")
_EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf]|:[a-z_]{2,30}:")
_TRAILER = re.compile(r"[A-Z][\w-]{1,40}: \S")
_PAST = re.compile(
    r"(?:[a-z]{2,20}(?:ed|ing)|(?:add|fix|updat|remov|chang|us|mov|renam|implement|creat|delet|improv|mak|refactor|set|bump|handl|rewrit|replac|clean)e?s|made|wrote|rewrote|got|did|was|were)$",
    re.IGNORECASE,
)
# Verbs and nouns in -ed and -ing that begin an imperative or name a thing.
_NOT_PAST = frozenset(
    "embed feed seed need speed proceed exceed succeed shed bed red bring ping string logging timing routing caching".split()
)

_SCRIPTS: Mapping[str, re.Pattern[str]] = {
    "japanese": re.compile("[\u3040-\u30ff\u4e00-\u9fff]"),
    "chinese": re.compile("[\u4e00-\u9fff]"),
    "korean": re.compile("[\uac00-\ud7af]"),
    "russian": re.compile("[\u0400-\u04ff]"),
    "ukrainian": re.compile("[\u0400-\u04ff]"),
    "greek": re.compile("[\u0370-\u03ff]"),
    "arabic": re.compile("[\u0600-\u06ff]"),
    "hebrew": re.compile("[\u0590-\u05ff]"),
}
_LETTERS: Mapping[str, str] = {
    "german": "äöüß", "french": "éèêàçùîôœ", "spanish": "ñáéíóú¿", "portuguese": "ãõçáéíóúâê", "italian": "àèéìòù", "polish": "ąćęłńóśźż",
    "swedish": "åäö", "danish": "æøå", "norwegian": "æøå", "dutch": "ëï", "czech": "ěščřžůáíéú", "turkish": "ğşıçöü", "finnish": "äö",
}  # fmt: skip
# Words that are common in commit messages of one language and are not words of another.
_WORDS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "english": "the and for with from add adds added fix fixes fixed update updates updated remove removes removed use make move rename change changes"
        " improve allow handle support bump drop when of to not only new refactor clean into by is are on page test tests bug error errors missing unused"
        " reset sort show price typo check create delete rounding dependencies after before",
        "german": "der die das den dem ein eine einen einer und für mit von nach nicht auf bei beim zur zum im vom wird werden hinzu hinzugefügt behoben behebe"
        " behebt repariert repariere entfernt entferne entfernen korrigiert korrigiere aktualisiert aktualisiere geändert ändere ergänzt ergänze fehler"
        " warenkorb neue neuer neues anpassung anpassungen verbessert verbessere umbenannt seite aus über ist sind auch nur berechnung rechtschreibfehler",
        "french": "le la les des du une un et pour avec dans sur ajoute ajout ajouter corrige correction corriger supprime suppression supprimer met mettre"
        " mise à jour erreur panier nouveau nouvelle nouvelles au aux par page bogue renomme",
        "spanish": "el la los las del una un y para con en agrega agregar añade añadir corrige corregir elimina eliminar actualiza actualizar arregla arreglar"
        " carrito nuevo nueva página cambia quita quitar mejora pruebas",
        "portuguese": "o os as do da dos das uma um e para com em no na adiciona adicionar corrige corrigir remove remover atualiza atualizar carrinho novo nova"
        " página altera melhora testes arruma não",
        "italian": "il lo la gli le del della dei delle un una e per con in aggiunge aggiunta aggiungi aggiunto corregge corretto correggi rimuove rimosso rimuovi"
        " aggiorna aggiornato carrello nuovo nuova pagina errore sistemato sistema",
        "dutch": "de het een en voor met van in op toegevoegd voeg toe verwijder verwijderd fix herstel bijgewerkt nieuwe pagina fout winkelwagen",
        "polish": "dodaj dodano popraw poprawiono usuń usunięto zmień zmieniono aktualizuj koszyk nowy nowa strona błąd oraz dla na do",
        "swedish": "och för med av lägg till fixa ta bort uppdatera ny nya sida fel kundvagn ändra",
        "danish": "og for med af tilføj fjern opdater ret ny nye side fejl kurv",
        "norwegian": "og for med av legg til fjern oppdater ny nye side feil handlekurv",
        "turkish": "ve için ile ekle düzelt kaldır güncelle sepet yeni sayfa hata",
        "czech": "a pro přidat přidej oprav opravit odstraň nový košík chyba stránka",
        "finnish": "ja lisää korjaa poista päivitä uusi sivu virhe ostoskori",
    }.items()
}
LANGUAGES = frozenset(_SCRIPTS) | frozenset(_WORDS)


def has_form(check: Check, message: str) -> bool:
    """Return whether a message has the check's form and none of its words."""
    low = message.lower()
    if any(_has_word(low, word.lower()) for word in check.words):
        return False
    if check.form is None or check.form in _FORMS_OF_AUTHORS and message.strip().startswith(_WRITTEN_BY_GIT):
        return True
    return _FORMS[check.form](check, message.strip(), message.strip().partition("\n")[0])


def _is_conventional(check: Check, message: str, first: str) -> bool:
    found = _CONVENTIONAL.match(first)
    return found is not None and (check.example != "scope" or "(" in found[0])


def _begins_with_example(check: Check, message: str, first: str) -> bool:
    return first.lower().startswith(tuple(check.example.lower().split(ALTERNATIVES)))


def _is_short(check: Check, message: str, first: str) -> bool:
    return not check.example.isdecimal() or len(first) <= int(check.example)


def _contains_example(check: Check, message: str, first: str) -> bool:
    return any(each in message.lower() for each in check.example.lower().split(ALTERNATIVES))


def _has_no_period(check: Check, message: str, first: str) -> bool:
    return not first.rstrip().endswith((".", "。")) or first.rstrip().endswith("...")


def _has_case(check: Check, message: str, first: str) -> bool:
    letter = next(iter(_TYPE.sub("", first, count=1)), "")
    return not letter.isalpha() or letter.lower() == letter.upper() or letter.islower() is (check.form is Form.LOWER)


def _is_imperative(check: Check, message: str, first: str) -> bool:
    word = next(iter(re.findall(r"[A-Za-z]{1,30}", _TYPE.sub("", first, count=1))), "")
    return not _PAST.fullmatch(word) or word.lower() in _NOT_PAST


def _has_word(text: str, word: str) -> bool:
    """Return whether a text contains a word. A word of letters only is none within a longer one."""
    if not re.fullmatch(r"[a-z]{1,12}", word):
        return word in text
    return re.search(rf"(?<![a-z./]){word}(?![a-z]|\.\w|/)", text) is not None  # not in the name of a file


def _has_body(message: str) -> bool:
    """Return whether a message has more than its first line and trailers."""
    rest = message.strip().partition("\n")[2]
    return any(line.strip() and not _TRAILER.match(line) and not line.startswith("#") for line in rest.splitlines())


def _has_ticket(check: Check, text: str) -> bool:
    pattern = _ticket(check.example)
    if check.form is Form.TICKET:
        return re.match(rf"[\[(]?(?:{pattern})", text) is not None
    return re.search(rf"(?<![\w-])(?:{pattern})", text) is not None


def _ticket(example: str) -> str:
    key, _, number = example.rpartition("-")
    if key and number.isdigit():
        return r"[A-Z][A-Z\d]{1,9}-\d" if key == "ABC" else rf"{re.escape(key)}-\d"
    if not example:
        return r"#\d|[A-Z][A-Z\d]{1,9}-\d"
    return r"#?\d" if example.lstrip("#").isdigit() else r"[A-Z][A-Z\d]{1,9}-\d"


# Languages


def _prose(message: str) -> str:
    """Return a message without its type, trailers, code, paths and identifiers, which are in no language."""
    lines = [line for line in message.strip().splitlines()[:20] if not _TRAILER.match(line)]
    text = _TYPE.sub("", "\n".join(lines), count=1)
    return re.sub(r"`[^`\n]{0,100}`|\S{0,60}[/_.\d]\S{1,60}", " ", text[:1_000])


def _evidence(language: str, text: str) -> int:
    """Return how many words and letters of a text show that it is in the language."""
    if script := _SCRIPTS.get(language):
        found = len(script.findall(text))
        return 0 if language == "chinese" and re.search("[\u3040-\u30ff]", text) else found
    words = re.findall(r"[^\W\d_]{1,40}", text.lower())
    known = _WORDS.get(language, frozenset())
    letters = _LETTERS.get(language, "")
    return sum(word in known or any(letter in word for letter in letters) for word in words)


def is_in(language: str, text: str) -> bool:
    """Return whether a text shows the language, and no other one more clearly."""
    found = _evidence(language, text)
    return found > 0 and all(found >= _evidence(other, text) for other in LANGUAGES if not _same_script(other, language))


def is_in_another(language: str, text: str) -> bool:
    """Return whether a text shows another language more clearly than the wanted one."""
    own = _evidence(language, text)
    if language in _SCRIPTS:  # one word in the script is enough, as messages name things in English
        return own == 0 and re.search(r"[^\W\d_]{3}", text) is not None
    return any(_evidence(other, text) > own for other in LANGUAGES if other != language)


def _same_script(one: str, other: str) -> bool:
    return one in _SCRIPTS and other in _SCRIPTS


_FORMS: Mapping[Form, Callable[[Check, str, str], bool]] = {
    Form.CONVENTIONAL: _is_conventional,
    Form.PREFIX: _begins_with_example,
    Form.LENGTH: _is_short,
    Form.CONTAINS: _contains_example,
    Form.NO_EMOJI: lambda check, message, first: _EMOJI.search(message) is None,
    Form.EMOJI: lambda check, message, first: _EMOJI.match(first) is not None,
    Form.TICKET: lambda check, message, first: _has_ticket(check, first),
    Form.TICKET_IN: lambda check, message, first: _has_ticket(check, message[:5_000]),
    Form.BODY: lambda check, message, first: _has_body(message),
    Form.NO_BODY: lambda check, message, first: not _has_body(message),
    Form.NO_PERIOD: _has_no_period,
    Form.LOWER: _has_case,
    Form.UPPER: _has_case,
    Form.IMPERATIVE: _is_imperative,
    Form.LANGUAGE: lambda check, message, first: not is_in_another(check.example.lower(), _prose(message)),
    Form.NOT_LANGUAGE: lambda check, message, first: not is_in(check.example.lower(), _prose(message)),
}
