"""Extract code without comments and strings, so that words in those do not count as code."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache

from memoryd.guard.vocabulary import SQL_WORDS as _SQL_WORDS

_SLASHES = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
_HASH = r"#[^\n]*"
_DOUBLE = r'"(?:\\.|[^"\\\n])*(?:"|$)'
_SINGLE = r"'(?:\\.|[^'\\\n])*(?:'|$)"
_TRIPLE = r'"""(?:.*?)(?:"""|\Z)|' + r"'''(?:.*?)(?:'''|\Z)"
_BACKTICK = r"`(?:\\.|[^`\\])*(?:`|\Z)"


def _pattern(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts), re.DOTALL | re.MULTILINE)


_C_LIKE = _pattern(_SLASHES, _DOUBLE, _SINGLE)
_SCRIPT = _pattern(_SLASHES, _DOUBLE, _SINGLE, _BACKTICK)
_PYTHON = _pattern(_TRIPLE, _HASH, _DOUBLE, _SINGLE)
_SQL = _pattern(r"--[^\n]*|/\*.*?(?:\*/|\Z)", _SINGLE)
# Rust lifetimes and generic text look like unterminated strings in single quotes.
_NO_SINGLE = _pattern(_SLASHES, _DOUBLE)
_BY_ENDING: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(".ts .tsx .js .jsx .mjs .cjs .mts .cts .vue .svelte".split(), _SCRIPT),
    **dict.fromkeys(".c .h .cc .cpp .hpp .java .kt .swift .cs .go .scala .dart .php".split(), _C_LIKE),
    **dict.fromkeys(".py .pyi .ipynb .rb .sh .bash .yaml .yml .toml".split(), _PYTHON),
    ".rs": _NO_SINGLE,
    **dict.fromkeys(".cmake .mk .tf .tfvars".split(), _PYTHON),
    ".sql": _SQL,
}
_BY_NAME: Mapping[str, re.Pattern[str]] = dict.fromkeys(
    "CMakeLists.txt Makefile Dockerfile Gemfile Rakefile Justfile justfile Podfile Brewfile".split(), _PYTHON
)
_LISTS = re.compile(r"CMakeLists\.txt$|requirements[\w.-]*\.txt$|constraints[\w.-]*\.txt$|conanfile\.txt$")  # no prose
_PROSE = frozenset(".md .rst .txt .adoc .html".split())


def code_words(text: str, path: str, *, strings: bool = False) -> str:
    """Return the text with each comment and string replaced by a space. The result is empty for prose, which contains no code.

    With `strings`, only comments are replaced.
    """
    ending = posixpath.splitext(path)[1].lower()
    if ending in _PROSE and not _LISTS.match(posixpath.basename(path)):
        return ""
    pattern = _BY_NAME.get(posixpath.basename(path)) or _BY_ENDING.get(ending)
    if pattern is None:
        return text
    return pattern.sub(_without_comment if strings else " ", text)


def _without_comment(match: re.Match[str]) -> str:
    return match[0] if match[0][0] in "\"'`" else " "


# Pieces of code that no single word stands for. A check names them in its words, as in `<hex color>`.
PIECES: Mapping[str, re.Pattern[str]] = {
    "<hex color>": re.compile(r"(?<![\w&/#])#(?:[\da-fA-F]{8}|[\da-fA-F]{6}|(?=\d{0,3}[a-fA-F])[\da-fA-F]{3,4})(?![\w-])|(?<=[:\s])#\d{3}(?=\s{0,3};)"),
    "<ip address>": re.compile(r"(?<![\d.])(?!127\.0\.0\.|0\.0\.0\.0)(?:\d{1,3}\.){3}\d{1,3}(?![\d.])"),
    "<url>": re.compile(r"\bhttps?://(?!localhost|127\.|0\.0\.0\.0|example\.)[\w-]{1,60}[.\w/-]{0,60}"),
    "<http url>": re.compile(r"\bhttp://(?!localhost|127\.|0\.0\.0\.0|www\.w3\.org)[\w-]{1,60}"),
    "<localhost url>": re.compile(r"\bhttps?://(?:localhost|127\.0\.0\.1)"),
    "<loose equality>": re.compile(r"(?<![=!<>])[=!]=(?!=)(?!\s{0,3}null\b)"),
    "<px>": re.compile(r"(?<![\w.-])[1-9]\d{0,5}px\b"),
    "<tab>": re.compile(r"^[ ]{0,40}\t", re.MULTILINE),
    "<emoji>": re.compile("[\U0001f300-\U0001faff\u2600-\u27bf]"),
    "<force unwrap>": re.compile(r"(?<=[\w)\]])!(?=[.)\],;\[]|\s{0,20}$)", re.MULTILINE),
    "<non-null assertion>": re.compile(r"(?<=[\w)\]])!(?=[.;,)\]\[])"),
    "<star export>": re.compile(r"\bexport \* "),
    "<nested ternary>": re.compile(r"(?<!\?)\?(?![.?:])[^?:;\n]{1,200}(?<!\?)\?(?![.?:])[^?:;\n]{1,200}:|(?<!\?)\?(?![.?:])[^?:;\n]{1,200}:[^?:;\n]{0,200}(?<!\?)\?(?![.?:])[^?:;\n]{1,200}:"),
    "<ignored error>": re.compile(r"^\s{0,40}(?:\w{1,30}, )?_ :?= [\w.]{1,60}\(", re.MULTILINE),
    "<secret>": re.compile(
        r"(?i)\b\w{0,20}(?:password|passwd|secret|api_?key|token)\w{0,10}[\"']?\s{0,3}(?::=|[:=])\s{0,3}[\"'][^\"'$<{\s]{5,80}[\"']"
    ),
    "<f-string log>": re.compile(r"\blog(?:ger|ging)?\.(?:debug|info|warn|warning|error|exception|critical)\(\s{0,10}f[\"']"),
    "<mutable default>": re.compile(r"\bdef \w{1,60}\([^)\n]{0,200}=\s?(?:\[\]|\{\}|list\(\)|dict\(\)|set\(\))"),
    "<empty catch>": re.compile(r"\bcatch\s?(?:\([^)\n]{0,60}\)\s?)?\{\s{0,20}\}|\bexcept\b[^:\n]{0,60}:\s{0,20}pass\b|\brescue\b[^\n]{0,40}\n\s{0,20}end\b"),
    "<bare except>": re.compile(r"\bexcept\s{0,3}:"),
    "<inline style>": re.compile(r"\bstyle\s?=\s?[\"'{]"),
    "<id selector>": re.compile(r"^\s{0,20}#[a-zA-Z][\w-]{0,40}[^;{}\n]{0,60}\{", re.MULTILINE),
    "<latest tag>": re.compile(r":latest\b"),
    "<star import>": re.compile(r"\bimport \*|^\s{0,20}import (?:static )?[\w.]{1,100}\.\*", re.MULTILINE),
    "<select star>": re.compile(r"\bselect\s{1,5}(?:distinct\s{1,5})?(?:\w{1,20}\.)?\*", re.IGNORECASE),
    "<string concatenation in sql>": re.compile(
        r"(?i)[\"'](?:select|insert into|update|delete from)\b[^\"'\n]{1,200}[\"']\s{0,3}(?:\+|%|\.format)|\bf[\"']{1,3}\s{0,5}(?:select|insert into|update|delete from)\b[^\"'\n]{0,200}\{"
    ),
    "<default export>": re.compile(r"\bexport default\b"),
    "<class component>": re.compile(r"\bextends (?:React\.)?(?:Pure)?Component\b"),
    "<var>": re.compile(r"(?<![\w.$])var\s(?=[\w$\[{])"),
    "<function keyword>": re.compile(r"(?<![\w.$])function\b"),
    "<promise chain>": re.compile(r"\.then\s?\("),
    "<shell true>": re.compile(r"\bshell\s?=\s?True\b"),
    "<any>": re.compile(r"(?<=[:<|,&(])\s?any\b(?!\s?[(:'])|\bas any\b|\bany\[\]"),
    "<broad catch>": re.compile(
        r"\bexcept\s{1,3}(?:Base)?Exception\b|\bcatch\s?\(\s?(?:final )?(?:\w{1,3}: ?)?(?:System\.)?(?:Exception|Throwable|RuntimeException)\b|\brescue\s{1,3}(?:Exception|StandardError)\b"
    ),
    "<todo without ticket>": re.compile(r"\b(?:TODO|FIXME)\b(?![^\n]{0,40}(?:#\d|[A-Z]{2,10}-\d|https?://))"),
    "<todo>": re.compile(r"\b(?:TODO|FIXME|XXX)\b"),
    "<c-style cast>": re.compile(r"(?<![\w)\]])\((?:unsigned |const )?(?:int|char|float|double|long|short|size_t|u?int\d{1,2}_t)\s?\*?\)\s?[\w(]"),
    "<try block>": re.compile(r"(?<![\w.])try\s?\{|\bcatch\s?\("),
    "<raw new>": re.compile(r"(?<![\w.])new\s[A-Za-z_:]|(?<![\w.])delete(?:\[\])?\s[A-Za-z_*]"),
    "<debugger>": re.compile(r"(?<![\w.$])debugger\b|\bbinding\.pry\b|\bbyebug\b|\bbreakpoint\(\)|\bpdb\.set_trace\b"),
    "<commented-out code>": re.compile(r"^\s{0,40}(?://|#)\s?(?:(?:if|for|while|return|const|let|var|def|import|from|print)\b[^\n]{0,100}[(;={:]|[\w.]{1,60}\([^\n]{0,100}\);?\s{0,3}$)", re.MULTILINE),
    "<git dependency>": re.compile(r"(?:git\+(?:https|ssh)|git://|github:|git\s?=\s?\"|:git\b|\bgit:\s?[\"'])"),
    "<latest version>": re.compile(r":\s?\"(?:latest|\*)\""),
}  # fmt: skip
# Pieces that are looked for in strings, too, and those that are in comments.
PIECES_IN_STRINGS = frozenset(
    "<hex color>,<ip address>,<url>,<http url>,<localhost url>,<px>,<emoji>,<secret>,<f-string log>,<inline style>,<latest tag>,<select star>,<string concatenation in sql>,<git dependency>,<latest version>".split(
        ","
    )
)
PIECES_IN_COMMENTS = frozenset({"<todo>", "<todo without ticket>", "<emoji>", "<tab>", "<commented-out code>"})
_STATEMENT = re.compile(
    r"(?:select|insert|update|delete|drop|truncate|alter|grant|create|cascade|nolock|left join|cross join|offset|not in|order by|union)\b",
    re.IGNORECASE,
)


_COMMENT_IN = re.compile(r"<comment (not )?in (\w{4,12})>")
_SIGNS = re.compile(r"[#/*\-\"']{1,3}")


def _comments_in(text: str, path: str, language: str, *, other: bool) -> int:
    """Count the comments in a language, or in another one."""
    from memoryd.guard.messages import is_in, is_in_another

    pattern = _BY_ENDING.get(posixpath.splitext(path)[1].lower())
    if pattern is None:
        return 0
    comments = (match[0] for match in pattern.finditer(text) if match[0][:3] in ('"""', "'''") or match[0][0] not in "\"'`")
    judge = is_in_another if other else is_in
    return sum(judge(language, _SIGNS.sub(" ", comment)) for comment in comments)


