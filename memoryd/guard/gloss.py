"""Translate the cue words of rules in other languages into English, so that one compiler can process all rules.

Only words that forbid, require, or refer to an action or a branch are translated. Commands, paths and code are the
same in every language and remain unchanged, so that a check still comes from the user's own words. Text in code
quotes is not changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_PUNCTUATION = str.maketrans({"，": ", ", "、": ", ", "。": ". ", "；": "; ", "：": ": ", "（": " (", "）": ") ", "！": ". ", "「": '"', "」": '"', "『": '"', "』": '"', "　": " "})  # fmt: skip


def _table(text: str) -> Mapping[str, str]:
    rows = (line.partition(" = ") for line in text.strip().splitlines())
    return {word.strip(): english.strip() for words, _, english in rows for word in words.split("|")}


_EAST = _table(
    """
    不要|不能|不可以|不得|不许|不准|禁止使用|严禁|切勿|请勿|别|勿|千万别|不应|不用|避免|而不是|不再 = never
    しないでください|しないで下さい|しないでね|しないで|しないこと|してはいけません|してはいけない|してはならない|してはだめ|してはダメ|するな = forbidden
    ないでください|ないで下さい|ないでね|ないで|ないこと|てはいけません|てはいけない|てはならない|てはだめ|ちゃだめ|ちゃダメ = forbidden
    使わない|使用しない|使用禁止|厳禁|禁止|不可|やめて|ダメ|だめ|NG = forbidden
    하지 마세요|하지마세요|하지 마|하지마|하지 말 것|하지 말아|쓰지 마세요|쓰지 마|쓰지 말고|지 마세요|지 말 것|지 마|지 말고|금지 = forbidden
    ではなく|じゃなくて|じゃなく|の代わりに|대신 = forbidden ,
    一律|始终|总是|必须|务必|一定要|只能|只|仅|必ず|常に|のみ|だけ|항상|반드시|꼭 = always
    未经我同意|没有我的同意|未经允许 = without asking
    新包|新的包|新软件包 = new packages
    文件名|ファイル名|파일 이름|파일명 = file names
    第三方库|第三方包 = third-party libraries
    依赖项|依赖包|依赖库|依赖|依存関係|依存ライブラリ|의존성 = dependencies
    添加|增加|新增|加入|追加|추가 = add
    新的|新しい|새로운 = new
    不允许|不得使用 = never
    升级|アップグレード|업그레이드 = upgrade
    类型|型の|타입 = type
    使用|请用|改用|用|使って|使う|使い|利用|사용|쓰세요|써 = use
    安装|インストール|설치 = install
    推送|プッシュ|푸시 = push
    提交信息|提交消息|提交说明|コミットメッセージ|커밋 메시지 = commit message
    提交|コミット|커밋 = commit
    合并|マージ|병합|머지 = merge
    强制|強制|강제 = force
    分支名|ブランチ名|브랜치 이름 = branch names
    切换|切り替え|전환 = switch
    작업하|作業し = work
    分支|ブランチ|브랜치 = branch
    已有的|现有的|已有|现有|已经存在的|既存の|기존 = existing
    不直接 = never directly
    往 = to
    在 = in
    修改|编辑|改动|改|触碰|动|変更|編集|触ら|触れ|修正|수정|편집|변경|건드리 = edit
    删除|削除|삭제 = delete
    読み取り専用|只读|읽기 전용 = read-only
    열지|열어|보지|읽지 = read
    读取|查看|打开|読ま|開か|見|읽 = read
    连接|接続|접속|연결 = connect
    创建|新建|作成|생성 = create
    根目录|ルートディレクトリ|プロジェクトのルート|ルート|루트 = project root
    文件|ファイル|파일 = files
    新文件|新しいファイル|新規ファイル|새 파일 = new files
    自动生成|自動生成|자동 생성 = generated
    导入|引入|インポート = import
    运行|执行|跑|実行|流し|실행|돌리 = run
    画像|图片|图像|イメージ|이미지 = images
    スクリプト|脚本|스크립트 = scripts
    マイグレーション|迁移|数据库迁移|마이그레이션 = migrations
    ドキュメント|文書|文档|문서 = docs
    コンポーネント|组件|컴포넌트 = components
    アイコン|图标|아이콘 = icons
    置かない = put forbidden
    두지 마세요|두지 마|넣지 마세요|넣지 마 = put forbidden
    넣으세요|넣어|두세요|둡니다 = put
    测试|テスト|테스트 = tests
    类型检查|型チェック|타입 체크 = typecheck
    代码|コード|코드 = code
    文字以内|文字まで|个字符以内|个字符|个字以内|个字|자 이내|자 이하|자를 넘지 =  characters max
    句号|句点|마침표 = period
    先頭に|冒頭に|先頭は|で始める|で始めて|から始め|始まる|开头|开始|로 시작 = start
    含める|含めて|包含|包括|포함 = contain
    課題番号|チケット番号|工单号|任务编号|单号|티켓 번호|이슈 번호 = ticket number
    現在形|命令形|祈使句|명령형 = imperative
    小文字|小写|소문자 = lowercase
    大文字|大写|대문자 = uppercase
    英語|英文|英语|영어 = English
    日本語|日语|日文|일본어 = Japanese
    中文|中国語|汉语|중국어 = Chinese
    한국어|韩语|韩文|韓国語 = Korean
    で書いて|で書く|で記述|撰写|编写|书写|写|로 작성|으로 작성|로 쓰 = in
    文件夹|目录|フォルダ|ディレクトリ|폴더|디렉터리|디렉토리 = folder
    手动|手工|手で|手動|수동|직접 수정 = by hand
    下的|下面|以下|の下|の中|中的|里的|配下|아래|안의|밑에 = in
    直接|직접 = directly
    到|に|へ|에 = to
    か = or
    を付けて|をつけて|を付ける = with
    放在|放到|放入 = put in
    放|置い|置か|置く = put
    作ら = create
    先|まず|먼저 = first
    或|或者|和|也|及|と|や|または|및|또는|나 = or
    """
)
_BEFORE_EAST = re.compile(r"([^,.;:\n]{1,60}?)\s?(?:之前|以前|前に|する前|전에|前(?=[必要先都务应，, ]))")
_EAST_WORD = re.compile("|".join(map(re.escape, sorted(_EAST, key=len, reverse=True))))
EASTERN = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # Written without spaces, also next to Latin names.
_EAST_SIGN = re.compile(f"[{EASTERN}]")
_OTHER_EAST = re.compile(f"[{EASTERN}]{{1,200}}")

# Words that are also English or German are ignored, unless the rule contains a word that is unique to this group.
_WEST = _table(
    """
    jamás|jamas|nunca|ninguna|ninguno|ningún|nada de|prohibido|prohibida|está prohibido|evita|jamais|proibido|interdit|interdite|ne pas|mai|vietato|non|nooit|niet|geen|никогда|нельзя|запрещено|не|nigdy|nie wolno|zabronione|asla|aldrig|inte|ikke = never
    niente|nessun|nessuna|nessuno|evitare|evitate|éviter|évitez|evite|evitar|vermijd|unikaj|unngå|undvik|undgå|aldri|nikdy|nepoužívej|nepoužívat|älä|koskaan|kullanma|ніколи|не використовуй|не використовувати|избегай|jamás|никаких|никакого|никакой|żadnych|żaden|ingen|inga|inget|ei saa = never
    plutôt que|al posto di|al posto del|anziché|invece del|invece della|a favor de|ao invés de|istället för|zamiast|замість|místo|sijaan|yerine|en lugar del|en vez del|in plaats van = instead of
    doit|doivent|devono|deve|devem|debe|deben|hay que|tem que|tem de|bisogna|moet|moeten|musi|muszą|trzeba|należy|należy|måste|ska|skal|må|muss|нужно|надо|должен|должны|должна|обязательно|треба|musí|pitää = must
    endast|bara|kun|bare|pouze|vain|sadece|тільки|лише|wyłącznie|исключительно = only
    nulle part ailleurs|en ningún otro lugar|da nessun'altra parte|em nenhum outro lugar|nigdzie indziej|и нигде больше = nowhere else
    называем|называй|называть|именуем|nombramos|nommons|chiamiamo = are called
    передавай|передавать|передавайте|passez|pases = pass
    существующие|старые|существующих|existantes|existants|existentes|esistenti|istniejących|befintliga = existing
    ключ|флаг|опцию|опция|drapeau|opción = flag
    создаёт|генерирует|собирает|порождает|genera|génère = generated by
    там|туда|allí|là-bas = there
    ничего|nada|niente = nothing
    начинаться|начинаются|начинаем = start
    номера задачи|номером задачи|номер задачи|номера тикета = ticket number
    например|por ejemplo|par exemple|per esempio = e.g.
    нужен|нужна|нужны = needs
    обновляй|обновлять|обновляйте|actualices|actualizar|actualiza|actualise|actualiser|atualize|atualizar|aggiornare|aggiorna = update
    depuis|desde|из = from
    fijadas|fijados|épinglées|закреплены|зафиксированы = pinned
    rangos|диапазонов|диапазоны|intervalles = ranges
    dependencia|dependencias|dépendance|dépendances|dependência|dependências|dipendenza|dipendenze|зависимость|зависимости|зависимостей|zależności = dependencies
    nueva|nuevas|nuevo|nuevos|nouvelle|nouvelles|nouveau|nouveaux|novas|nova|novo|novos|nuova|nuove|nuovi|новые|новых|новую|новый|новая|новое = new
    paquete|paquetes|paquet|paquets|pacote|pacotes|pacchetto|pacchetti|пакет|пакеты|пакетов = packages
    gema|gemas|гем|гемы|гемов = gems
    biblioteca|bibliotecas|librería|librerías|bibliothèque|bibliothèques|libreria|librerie|библиотеку|библиотеки|библиотек = libraries
    через меня|через нас = through me
    sans mon accord|sans mon autorisation|sin mi permiso|sem minha permissão|без спроса|не спросив|без моего согласия|без согласования|sin preguntar|sin preguntarme|sans demander|sans me demander|sem perguntar|senza chiedere = without asking
    ni siquiera|même pas|nem sequer|nemmeno|даже не = nor
    ajoute|ajoutez|ajouter|agregues|agregar|agrega|añadas|añadir|añade|adicione|adicionar|aggiungere|aggiungi|toevoegen|voeg|dodawaj|добавляй|добавлять|legg til|lägg till = add
    лежат|находятся|хранятся|met|mettons|ponemos|guardamos|кладём|кладем|mets|metti|mettere|pon|poner|ponga|ponlo|va|van|vont|vanno|ficam|fica|zet|plaats|leg|umieszczaj|клади|класть|положи|lägg|legg = put
    prueba|pruebas|testes|testy|тесты|тестов|essais = tests
    empieza|empiezan|empezar|empiecen|comienza|comienzan|commence|commencent|commencer|começa|começam|começar|inizia|iniziano|iniziare|iniziano|begint|начинаются|начинается|начинать|начинай|zaczynaj|zaczynają|zaczynać|börjar|börja|starter|başlamalı|починатися = start
    termina|terminan|terminar|terminent|finissent|terminam|finiscono|terminano|eindigen|eindigt|заканчиваются|kończą|slutar = end
    contener|contienen|contiene|incluir|incluyen|contiennent|contient|inclure|conter|contêm|contém|contengono|includere|bevatten|содержат|содержать|zawierają|zawierać|innehålla|innehåller|indeholde = contain
    número de ticket|numéro de ticket|número do ticket|numero di ticket|numero del ticket|numero ticket|ticketnummer|номер задачи|номер тикета|тикет|numer zadania|numer ticketu = ticket number
    máximo|massimo|maximaal|максимум|не более|не длиннее|maksymalnie|höchstens|au maximum|no máximo|como máximo|al massimo|högst|maks = at most
    точки|точкой|kropki|kropką|punkt på slutet = period
    escribe|escribir|escrito|escritos|rédige|rédiger|rédigez|rédigés|écris|écrire|écrits|escreva|escrever|escritas|scrivi|scrivere|scritti|schrijf|schrijven|пиши|писать|пишем|pisz|pisać|skriv = write
    solo lectura|sólo lectura|lecture seule|sola lettura|somente leitura|só de leitura|alleen-lezen|только для чтения|tylko do odczytu|skrivskyddad|skrivskyddade|skrivebeskyttet|salt okunur = read-only
    aplicadas|aplicados|appliquées|appliqués|applicate|aplicadas|применённые|примененные|toegepaste|zastosowane|zastosowanych = applied
    raak|raken|ruszaj|ruszać|rusz|dotykaj|dotykać|dokunmayın|rørt|rør|berör = touch
    dokunma|değiştirme|düzenleme = never touch
    klasörüne|klasörü|klasöründe|klasör = folder
    lis|öppna|læs|okuma = read
    plus de|plus d'|pas de|pas d'|jamais de = never
    se llaman|s'appellent|s' appellent|si chiamano|se chamam|heten|называются|nazywają się|se nomment = are called
    новых файлов|новые файлы|новых файла|nowych plików|nowe pliki|nya filer|nye filer|yeni dosya = new files
    корне проекта|корень проекта|корне репозитория|корне|katalogu głównym|projektroten|projektets rot = project root
    файлы|файлов|файл|pliki|plików|plik|filer|dosya = files
    ramas nuevas siempre desde = branches always from
    ramas|las ramas|rami|i rami|ветки|веток|gałęzie|gałęzi|grenar|takken = branches
    sempre com|siempre con|toujours avec|sempre con = always with
    rien|nichts = nothing
    siempre|toujours|sempre|altijd|всегда|zawsze|alltid|her zaman = always
    solo|sólo|solamente|únicamente|seulement|uniquement|só|somente|apenas|soltanto|alleen|только|tylko = only
    usa|usar|uses|utiliza|utilizar|utilice|utilise|utilisez|utiliser|use|usem|usate|usare|gebruik|gebruiken|используй|используйте|использовать|używaj|uzywaj|używać|använd|brug|bruk|kullan = use
    en lugar de|en vez de|au lieu de|em vez de|no lugar de|invece di|in plaats van|вместо|zamiast|i stället för|i stedet for = instead of
    antes de|antes del|avant de|avant chaque|avant|prima di|voordat|перед|przed|innan|før = before
    sin|sans|sem|senza|zonder|без|bez|utan|uden = without
    rama|ramas|branche|ramo|ветку|ветка|ветке|gałąź = branch
    сообщение коммита|сообщения коммитов|сообщения коммита|сообщения к коммитам = commit messages
    коммиты|коммитов|коммита|коммитом|коммиту|коммит|commitem|commita|commitu|коммите = commit
    haz commit|hagas commit|hacer commit|commitear|commitez|committez|commiter|faça commit|fazer commit|commitar|commite|fare commit|коммить|коммитить|commituj|commita = commit
    pousse|poussons|subas|subir|sube|empujes|suba|subam|pushare|wypychaj|wypychać|mergee|mergea|pushees|pusher = push
    fusionne|fusionner|fusionnez|mergez|merger|mergees|fusiones|fusionar|mergiare|unire|merguj|mergować|мержи|мержить|сливай|merges = merge
    haz push|hagas push|hacer push|pushear|poussez|pousser|faça push|fazer push|enviar|fare push|push-ez|пушить|пушь|pushuj|pusha|pushe = push
    toques|tocar|toque|touchez|toucher|touche|toccare|mexa|mexer|aanraken|трогай|трогать|dotykaj|rör = touch
    edites|editar|edite|modifiques|modificar|modifique|modifiez|modifier|modifie|modificare|altere|alterar|cambies|cambiar|wijzig|wijzigen|bewerk|правь|правим|правите|меняем|править|меняй|менять|изменяй|изменять|редактировать|редактируй|edytuj|zmieniaj|ändra = edit
    borres|borrar|elimines|eliminar|supprimez|supprimer|apague|apagar|cancellare|verwijder|удаляй|удалять|usuwaj = delete
    leas|leer|abras|lisez|lire|ouvrir|leia|ler|abrir|leggere|lees|читай|читать|czytaj = read
    ejecutes|ejecutar|ejecuta|corre|exécutez|exécuter|lance|lancer|lancez|execute|executar|rode|rodar|esegui|eseguire|voer|draai|запускай|запускать|запусти|uruchamiaj|kör = run
    installe|installes|instales|instalar|installez|installer|instale|instalar|installare|устанавливай = install
    создавай|создавать|crée|crees|crear|crea|créez|créer|crie|criar|creare|maak|создавай|twórz = create
    archivos nuevos|nuevos archivos|nouveaux fichiers|nouveau fichier|novos arquivos|arquivos novos|nuovi file|nieuwe bestanden = new files
    raíz del proyecto|la raíz|racine du projet|la racine|racine du dépôt|raiz do projeto|a raiz|radice del progetto|hoofdmap = project root
    mensaje de commit|mensaje del commit|message de commit|message du commit|mensagem de commit|messaggio di commit|messaggio del commit|commitbericht|commitbericht|komunikat commita|commitmeddelande = commit message
    commitberichten|commit-berichten|komunikaty commitów|commitmeddelanden|opisy commitów|tytuły commitów|mensajes de los commits|títulos de commit = commit messages
    mensajes de commit|messages de commit|mensagens de commit|messaggi di commit = commit messages
    directamente|directement|diretamente|direttamente = directly
    generado|generados|généré|générés|gerado|gerados|generato|generati = generated
    noms de fichiers|noms des fichiers|nombres de archivos|nombres de archivo|nombres de los archivos|nomes de arquivos|nomi dei file|имена файлов|названия файлов|bestandsnamen = file names
    nombra los archivos|nommez les fichiers|nomme les fichiers|называй файлы = file names
    archivos de prueba|archivos de test|ficheros de test|fichiers de test|fichiers de tests|arquivos de teste|file di test|тестовые файлы = test files
    archivos|ficheros|fichiers|arquivos|bestanden = files
    poner|pongas|mettre|mettez|colocar|coloque = put
    imágenes|imagens|immagini|afbeeldingen|obrazy|obrazki|изображения|картинки|bilder|obrázky = images
    скрипты|скриптов|skrypty|skript|skripty = scripts
    миграции|migraciones|migrações|migrazioni|migracje|migraties = migrations
    документация|документы|documentación|documentação|documentazione|dokumentacja|documentatie = docs
    componentes|composants|componenti|компоненты|komponenty|componenten = components
    carpeta|dossier|répertoire|pasta|cartella|папку|папка|папке|каталог|каталоге|katalog|katalogu|mappe|mappen|mapp|map = folder
    a mano|à la main|manuellement|manualmente|à mão|met de hand|handmatig|руками|вручную|ręcznie|för hand = by hand
    importes|importar|importez|importer|importe = import
    en|dans|em|nella|nel|в|na = in
    ni|ou|nem|o|né|ani|или|lub|of = or
    y|et|e|и|och|og = and
    """
)
_WEST_WORD = re.compile(
    r"(?<![\w./-])(?:" + "|".join(map(re.escape, sorted(_WEST, key=len, reverse=True))) + r")(?![\w/-]|\.\w)", re.IGNORECASE
)
_WEST_ONLY = re.compile(
    r"(?<![\w./-])(?:jam[aá]s|nunca|hagas|hacer|siempre|toujours|sempre|ne|pas|jamais|não|nem|usar|usa|uses|niente|nessun\w?|nella|nello|nei|negli|della|sono|sempre|questo|deve|devono|devem|deben|debe|hay|nas|nos|uma|um|dans|une|qui|sur|doit|doivent|moet|moeten|voor|wij|we gebruiken|ska|måste|endast|bara|och|inte|aldri|ikkje|skal|og|det|nigdy|zamiast|tylko|używaj\w*|nikdy|vždy|místo|älä|aina|yerine|için|kullanma\w*|her|utilis\w{1,4}|antes de|antes del|avant|el|los|las|del|una|por favor"
    r"|s'il|les|des|du|aux|para|com|não|faça|também|non|mai|gli|della|nel|prima di|nooit|niet|geen|altijd|het|een|aldrig|inte|ikke|nigdy|zawsze|nie wolno|asla|sin|sans|sem|prohibido|proibido|interdit)(?![\w/-])"
    r"|[\u0400-\u04ff]{2}",
    re.IGNORECASE,
)
_ALSO_ENGLISH = frozenset(
    "tests execute utilise lance branche ramas utiliser solo maken commit commits commite minus pasta katalog mappe mappen dossier tests".split()
)
_WEST_KEYS = re.compile(
    r"(?<![\w./-])(?:" + "|".join(re.escape(key) for key in _WEST if len(key) > 4 and key not in _ALSO_ENGLISH) + r")(?![\w/-])",
    re.IGNORECASE,
)
_GERMAN_OR_ENGLISH = re.compile(
    r"\b(?:the|don't|do not|never|always|is|are|and|with|before|der|die|das|nicht|kein\w{0,2}|immer|niemals|und|nie|bitte|vor|nur|für|mit)\b",
    re.IGNORECASE,
)
_NOT_BEFORE_NAME = re.compile(
    r"(?<![\w./-])(?:no|não|nao)\s(?!prime|segund|final|projeto|repo|código|começo|fim\b|arquivo|mesmo)(?=[a-zà-ÿ]{3,12}\b)",
    re.IGNORECASE,
)
_CODE = re.compile(r"`[^`\n]{1,120}`|\"[^\"\n]{1,120}\"")


MAX_CHARACTERS = 2_000


def in_english(rule: str) -> str:
    """Return the rule with its cue words in English.

    Rules in English or German are returned unchanged, like texts that are too long for a rule.
    """
    if len(rule) > MAX_CHARACTERS:
        return rule
    if _EAST_SIGN.search(rule):
        return _outside_code(rule.translate(_PUNCTUATION), _eastern)
    if len(_WEST_ONLY.findall(rule)) + 2 * len(_WEST_KEYS.findall(rule)) > len(_GERMAN_OR_ENGLISH.findall(rule)):
        return _outside_code(rule, _western)
    return rule


def _outside_code(rule: str, render: Callable[[str], str]) -> str:
    out: list[str] = []
    at = 0
    for match in _CODE.finditer(rule):
        out += [render(rule[at : match.start()]), match[0]]
        at = match.end()
    return "".join([*out, render(rule[at:])])


_ENDS_WITH_DENIAL = re.compile(r"(編集|変更|修正|実行|使用|コミット|プッシュ|削除)しない(?=\s?[.,;]|\s?$)")


# "packages/core 里禁止": the word for "in" follows the folder.
_PLACE_EAST = re.compile(
    r"(?<![\w./@在于从到往-])(?<![在于从到往] )(?<!import )(?<!导入 )([A-Za-z@][\w@.-]{0,40}/[\w@./-]{0,60})\s?(?:里面|里的代码|里|内|の中で)(?!的)"
)


def _eastern(text: str) -> str:
    text = _ENDS_WITH_DENIAL.sub(r"\1しないこと", text)
    text = _PLACE_EAST.sub(r" in \1 ", text)
    text = _BEFORE_EAST.sub(r" before \1, ", text)
    text = _EAST_WORD.sub(lambda match: f" {_EAST[match[0]]} ", text)
    return re.sub(r"[ \t]{1,20}(?=[.,;:](?:\s|$))", "", re.sub(r"[ \t]{2,20}", " ", _OTHER_EAST.sub(" ", text)))


# "N'ajoute jamais": French denies on both sides of the verb.
_AROUND_VERB = re.compile(r"(?<![\w'])(?:n'\s|ne\s)(?P<verb>[a-zà-ÿ]{2,20})\s(?:jamais|pas|plus|aucune?)(?!\w)", re.IGNORECASE)


def _western(text: str) -> str:
    text = re.sub(r"\b([dlnsj]|qu)['’](?=\w)", r"\1' ", text, flags=re.IGNORECASE)
    text = _AROUND_VERB.sub(r"jamais \g<verb>", text)
    text = _WEST_WORD.sub(lambda match: _WEST[match[0].lower()], text)
    return _NOT_BEFORE_NAME.sub("never ", text)
