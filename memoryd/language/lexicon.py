"""English words in software projects that are synonyms or opposites, or that have little meaning.

This is general knowledge, not learned from data. Words are in their base form and looked up by stem.
"""

from __future__ import annotations

# One group per line. The first word represents the group.
SYNONYMS = """
run execute launch invoke perform trigger
start startup boot begin spin bring
store keep save persist live hold contain locate kept stored lie held
install setup
package dependency dependencies packages
remove delete drop wipe strip purge erase discard removal
fail break crash broken choke failure
slow slowly
pr pull-request
commit committing
merge merging
database db
postgresql postgres pg
environment env
document documentation doc docs
folder directory
config configuration configure setting settings
repository repo codebase
test testing suite
e2e end-to-end
answer respond response reply return
timestamp time-stamp
require need necessary mandatory compulsory required
forbid ban prohibit disallow forbidden
fix solve resolve repair
cause caused reason behind
bug defect fault issue
build compile built compiled
create generate produce created generated
lint linter linting
format formatter
update upgrade bump
large big huge
small little short brief concise
fast quick
raise increase grow raised increased
lower decrease reduce shrink
replace swap substitute
move migrate switch relocate
check verify validate
show display present
write record
read load
reach reachable access accessible
use using used utilise utilize employ
retry retried
expire expiry lifetime ttl
limit threshold cap maximum max
minimum min atleast
publish push
translate localise localize translation
manual manually hand
automatic automatically auto
batch chunk
message messages
function functions method
only exclusively
nightly night
daily day
weekly week
process worker-process
reconnect reconnecting
resize resizing
decide choose pick select decision chosen decided chose
dev development
prod production
local locally
api endpoint
branch branches
exit exits
hash hashed hashing
schema schemas
listen listening
exhaust exhausted
enable on activate enabled
disable off deactivate disabled
key keys
explain describe say
straight direct directly
ci pipeline
backup backups
wide wildcard
error errors
"""

# Words that can be added or removed without changing the meaning. These are whole words, not stems.
LIGHT = """
well use uses using used utilise utilize like likes liked prefer prefers want wants wanted favour favor ask asks please always
must should need needs needed require requires ought make makes sure note remember we team repo repository project codebase
code base app application there way via get gets got go goes going gone let lets thing things say says said tell tells told
currently still really simply just whole each every all per one same various both in-house kind part file files set sets put
puts take takes taken care happen happens mean means meant time times everywhere anywhere work works working worked available
allow may be done do does has have had having come comes came give gives given otherwise rather become becomes now longer
anymore more less over place case ending through which what how why due handled kept reachable located lives is are
""".split()

# Verbs and fillers that rarely distinguish two statements if everything else agrees.
WEAK = """
run create write written show open hit cause caused turn close within against framework url face facing skip reach help target
entry bucket happen manage handle perform apply serve provide support include contain end step want follow directly straight
new current only real correct together fully properly automatically service server system run-time object data page default
during around about roughly approximately behind under
""".split()

# Words of one class for different things. They give statements different subjects or places.
SUBJECTS = """
staging production prod demo local development dev sandbox preview testing qa
main master develop release hotfix feature staging
python go golang rust java kotlin typescript javascript ruby php swift scala elixir markdown makefile yaml json toml html css
frontend backend mobile desktop cli daemon gateway web api worker scheduler importer exporter server client proxy plugin sdk
android ios windows linux macos
chrome safari firefox edge
user order customer payment invoice product billing shipping search auth session account tenant admin project
unit integration e2e smoke load performance regression
monthly weekly daily nightly hourly yearly
image video audio font locale translation layer
request response
get post put patch delete
upload download
import export
read write
input output
class function variable method module constant
table column index row view
parser lexer linter formatter compiler debugger
queue cache buffer stack
primary replica shard
first second third last
v1 v2 v3
cpu memory disk network
password email token cookie
create delete update
debug info warning
debug release profile
login logout signup
scale-up scale-down
old new
left right
top bottom
upper lower
minimum maximum
internal external
inbound outbound
incoming outgoing
upstream downstream
source target
sender receiver
parent child
north south east west
blue green
primary secondary
"""

# Words of one class that are mutually exclusive answers to a question.
CHOICES = """
npm pnpm yarn bun
pip uv poetry pipenv conda pipx
tabs spaces tab space
postgres postgresql mysql mariadb sqlite mongodb oracle cassandra dynamodb
redis memcached
rabbitmq kafka sqs nats celery
react vue svelte angular solid
webpack vite rollup esbuild parcel
jest vitest mocha
pytest unittest nose
black ruff autopep8 yapf
eslint biome prettier
bazel nx turborepo gradle maven
github gitlab bitbucket
jenkins circleci buildkite travis
rest grpc graphql soap
squash rebase
gitflow trunk
bcrypt argon2 scrypt pbkdf2
single double
english german french spanish italian russian chinese japanese
elasticsearch opensearch solr meilisearch
docker podman
aws gcp azure
stdout stderr
camelcase snakecase kebabcase
utc local
monday tuesday wednesday thursday friday saturday sunday
composition inheritance
gcc clang msvc
vim emacs vscode
zsh bash fish
java kotlin
yaml toml json
svn git mercurial
slack teams discord
jira linear trello
maven gradle
flask django fastapi litestar
express koa hono fastify
kubernetes nomad swarm
terraform pulumi
sentry bugsnag rollbar
webpack vite
axios fetch
moment dayjs luxon
manual automatic
light dark
macos linux windows
float integer decimal
"""

# Opposites. Replacing a word with its opposite inverts the sentence.
OPPOSITES = """
enable disable
allow forbid
before after
sync async
synchronous asynchronous
mandatory optional
required optional
automatic manual
ascending descending
relative absolute
public private
server client
allow deny
include exclude
increase decrease
always never
uppercase lowercase
strict lenient
keep remove
short detailed
dark light
mutable immutable
eager lazy
internal external
faster slower
fast slow
more less
more fewer
increase reduce
raise lower
higher lower
high low
open closed
open shut
online offline
encrypted plain
encrypted unencrypted
signed unsigned
compressed uncompressed
succeed fail
works fails
passes fails
pass fail
safe unsafe
stable flaky
deterministic random
manual scripted
shared separate
shared own
single multiple
single multi
every no
everyone nobody
all none
present absent
exists missing
visible hidden
client server
before during
allowed forbidden
permitted prohibited
valid invalid
possible impossible
kept deleted
stay deleted
keep delete
stay delete
add remove
grow shrink
slower quicker
single-threaded multi-threaded
idempotent twice
supported unsupported
blocking non-blocking
singular plural
lowercase uppercase
yes no
on off
opt-in opt-out
verbose terse
verbose quiet
long short
brief long
detailed brief
formal informal
free paid
asc desc
synchron asynchron
ja nein
an aus
ein aus
включён выключен
включен выключен
开启 关闭
启用 禁用
有效 無効
有効 無効
켜져 꺼져
obligatorio opcional
obrigatório opcional
obligatoire facultatif
"""

# Opposite ends of something. Both statements may be valid, but they are never the same.
ENDS = """
first last
local remote
read write
push pull
input output
upload download
source target
left right
above below
over under
up down
start stop
starts stops
some none
one several
early late
large small
big small
true false
"""

# Words that invert a statement. Two statements are not merged if only one of them contains such a word.
STATES = """
disable enable slower faster lower higher fewer less optional unsafe hidden missing fail unable impossible idle
shared reject refuse ignore deny lack lose corrupt blocked harmless
""".split()