# Imports

MANIFESTS = (
    "package.json", "requirements*.txt", "pyproject.toml", "setup.py", "setup.cfg", "Pipfile", "environment.yml", "Cargo.toml", "go.mod", "Gemfile",
    "composer.json", "build.gradle", "build.gradle.kts", "libs.versions.toml", "pom.xml", "*.csproj", "*.fsproj", "Directory.Packages.props", "pubspec.yaml", "CMakeLists.txt", "*.cmake", "pnpm-workspace.yaml", "importmap.rb", "import_map.json", "constraints*.txt",
    "mix.exs", "Package.swift", "Podfile", "build.sbt", "conanfile.txt", "vcpkg.json", "*.gemspec", "deno.json",
)  # fmt: skip
"""Files that list a project's dependencies."""
# Names under which a library is imported or installed, if they differ from the one that people use.
_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "lodash": ("lodash-es",), "moment": ("moment-timezone",), "beautifulsoup": ("bs4", "beautifulsoup4"), "beautifulsoup4": ("bs4",),
    "bs4": ("beautifulsoup4",), "pillow": ("PIL",), "pyyaml": ("yaml",), "scikit-learn": ("sklearn",), "sklearn": ("scikit-learn",),
    "pytorch": ("torch",), "opencv": ("cv2", "opencv-python"), "python-dateutil": ("dateutil",), "dateutil": ("python-dateutil",),
    "python-dotenv": ("dotenv",), "mysqlclient": ("MySQLdb",), "psycopg2": ("psycopg2-binary",), "factory-boy": ("factory", "factory_boy"),
    "pycryptodome": ("Crypto",), "pycrypto": ("Crypto",), "redux-toolkit": ("@reduxjs/toolkit",), "react-query": ("@tanstack/react-query",),
    "apollo-client": ("@apollo/client",), "material-ui": ("@mui/material", "@material-ui/core"), "mui": ("@mui/material",),
    "chakra-ui": ("@chakra-ui/react",), "emotion": ("@emotion/react", "@emotion/styled"), "angular": ("@angular/core",), "faker": ("@faker-js/faker",),
    "tailwind": ("tailwindcss",), "nestjs": ("@nestjs/core", "@nestjs/common"), "enzyme": ("enzyme-adapter-react-16",), "ngrx": ("@ngrx/store",),
    "guava": ("com.google.common",), "gson": ("com.google.gson",), "jackson": ("com.fasterxml.jackson",), "log4j": ("org.apache.log4j",),
    "log4j2": ("org.apache.logging.log4j",), "joda-time": ("org.joda.time",), "joda": ("org.joda.time", "joda-time"), "commons-lang": ("org.apache.commons.lang",),
    "commons-lang3": ("org.apache.commons.lang3",), "commons-io": ("org.apache.commons.io",), "junit4": ("org.junit.Test", "org.junit.Before", "junit:junit"),
    "spring-data": ("org.springframework.data",), "okhttp": ("okhttp3",), "rxjava": ("io.reactivex",), "resttemplate": ("org.springframework.web.client.RestTemplate",),
    "webclient": ("org.springframework.web.reactive.function.client.WebClient",), "mockk": ("io.mockk",), "butterknife": ("butterknife",), "vavr": ("io.vavr",),
    "newtonsoft": ("Newtonsoft.Json",), "entityframework": ("System.Data.Entity", "Microsoft.EntityFrameworkCore"), "nunit": ("NUnit.Framework",),
    "guzzle": ("GuzzleHttp", "guzzlehttp/guzzle"), "monolog": ("monolog/monolog",), "carbon": ("nesbot/carbon",), "phpunit": ("PHPUnit",),
    "testify": ("github.com/stretchr/testify",), "sqlc": ("sqlc-dev",), "chi": ("github.com/go-chi/chi",), "mux": ("github.com/gorilla/mux",),
    "gin": ("github.com/gin-gonic/gin",), "ioutil": ("io/ioutil",), "pkg/errors": ("github.com/pkg/errors",), "async-std": ("async_std",),
    "actix": ("actix-web", "actix_web"), "once_cell": ("once-cell",), "lazy_static": ("lazy-static",), "factory_girl": ("factory_girl_rails",),
    "factory_bot": ("factory_bot_rails", "FactoryBot"), "boost": ("boost/",), "gtest": ("gtest/gtest.h",), "jquery": ("$.ajax",), "realm": ("RealmSwift",),
    "rest-client": ("rest_client", "RestClient"), "coredata": ("CoreData",), "poison": ("Poison",), "httpoison": ("HTTPoison",),
}  # fmt: skip
_IMPORT_LINE = re.compile(
    r"^[ \t]{0,40}(?:import|from|use|pub use|using|global using|#\s?include|include|include_once|require|require_once|require_relative|extern crate|@import|@use|open|alias|gem|load)\b[^\n]{0,300}"
    r"|^[^\n]{0,200}?(?:\brequire\s?\(|\bimport\s?\(|\bfrom\s?[\"'])[^\n]{0,200}|<script\b[^>\n]{0,200}src=[^>\n]{0,200}",
    re.MULTILINE,
)
_GO_IMPORT = re.compile(r'^\s{0,20}(?:import\s)?(?:[\w.]{1,40}\s)?"[\w./-]{1,200}"\s{0,5}$', re.MULTILINE)
_DOTTED = frozenset(
    ".java .kt .kts .scala .groovy .cs .php .swift .ex .exs".split()
)  # a package's name may follow a dot or backslash


