"""Generated secrets of many kinds, and harmless strings that resemble secrets. None are valid. Each seed gives the same samples.

    python -m benchmarks.secret_samples [--seed 1] [--each 6] [--show] [--file SAMPLES.json]

Prints, for each kind, the number of secrets missed by `redact` and the number of harmless strings changed, and the
overall shares. `--show` prints the failures. `--file` counts the samples of a file instead, for samples by an author
who does not know the patterns. The file is a list of objects with `kind`, `text` and `secret` (null for a harmless
one), or an object with a list `secrets` of objects with `kind`, `text` and `needles`, and a list `harmless` of texts.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import re
import string
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from memoryd.daydream.redact import redact

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"
B64 = ALNUM + "+/"
B32 = string.ascii_uppercase + "234567"


@dataclass(frozen=True, slots=True)
class Sample:
    """A text with a secret. None of the needles may remain. A text without needles is harmless and must not change."""

    kind: str
    text: str
    needles: tuple[str, ...] = ()


class _Maker:
    """A generator of random parts, reproducible for each seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def run(self, length: int, alphabet: str = ALNUM) -> str:
        """Return a random string, with at least one digit if the alphabet has any."""
        signs = [self.random.choice(alphabet) for _ in range(length)]
        if length > 4 and any(c.isdigit() for c in alphabet) and not any(c.isdigit() for c in signs):
            signs[length // 2] = "7"
        return "".join(signs)

    def one(self, *choices: str) -> str:
        """Return a random choice."""
        return self.random.choice(choices)

    def password(self) -> str:
        """Return a password as people choose them."""
        word = self.one(
            "Sunset", "tiger", "Kaffee", "nube", "lune", "Garten", "river", "Falke", "mango", "quartz", "Birke", "otter"
        )
        return self.one(
            f"{word}{self.run(4, string.digits)}", f"{word}{self.one('!', '#', '?', '$$')}{self.run(2, string.digits)}", self.run(10),
            f"{self.run(4)}#{self.run(5)}", f"{word}-{self.one('blue', 'moon', 'Haus')}-{self.run(2, string.digits)}", self.run(14), self.run(8),
        )  # fmt: skip

    def word(self) -> str:
        """Return a password that is a plain word."""
        return self.one(
            "Sommerregen", "swordfish", "Herbstlaub", "butterfly", "Bratkartoffel", "moonlight", "Zauberwald", "pineapple"
        )

    def user(self) -> str:
        """Return a login name."""
        return self.one("admin", "root", "deploy", "ann", "app", "svc_build", "postgres", "maria.lopez", "ops@acme.io")

    def host(self) -> str:
        """Return a host name."""
        return self.one("db.acme.io", "10.0.3.7", "staging-db", "cache.internal", "mail.example.org", "vault.corp.lan")

    def vendor(self) -> str:
        """Return a key with a vendor's prefix."""
        return self.one(
            "gh" + self.one("p", "o", "s") + "_" + self.run(36), "sk-" + "ant-api03-" + self.run(60), "sk-" + "proj-" + self.run(48),
            "AK" + "IA" + self.run(16, B32), "xox" + "b-" + self.run(12, string.digits) + "-" + self.run(24), "gl" + "pat-" + self.run(20),
            "AI" + "za" + self.run(35), "npm" + "_" + self.run(36), "hf" + "_" + self.run(34), "sk" + "_live_" + self.run(24),
            "S" + "G." + self.run(22) + "." + self.run(43), "dop" + "_v1_" + self.run(64, HEX), "shpat" + "_" + self.run(32, HEX),
            "dckr" + "_pat_" + self.run(27), "hv" + "s." + self.run(24), "github" + "_pat_" + self.run(22) + "_" + self.run(59),
        )  # fmt: skip

    def bytes64(self, length: int) -> str:
        """Return random bytes in Base64."""
        return base64.b64encode(bytes(self.random.randrange(256) for _ in range(length))).decode()


def secrets(seed: int = 1, each: int = 6) -> Iterator[Sample]:
    """Return secrets of all kinds, `each` per wording."""
    make = _Maker(seed)
    for kind, wordings in _WORDINGS.items():
        for wording in wordings:
            for _ in range(each):
                text, *needles = wording(make)
                yield Sample(kind, text, tuple(needles))


Wording = Callable[[_Maker], tuple[str, ...]]


def _with(template: str, value: Callable[[_Maker], str]) -> Wording:
    """Fill in a wording with the value at `@` and other parts at `USER` and `HOST`."""

    def build(make: _Maker) -> tuple[str, ...]:
        secret = value(make)
        return template.replace("USER", make.user()).replace("HOST", make.host()).replace("@@", secret), secret

    return build


def _all(value: Callable[[_Maker], str], *templates: str) -> list[Wording]:
    return [_with(template, value) for template in templates]


def _pw(make: _Maker) -> str:
    return make.password()


def _word(make: _Maker) -> str:
    return make.word()


def _key(make: _Maker) -> str:
    return make.one(make.run(32), make.run(40), make.run(24), make.run(32, HEX), make.run(64, HEX))


def _letters(make: _Maker) -> str:
    return make.run(28, string.ascii_letters)


def _cookie(make: _Maker) -> str:
    return make.one(
        make.run(32), make.run(40), "s%3A" + make.run(32) + "." + make.run(43), make.run(26, LOWER), make.run(64, HEX)
    )


def _split_line(make: _Maker) -> tuple[str, ...]:
    key = make.vendor()
    cut = make.random.randrange(len(key) // 3 + 4, 2 * len(key) // 3 + 4)
    joint = make.one("\n", "\n  ", "\\\n", "\r\n    ")
    return f"the key is {key[:cut]}{joint}{key[cut:]}\nand that's it", key[cut:]


def _concatenated(make: _Maker) -> tuple[str, ...]:
    key = make.vendor()
    cut = make.random.randrange(len(key) // 3 + 4, 2 * len(key) // 3 + 4)
    joint = make.one("' + '", "' . '", "' '", "' +\n    '", "' \\\n  '", "'+'", "' & '")
    return f"k = '{key[:cut]}{joint}{key[cut:]}'", key[cut:]


def _concatenated_password(make: _Maker) -> tuple[str, ...]:
    head, tail = make.run(8), make.run(9)
    return f'password = "{head}" {make.one("+", ".", "")} "{tail}"', tail


def _hidden(make: _Maker) -> tuple[str, ...]:
    key = make.vendor()
    cut = len(key) // 2
    return (
        f"use {key[:cut]}{make.one(chr(0x200B), chr(0x200D), chr(0x2060), chr(0xFEFF), chr(0xAD))}{key[cut:]} there",
        key[cut:],
        key[:cut],
    )


def _encoded(make: _Maker) -> tuple[str, ...]:
    data = make.one(make.vendor(), f"{make.user()}:{make.run(12)}", f"password={make.run(12)}", f"DB_SECRET: {make.run(20)}")
    code = base64.b64encode(data.encode()).decode()
    return make.one(f"echo {code} | base64 -d", f"it decodes from {code}", f"value: {code}", f"base64 -d <<< '{code}'"), code


def _body(make: _Maker) -> tuple[str, ...]:
    lines = [make.run(64, B64) for _ in range(make.random.randrange(3, 8))]
    last = make.run(40, B64) + make.one("==", "=", "")
    intro = make.one("key file body:\n", "", "here is id_rsa:\n", "the middle of it:\n\n")
    return intro + "\n".join([*lines, last]), lines[1], lines[0]


def _pem(make: _Maker) -> tuple[str, ...]:
    lines = [make.run(64, B64) for _ in range(6)]
    name = make.one("RSA ", "EC ", "OPENSSH ", "", "ENCRYPTED ")
    head, tail = f"{'-' * 5}BEGIN {name}PRIVATE KEY{'-' * 5}", f"{'-' * 5}END {name}PRIVATE KEY{'-' * 5}"
    body = "\n".join(lines)
    return make.one(
        f"{head}\n{body}\n{tail}",
        f"{head}\n{body}",
        f"{body}\n{tail}",
        f"{head}\\n{body.replace(chr(10), chr(92) + 'n')}\\n{tail}",
    ), lines[2]


def _seed(make: _Maker) -> tuple[str, ...]:
    words = """abandon ability legal winner thank year wave sausage worth useful yellow zebra ocean marble tunnel crisp orbit velvet canyon drift
        engine forest garden hammer island jungle kitten ladder magnet napkin""".split()
    said = " ".join(make.random.choice(words) for _ in range(make.random.choice((12, 15, 18, 24))))
    intro = make.one("seed phrase: ", "My recovery phrase is ", "mnemonic = ", "wallet seed: ", "the seed words are:\n", "Die Seed-Phrase lautet: ",
                     "phrase de récupération : ", "frase semilla: ", "助记词：", "сид-фраза: ")  # fmt: skip
    return intro + said, said


def _recovery(make: _Maker) -> tuple[str, ...]:
    codes = [
        make.one(make.run(5, LOWER) + "-" + make.run(5, LOWER), make.run(8, string.digits), make.run(10, LOWER)) for _ in range(5)
    ]
    intro = make.one(
        "recovery codes: ",
        "Backup codes:\n",
        "GitHub recovery codes\n",
        "Wiederherstellungscodes: ",
        "codes de secours : ",
        "scratch codes are: ",
    )
    return intro + make.one(" ", "\n", ", ").join(codes), *codes


def _jwt(make: _Maker) -> tuple[str, ...]:
    parts = [
        base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("="),
        make.run(60, ALNUM + "-_"),
        make.run(43, ALNUM + "-_"),
    ]
    return make.one("token ", "", "Cookie: jwt=", "curl -H 'X: ") + ".".join(
        ["eyJ" + parts[0][3:], "eyJ" + parts[1], parts[2]]
    ), parts[2]


def _docker_auth(make: _Maker) -> tuple[str, ...]:
    code = base64.b64encode(f"{make.user()}:{make.run(14)}".encode()).decode()
    return f'{{"auths": {{"registry.acme.io": {{"auth": "{code}"}}}}}}', code


def _basic(make: _Maker) -> tuple[str, ...]:
    code = base64.b64encode(f"{make.user()}:{make.password()}".encode()).decode()
    return make.one("Authorization: Basic ", '"authorization": "Basic ', "-H 'authorization: basic ") + code, code


def _kube(make: _Maker) -> tuple[str, ...]:
    value = make.bytes64(24)
    return (
        f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: app\ndata:\n  {make.one('api', 'db', 'password', 'smtp')}: {value}\n",
        value,
    )


def _kubeconfig(make: _Maker) -> tuple[str, ...]:
    value = make.one(make.bytes64(90), make.run(60))
    return f"users:\n- name: admin\n  user:\n    {make.one('token', 'client-key-data', 'password')}: {value}", value


def _digits(make: _Maker) -> str:
    return make.run(make.random.choice((4, 6)), string.digits)


def _six(make: _Maker) -> str:
    return make.run(6, string.digits)


def _webhook(make: _Maker) -> tuple[str, ...]:
    secret = make.run(24)
    return make.one(
        f"https://hooks.slack.com/services/T{make.run(8, B32)}/B{make.run(8, B32)}/{secret}",
        f"https://discord.com/api/webhooks/{make.run(18, string.digits)}/{secret}{make.run(30)}",
        f"https://acme.webhook.office.com/webhookb2/{make.run(8, HEX)}-{secret}/IncomingWebhook/{make.run(32, HEX)}/x",
        f"https://hooks.zapier.com/hooks/catch/{make.run(7, string.digits)}/{secret.lower()}/",
        f"https://open.feishu.cn/open-apis/bot/v2/hook/{secret}", f"https://oapi.dingtalk.com/robot/send?access_token={secret}{make.run(30, HEX)}",
        f"https://api.telegram.org/bot{make.run(9, string.digits)}:AA{make.run(9)}{secret}/sendMessage",
    ), secret  # fmt: skip


_WORDINGS: dict[str, list[Wording]] = {
    "vendor keys": _all(lambda m: m.vendor(), "@@", "use @@ for now", "export KEY=@@", "the key:@@,", "(@@)", "key=`@@`", "{\"k\":\"@@\"}"),
    "cloud keys": [
        *_all(lambda m: m.run(40, B64), "aws_secret_access_key = @@", "the AWS secret for deploy is @@", "AWS_SECRET_ACCESS_KEY=@@", "secretAccessKey: '@@'"),
        *_all(lambda m: m.run(86, B64) + "==", "AccountKey=@@;EndpointSuffix=core.windows.net", "azure storage key: @@"),
        *_all(_key, "DD_API_KEY=@@", "CLOUDFLARE_API_TOKEN=@@", "client_secret: @@", "ALGOLIA_ADMIN_KEY_SECRET=@@", "our api key is @@"),
    ],
    "urls": [
        *_all(_key, "https://@@@github.com/acme/shop.git", "git clone https://oauth2:@@@gitlab.com/a/b.git", "https://@@:x-oauth-basic@github.com/a/b",
              "https://api.acme.io/v1/items?api_key=@@", "https://x.io/cb?access_token=@@&state=3", "https://x.io/#token=@@", "https://maps.example/js?key=@@&v=3"),
        *_all(_letters, "https://x.io/cb?access_token=@@", "https://x.io/dl?sig=@@", "https://x.io/dl?sp=r&signature=@@&x=1"),
    ],
    "connection strings": _all(
        lambda m: m.one(m.run(12), m.run(16), m.run(8) + "!x"), "postgres://app:@@@HOST:5432/app", "mongodb+srv://svc:@@@cluster0.ab1cd.mongodb.net/shop",
        "redis://:@@@HOST:6379/0", "amqp://guest:@@@HOST/vhost", "Server=HOST;Database=x;User Id=sa;Password=@@;", "jdbc:mysql://db/app?user=app&password=@@",
        "mysql+pymysql://root:@@@HOST/app", "Host=HOST;Username=app;Pwd=@@;Port=5432", "ftp://USERX:@@@HOST/in", "smtp://mailer:@@@HOST:587",
    ),
    "environment": [
        *_all(_pw, "DB_PASS=@@", "SMTP_PASSWORD=@@", "export MYSQL_ROOT_PASSWORD='@@'", "REDIS_PW=@@", "MAIL_PWD=@@", "KEYSTORE_PASS=\"@@\"",
              "PGPASSWORD=@@ psql -h HOST", "- FTP_PASS=@@", "set DB_PASSWORD=@@", "$env:DB_PASS = \"@@\"", "spring.datasource.password=@@", "ansible_become_pass: @@"),
        *_all(lambda m: m.run(64, HEX), "SECRET_KEY_BASE=@@", "secret_key_base: @@", "SESSION_SECRET=@@", "ENCRYPTION_KEY=@@", "JWT_SECRET=@@", "DJANGO_SECRET_KEY='@@'"),
        *_all(lambda m: m.bytes64(32), "APP_KEY=base64:@@", "MASTER_KEY=@@", "PrivateKey = @@", "SIGNING_KEY: @@", "NEXTAUTH_SECRET=\"@@\""),
    ],
    "files": [
        *_all(_pw, 'variable "db_password" { default = "@@" }', 'variable "admin_pass" {\n  type = string\n  default = "@@"\n}', "<password>@@</password>",
              "<Password>@@</Password>", '<add key="DbPassword" value="@@" />', "machine HOST login USER password @@", '"password": "@@"', "password: '@@'",
              "HOST:5432:app:USER:@@", "- name: DB_PASSWORD\n  value: \"@@\"", "define('DB_PASSWORD', '@@');", "requirepass @@", "CREATE USER app WITH PASSWORD '@@';",
              "ALTER USER root IDENTIFIED BY '@@';", "config.set_password(\"@@\")", "wpa_passphrase=@@", "psk=\"@@\"", 'os.environ["DB_PASS"] = "@@"'),
        *_all(_key, "secret:\n  @@", "token: @@", "//npm.acme.io/:_authToken=@@", "_auth=@@", "registry_token = \"@@\"", "apiKey: '@@',", "<apiKey>@@</apiKey>",
              'variable "api_token" { default = "@@" }', "[api]\nkey_secret = @@"),
        _docker_auth, _kube, _kubeconfig,
    ],
    "command lines": _all(
        _pw, "redis-cli -h HOST -a @@ ping", "curl -u admin:@@ https://x", "curl -s --user ann:@@ https://x", "sshpass -p @@ ssh a@b", "docker login -u a -p @@ reg.acme.io",
        "mysql -u root -p@@ shop", "mysqldump --password=@@ shop", "mongosh -u admin -p @@ HOST", "sqlcmd -S HOST -U sa -P @@", "ldapsearch -x -D cn=a -w @@",
        "smbclient //HOST/x -U ann%@@", "openssl rsa -passin pass:@@ -in k.pem", "7z x -p@@ a.7z", "unzip -P @@ a.zip", "gpg --batch --passphrase @@ -d f.gpg",
        "keytool -storepass @@ -list", "echo '@@' | sudo -S apt update", "echo @@ | docker login -u a --password-stdin", "echo 'root:@@' | chpasswd",
        "kubectl create secret generic db --from-literal=password=@@", "helm install x --set db.password=@@", "htpasswd -bc .htpasswd ann @@", "sqlplus scott/@@@orcl",
        "wget --http-password=@@ https://x", "vault kv put secret/db password=@@", "http -a ann:@@ https://x", "net use z: \\\\srv\\x /user:ann @@",
    ),
    "headers and cookies": [
        *_all(_cookie, "Cookie: sessionid=@@; theme=dark", "Set-Cookie: connect.sid=@@; Path=/; HttpOnly", "PHPSESSID=@@", "JSESSIONID=@@", "cookie: _acme_session=@@",
              "Cookie: lang=de; csrftoken=@@", "-b 'auth_session=@@'", "document.cookie = 'sid=@@'", "remember_token=@@"),
        *_all(_key, "X-Api-Key: @@", "Authorization: Bearer @@", "Authorization: token @@", "PRIVATE-TOKEN: @@", "X-Auth-Token: @@", "X-Vault-Token: @@", "'apikey': '@@'",
              "Proxy-Authorization: Basic @@", "X-Hub-Signature-Secret: @@"),
        _basic,
    ],
    "prose": [
        *_all(_pw, "The password is @@", "the staging password for HOST is @@, ok?", "password for USER: @@", "staging login root pw: @@", "my wifi password is @@", "pw = @@",
              "the root password was @@ until May", "use password @@ to get in", "passphrase: @@", "the pwd's @@", "The admin password is `@@`.", "password -> @@",
              "log in as admin with @@", "login: USER / @@", "credentials: USER / @@", "creds are USER:@@", "user admin password @@", "username: USER, password: @@"),
        *_all(_pw, "Das Passwort ist @@", "Passwort vom Staging-Server: @@", "Das Kennwort für HOST lautet @@.", "Zugangsdaten: USER / @@", "Login: USER / @@", "PW: @@",
              "Passwort für die DB ist „@@“", "WLAN-Passwort: @@", "Benutzer USER, Passwort @@"),
        *_all(_pw, "Le mot de passe est @@", "mot de passe de la base : @@", "mdp: @@", "identifiants : USER / @@", "Le mot de passe du serveur est « @@ »"),
        *_all(_pw, "La contraseña es @@", "contraseña del servidor: @@", "la clave de la base de datos es @@", "credenciales: USER / @@", "la contraseña de USER es @@."),
        *_all(_pw, "数据库密码是@@，请记住", "密码：@@", "口令为 @@", "服务器的密码是 @@。", "用户名 USER 密码 @@", "パスワードは@@です", "パスワード：@@", "DBのパスワードは「@@」", "비밀번호는 @@ 입니다", "비밀번호: @@"),
        *_all(_pw, "Пароль: @@", "пароль от сервера — @@", "Пароль администратора это @@", "A senha é @@", "senha do banco: @@", "La password è @@", "la password del server è @@",
              "Het wachtwoord is @@", "hasło to @@", "hasło: @@", "şifre: @@"),
        *_all(_key, "密钥为 @@", "API密钥：@@", "the API key is @@", "our token is @@", "der API-Token lautet @@", "la clé API est @@", "ключ: @@", "the secret key for prod is @@"),
        *_all(_word, "The password is @@.", "Das Passwort für den Server ist @@", "the password for the vault is @@", "password: @@", "Das Kennwort lautet @@.", "my password is \"@@\""),
    ],
    "split": [_split_line, _concatenated, _concatenated_password, _hidden],
    "encoded": [_encoded, _jwt],
    "private keys": [_body, _pem],
    "webhooks": [_webhook],
    "codes": [
        *_all(_digits, "PIN: @@", "my PIN is @@", "Die PIN lautet @@", "the door PIN is @@.", "PIN-Code: @@", "El PIN es @@", "Le code PIN est @@", "SIM PIN @@"),
        *_all(_six, "the code is @@", "2FA code: @@", "Your OTP is @@", "verification code @@", "TOTP: @@", "Bestätigungscode: @@", "验证码：@@", "код подтверждения @@",
              "código de verificación: @@", "code de vérification : @@", "認証コードは@@", "login code is @@."),
        _seed, _recovery,
        *_all(lambda m: m.run(32, B32), "otpauth://totp/a?secret=@@&issuer=x", "TOTP secret: @@", "2fa secret is @@"),
    ],
}  # fmt: skip


def harmless(seed: int = 1, each: int = 4) -> Iterator[Sample]:
    """Return strings that must not change: `each` per wording, and the fixed ones."""
    make = _Maker(seed)
    for text in _FIXED:
        yield Sample("harmless", text)
    for wording in _LOOKALIKES:
        for _ in range(each):
            yield Sample("harmless", wording(make))


_LOOKALIKES: tuple[Callable[[_Maker], str], ...] = (
    lambda m: f"commit {m.run(40, HEX)} fixes it",
    lambda m: f"git checkout {m.run(7, HEX)}",
    lambda m: f"id {m.run(8, HEX)}-{m.run(4, HEX)}-4{m.run(3, HEX)}-a{m.run(3, HEX)}-{m.run(12, HEX)}",
    lambda m: f"image: ghcr.io/acme/shop@sha256:{m.run(64, HEX)}",
    lambda m: f'"integrity": "sha512-{m.run(86, B64)}=="',
    lambda m: f"    --hash=sha256:{m.run(64, HEX)} \\",
    lambda m: f'etag: W/"{m.run(3, HEX)}-{m.run(27)}"',
    lambda m: f"https://github.com/acme/shop/pull/{m.run(4, string.digits)}/commits/{m.run(40, HEX)}",
    lambda m: f"https://app.example/orders/{m.run(24, HEX)}?page=2&sort=name",
    lambda m: f"https://docs.google.com/document/d/{m.run(44)}/edit",
    lambda m: f"https://www.youtube.com/watch?v={m.run(11)}",
    lambda m: f"arn:aws:iam::{m.run(12, string.digits)}:role/{m.one('Admin', 'deploy')}",
    lambda m: f"pod shop-api-{m.run(9, LOWER)}-{m.run(5, LOWER)} restarted",
    lambda m: f"s3://acme-{m.one('prod', 'dev')}-assets-{m.run(6, string.digits)}/img",
    lambda m: f"secret: s3-{m.one('bucket', 'assets')}-name-{m.one('prod', 'dev')}-0{m.run(1, string.digits)}",
    lambda m: f"secretName: {m.one('shop', 'api', 'web')}-tls-cert-20{m.run(2, string.digits)}",
    lambda m: f"data:image/png;base64,iVBORw0KGgo{m.run(120, B64)}",
    lambda m: f"color: #{m.run(6, HEX)}; background: #{m.run(3, HEX)}",
    lambda m: (
        f"v{m.run(1, string.digits)}.{m.run(2, string.digits)}.0-rc.{m.run(1, string.digits)}+build.{m.run(8, string.digits)}"
    ),
    lambda m: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{m.run(43, B64)} ann@host",
    lambda m: f"the PIN {m.run(4, string.digits)} on the connector J{m.run(1, string.digits)}",
    lambda m: f"GPIO pin {m.run(2, string.digits)} and pin {m.run(4, string.digits)} of the header",
    lambda m: f"The code is {m.run(6, string.digits)} lines long",
    lambda m: f"error code {m.run(6, string.digits)}, exit code {m.run(3, string.digits)}",
    lambda m: f"tests pass: {m.run(4, string.digits)}, fail: 0",
    lambda m: f"max_tokens: {m.run(5, string.digits)}, token count is {m.run(5, string.digits)}",
    lambda m: f"dist/assets/index-{m.run(8)}.js 142.3 kB",
    lambda m: f".css-{m.run(7, LOWER)} {{ margin: 0 }}",
    lambda m: f"trace_id={m.run(32, HEX)} span_id={m.run(16, HEX)}",
    lambda m: f"request {m.run(26, B32)} took {m.run(3, string.digits)} ms",
    lambda m: f"0x{m.run(40, HEX)} is the contract's address",
    lambda m: f"primary_key = order_id_{m.run(4, string.digits)}",
    lambda m: f"cache key: user:{m.run(5, string.digits)}:cart",
    lambda m: f"build {m.run(8, string.digits)}.{m.run(1, string.digits)} of {m.run(12, HEX)}",
    lambda m: f"session {m.run(8, HEX)}-{m.run(4, HEX)}-4{m.run(3, HEX)}-b{m.run(3, HEX)}-{m.run(12, HEX)} ended",
    lambda m: f"checksum {m.run(32, HEX)}  shop-1.2.tar.gz",
    lambda m: f"branch feat/SHOP-{m.run(4, string.digits)}-login-token-refresh",
    lambda m: f'[[package]]\nname = "rand"\nchecksum = "{m.run(64, HEX)}"',
    lambda m: f"user_{m.run(6, string.digits)}@example.com signed up at 2026-0{m.run(1, '123456789')}-11T10:00:00Z",
)
_FIXED = (
    "const secret = process.env.SECRET", "password: string", "password: str = None", "password field is required", "The password is required.",
    "The password must be at least 12 characters long", "the token expires in 3600 seconds", "token: ${{ secrets.GITHUB_TOKEN }}", "API_KEY=your-api-key-here",
    "API_KEY=<your key>", "password=********", "export TOKEN=$TOKEN", "PASSWORD_FILE=/run/secrets/db_password", "the secret is to use small batches",
    "Das Passwort ist falsch.", "Das Passwort ist zu kurz.", "Das Passwort wird gehasht gespeichert", "Le mot de passe est obligatoire.", "La contraseña es obligatoria",
    "La contraseña es demasiado corta.", "密码是必填项", "密码不能为空", "パスワードは必須です", "Пароль обязателен", "A senha é obrigatória.", "the password is stored in Vault",
    "the password hash is bcrypt", "passwords are hashed with argon2id", "password algorithm is SHA256", "use `--password-stdin` instead", "keyboard shortcut ctrl+shift+p",
    "basic auth is enabled", "Authorization: Bearer $TOKEN", "Authorization: Bearer <token>", "curl -u $USER:$PASS https://x", "postgres://app:${DB_PASSWORD}@db/shop",
    "postgres://user:password@localhost/db", "git@github.com:acme/repo.git", "ssh://git@host.example:22/repo.git", "the PIN is printed on the card", "2FA is required for admins",
    "the code is in src/auth.py line 482913", "zip code 94107", "status code: 404040 items", "seed the database with 12 rows", "the recovery phrase must have 12 words",
    "session cookie is HttpOnly; SameSite=Lax", "Cookie: theme=dark; lang=de", "session_timeout=3600", "token_url: https://auth.example/oauth/token", "tokenizer: cl100k_base",
    "secretKeyRef:\n  name: shop-db\n  key: password", "kubectl get secret shop-tls -o yaml", "<input type=\"password\" name=\"password\" />", "<PasswordInput value={password} />",
    "def login(user: str, password: str) -> Token:", "if token is None: raise ValueError('no token')", "password = getpass.getpass()", "password = input('Password: ')",
    "assert response.json()['token']", "author = {Smith2020}", "npm_config_registry and npm_lifecycle_event", "sk-learn-contrib-something-very-long-name", "hf_hub_download(repo_id)",
    "ghp_ prefixes mark personal tokens", "Zugangsdaten liegen im Vault unter shop/db", "login: see the wiki page", "credentials: ask ops", "user / password fields", "bypass=true, compass=north",
    "private key is in ~/.ssh/id_ed25519", "-----BEGIN CERTIFICATE-----", "the API key is read from the environment", "rotate the API key every 90 days", "api_key is optional since v2.3",
    "keys: a, b, c", "key=lambda x2: x2.id", "monkey patching and turkey", "lodash@4.17.21 and react@18.2.0", "192.168.0.10:8080 and 10.0.0.1", "TOKEN_LIMIT=4096", "PASS tests/test_a.py::test_b2",
    "Passwort vergessen? Bitte melden.", "password reset mails go through SES", "mot de passe oublié", "Login: maria", "pass: true", "\"token\": \"Please enter your token\"", "Access token lifetime is 15m",
    "OAuth2 token endpoint: /oauth/v2/token", "refresh token rotation is on", "salt and pepper", "X-Request-Id: 7f3a2b", "content-security-policy: default-src 'self'",
)  # fmt: skip


ROUNDS = Path(__file__).parent / "data" / "secret_rounds.txt"


def rounds() -> Iterator[Sample]:
    """Return samples written before the patterns were tried on them, in rounds with new wordings each time.

    A line is a text with its secrets in ⟦ ⟧, or a harmless one after `= `. `\\n` and `⏎` represent the end of a line.
    `¦` is removed; it breaks up strings that would look like real keys.
    """
    kind = ""
    for line in ROUNDS.read_text(encoding="utf-8").splitlines():
        if _HEADING.fullmatch(line):
            kind = line[2:]
        elif line.startswith("= "):
            yield Sample(f"{kind}, harmless", _written(line[2:]))
        else:
            text = _written(line)
            needles = (part for needle in _NEEDLE.findall(text) for part in needle.replace("\u200b", "").split("\n"))
            yield Sample(kind, text.replace("⟦", "").replace("⟧", ""), tuple(part for part in needles if part.strip()))


_HEADING = re.compile(r"# (?:round \d{1,3}|hard)")
_NEEDLE = re.compile("⟦([^⟧]{1,400})⟧")


def _written(line: str) -> str:
    return line.replace("\\n", "\n").replace("\\t", "\t").replace("\\u200b", "\u200b").replace("⏎", "\n").replace("¦", "")


def samples_of(path: Path) -> Iterator[Sample]:
    """Return the samples of a file."""
    data = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(data, dict):
        yield from (Sample(row["kind"], row["text"], tuple(row["needles"])) for row in data["secrets"])
        yield from (Sample("harmless", text) for text in data["harmless"])
        return
    for row in data:
        harmless_one = row["secret"] is None
        needles = () if harmless_one else _parts_of(row["secret"], row["text"])
        yield Sample(f"{row['kind']}, harmless" if harmless_one else row["kind"], row["text"], needles)


_SHORTEST_PART = 6


def _parts_of(secret: str, text: str) -> tuple[str, ...]:
    """Return the secret, or its parts if the text has it split, for example by the end of a line."""
    parts, rest, at = list[str](), secret, 0
    while rest:
        size = next((size for size in range(len(rest), 0, -1) if text.find(rest[:size], at) >= 0), 0)
        if not size:
            return (secret,)
        parts.append(rest[:size])
        at, rest = text.find(rest[:size], at) + size, rest[size:]
    return tuple(part for part in parts if len(part) >= min(_SHORTEST_PART, len(secret))) or (secret,)


def passed(sample: Sample) -> bool:
    """Return whether any part of a secret remains."""
    text = redact(sample.text).text
    return any(needle in text for needle in sample.needles)


def touched(sample: Sample) -> bool:
    """Return whether a harmless string was changed."""
    return redact(sample.text).text != sample.text


def _secrets_of(counts: Counter[str]) -> int:
    return sum(count for kind, count in counts.items() if not kind.endswith("harmless"))


def main() -> int:
    """Print the counts."""
    parser = argparse.ArgumentParser(
        description="Count the generated secrets that pass redaction and the harmless strings that it changes."
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=6)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--file", type=Path)
    options = parser.parse_args()
    tried, through = Counter[str](), Counter[str]()
    own = chain(rounds(), secrets(options.seed, options.each), harmless(options.seed, options.each))
    for sample in samples_of(options.file) if options.file else own:
        tried[sample.kind] += 1
        wrong = passed(sample) if sample.needles else touched(sample)
        through[sample.kind] += wrong
        if wrong and options.show:
            print(f"{sample.kind}: {sample.text!r} -> {redact(sample.text).text!r}")
    for kind, count in tried.items():
        print(f"{kind:24} {through[kind]:4} of {count}")
    bad, all_secrets = _secrets_of(through), _secrets_of(tried)
    touched_all, harmless_all = sum(through.values()) - bad, sum(tried.values()) - all_secrets
    print(f"secrets that pass: {bad} of {all_secrets} ({100 * bad / all_secrets:.1f} %)")
    print(f"harmless strings that are changed: {touched_all} of {harmless_all} ({100 * touched_all / harmless_all:.1f} %)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