def is_manifest(path: str) -> bool:
    """Return whether a file lists dependencies."""
    name = posixpath.basename(path)
    return any(fnmatchcase(name, pattern) for pattern in MANIFESTS)


# How such files list a dependency, and keys that look the same but name none.
_KEYS = r"(?!(?:version|node|npm|pnpm|yarn|name|edition|rust-version|requires-python|python|target|type|main|php|engine|minversion|resolver)\b)"
_LISTED: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (
        ("package.json", "composer.json", "deno.json", "pubspec.yaml"),
        re.compile(rf"\"{_KEYS}[@\w./-]{{1,80}}\"\s?:\s?\"(?P<version>[\^~<>=v]{{0,2}}\s?\d[^\"\n]{{0,40}}|\*|x|latest|next|(?:workspace|npm|git|git\+ssh|git\+https|github|file|link):[^\"\n]{{0,100}})\""),
    ),
    (
        ("requirements*.txt", "constraints*.txt"),
        re.compile(r"^\s{0,8}[A-Za-z][\w.-]{0,60}(?:\[[\w,]{1,40}\])?\s?(?P<version>(?:[=~!<>]{1,3}|@)[^\n#;]{1,60}|)(?=\s{0,4}(?:[#;]|$))", re.MULTILINE),
    ),
    (
        ("pyproject.toml", "setup.py", "setup.cfg"),
        re.compile(
            rf"[\"'][A-Za-z][\w.-]{{0,60}}(?:\[[\w,]{{1,40}}\])?\s?(?P<version>(?:[=~!<>]{{2,3}}|[<>])\s?\d[^\"'\n]{{0,60}})[\"']"
            rf"|^\s{{0,8}}{_KEYS}[A-Za-z][\w.-]{{0,60}}\s?=\s?(?:\"(?P<caret>[\^~=<>]{{0,2}}\s?\d[^\"\n]{{0,40}}|\*)\"|\{{\s?version\b)",
            re.MULTILINE,
        ),
    ),
    (
        ("Cargo.toml", "Pipfile"),
        re.compile(
            rf"^\s{{0,8}}{_KEYS}[A-Za-z][\w.-]{{0,60}}\s?=\s?(?:\"(?P<caret>[\^~=<>]{{0,2}}\s?\d[^\"\n]{{0,40}}|\*)\"|\{{\s?(?:version\s?=\s?\"(?P<version>[^\"\n]{{1,40}})|git|path))",
            re.MULTILINE,
        ),
    ),
    (
        ("Gemfile", "*.gemspec"),
        re.compile(r"^\s{0,8}(?:gem|\w{1,10}\.add_\w{0,12}dependency)[\s(]{1,2}[\"'][\w-]{1,60}[\"'](?P<version>(?:\s?,\s?[\"'][~<>=\d][^\"'\n]{0,40})?)", re.MULTILINE),
    ),
    (("go.mod",), re.compile(r"^\s{0,8}(?:require\s)?[a-z][\w.-]{1,40}\.[a-z]{2,6}/[\w./-]{1,100}\s(?P<version>v\d\S{0,40})", re.MULTILINE)),
    (("*.tf",), re.compile(r"(?<![\w])version\s{0,10}=\s{0,10}\"(?P<version>[^\"\n]{1,40})\"")),
    (("pom.xml", "*.csproj", "build.gradle", "build.gradle.kts"), re.compile(r"<artifactId>|<PackageReference\b|^\s{0,8}(?:implementation|api|testImplementation|compileOnly)\b(?P<version>)", re.MULTILINE)),
)  # fmt: skip
_PINNED = re.compile(
    r"[\s,\"']{0,4}(?:={0,3}\s?)v?\d+(?:\.\d+){0,3}(?:[-+][\w.+-]{1,20}|\.?(?:a|b|rc|dev|post)\d{1,4})?|(?:workspace|npm|git|git\+ssh|git\+https|github|file|link):.*"
)
DEPENDENCY, VERSION_RANGE = "<dependency>", "<version range>"


def _count_listed(text: str, path: str, *, ranges: bool) -> int:
    """Count the dependencies that a file lists, or those of them whose version is not an exact one."""
    name = posixpath.basename(path)
    pattern = next((pattern for files, pattern in _LISTED if any(fnmatchcase(name, each) for each in files)), None)
    if pattern is None:
        return 0
    listed = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(("#", "//")))
    found = [match.groupdict() for match in pattern.finditer(listed)]
    return sum(_is_range(each) for each in found) if ranges else len(found)


def _is_range(found: Mapping[str, str | None]) -> bool:
    """Return whether a version allows others. In some files, a plain version does."""
    if (caret := found.get("caret")) is not None:
        return not caret.startswith("=")
    return found.get("version") is not None and not _PINNED.fullmatch(found["version"] or "")


def names_of_library(library: str) -> tuple[str, ...]:
    """Return the names under which a library is imported or installed."""
    return (library, *_OTHER_NAMES.get(library.lower(), ()))


_SPECIFIER = re.compile(r"""["']([@\w./~-]{1,200})["']""")
_PACKAGE_FOLDERS = frozenset("packages apps services libs modules".split())


def _imports_folder(folder: str, line: str, path: str) -> bool:
    """Return whether a line imports from a folder of the project, by a relative path or by the name of a package there."""
    wanted = folder.strip("/")
    return any(_is_in_folder(found, wanted, path) for found in _SPECIFIER.findall(line))


def _is_in_folder(specifier: str, folder: str, path: str) -> bool:
    """Return whether what a file imports is in a folder, seen from that file."""
    if specifier.startswith("."):
        whole = posixpath.normpath(posixpath.join(posixpath.dirname(path), specifier))
        climbs = specifier.startswith("../") and "/" not in folder  # such a folder may be in each package
        return f"{whole}/".startswith(f"{folder}/") or climbs and f"/{folder}/" in f"/{whole}"
    if f"/{folder}/" in f"/{specifier}{'/' if '/' in folder else ''}":
        return True
    first, _, last = folder.rpartition("/")
    return first in _PACKAGE_FOLDERS and re.match(rf"@[\w-]{{1,60}}/{re.escape(last)}(?:/|$)", specifier) is not None


def is_folder(library: str) -> bool:
    """Return whether what a check names as imported is a folder of the project."""
    first = library.partition("/")[0]
    return "/" in library and not first.startswith("@") and "." not in first


def may_import(lowered: str, library: str) -> bool:
    """Return whether a text in lower case may import a library. It is cheaper than counting the imports."""
    if is_folder(library):
        return library.strip("/").rpartition("/")[2].lower() in lowered
    return any(
        name.lower().replace("-", "_") in lowered or name.lower() in lowered
        for name in names_of_library(library.rpartition(".")[2])
    )


def count_imports(text: str, library: str, path: str) -> int:
    """Count the lines that import a library, or that list it as a dependency."""
    if is_manifest(path):
        listed = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(("#", "//")))
        return sum(_named_in(name, listed, path) for name in names_of_library(library))
    code = code_words(text, path, strings=True)
    parent, _, child = library.rpartition(".")
    if parent:  # `from unittest import mock` imports unittest.mock
        found = len(re.findall(rf"\bfrom {re.escape(parent)} import [^\n]{{0,200}}\b{re.escape(child)}\b", code))
        if found:
            return found
    pattern = _GO_IMPORT if path.endswith(".go") else _IMPORT_LINE
    lines = "\n".join(match[0] for match in pattern.finditer(code))
    if is_folder(library):
        return sum(_imports_folder(library, line, path) for line in lines.splitlines())
    found = sum(_named_in(name, lines, path) for name in names_of_library(library))
    if path.endswith(".rs"):  # a path such as anyhow::Result needs no `use`
        found += len(re.findall(rf"(?<![\w:]){re.escape(library.replace('-', '_'))}::", _RUST_USE.sub("", code)))
    return found


_RUST_USE = re.compile(r"^\s{0,20}(?:pub )?use [^;]{1,300};", re.MULTILINE)


def _named_in(name: str, text: str, path: str) -> int:
    """Count the lines with a library's name as a whole."""
    ending = posixpath.splitext(path)[1].lower()
    inside = "" if ending == ".go" else "-" if ending in _DOTTED else "/@.-" if is_manifest(path) else "./@-"
    before = rf"(?<![\w{inside}])" if not is_manifest(path) else r"(?<![\w-])"
    whole = re.compile(rf"{before}{re.escape(name.replace('-', '_') if ending == '.rs' else name)}(?![\w-])", re.IGNORECASE)
    return sum(whole.search(line) is not None for line in text.splitlines())


def may_contain(text: str, word: str) -> bool:
    """Return whether a text may contain a word of a check. It is cheaper than counting the word."""
    return word.startswith("<") or word.removesuffix("*") in text or (_is_statement(word) and word.lower() in text.lower())


@lru_cache(maxsize=2_000)
def _is_statement(word: str) -> bool:
    """Return whether a word belongs to SQL, which is written in strings and in any case."""
    return word.isupper() and word in _SQL_WORDS or _STATEMENT.match(word) is not None and " " in word


def count_piece(text: str, word: str, path: str) -> int | None:
    """Count a named piece of code, or a word of SQL. Return None if the word is neither."""
    if found := _COMMENT_IN.fullmatch(word):
        return _comments_in(text, path, found[2], other=bool(found[1]))
    if word in (DEPENDENCY, VERSION_RANGE):
        return _count_listed(text, path, ranges=word == VERSION_RANGE)
    if pattern := PIECES.get(word):
        if word in PIECES_IN_COMMENTS:
            return len(pattern.findall(text))
        return len(pattern.findall(code_words(text, path, strings=word in PIECES_IN_STRINGS)))
    if _is_statement(word):
        parts = r"\s{1,5}".join(map(re.escape, word.split()))
        return len(re.findall(rf"(?<!\w){parts}(?!\w)", code_words(text, path, strings=True), re.IGNORECASE))
    if "://" in word or word[:1] in "\"'#" or re.fullmatch(r"[\d./]{5,20}", word) or word.startswith("data-"):
        return code_words(text, path, strings=True).count(word)
    return None
