/**
 * Word lists that distinguish names from other words. A name follows a word such as "table" or "user", unless
 * the next word is a common word in error messages.
 */

function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

export const KINDS = words(`
  user username account role group host hostname node server domain database schema table view column field relation
  index sequence constraint trigger rule extension language function procedure method aggregate operator type datatype
  class object module package library plugin component service target container image volume namespace topic queue job
  task worker process thread program command option parameter argument arg variable property attribute key label tag branch
  ref remote repository file directory folder path bucket region zone cluster pod secret policy publication subscription
  collation cast wrapper tablespace symbol identifier token alias member named called point action format profile revision`);

/** Whether a word is a kind of thing that the next word names: "table", "Table", "TABLE". */
export function isKind(word: string): boolean {
  if (KINDS.has(word)) return true;
  const first = word.charCodeAt(0);
  return first >= 65 && first <= 90 && KINDS.has(word.toLowerCase());
}

/** Words that are not names when they follow a kind: "type arguments", "table is full". */
export const PLAIN = words(`
  a an the this that these those it its is are was were be been being has have had do does did can could cannot may
  might must should shall will would not no nor and or but if then else when while until unless because since as than
  so such to of in on at by for from with without within into onto over under above below between among about after
  before during through across against per via out off up down again already also always never only just still yet
  even ever too very more most less least many much few all any both each every either neither none some other another
  same different own first last next previous new old name names named error errors failure failures failed fail fails
  invalid valid missing required expected unexpected unknown unsupported supported allowed denied found value values
  type types argument arguments parameter parameters expression expressions declaration declarations definition
  definitions mismatch version versions number size length limit range access method methods function functions class
  classes object objects property properties member members module modules package packages file files directory
  directories path option options key keys id ids list lists set sets map maps array arrays string strings null
  undefined true false void returned returns return returning call calls called caller callee used use uses using
  unused request requests response responses server client host port ports address addresses connection connections
  timeout timed time times state states status code codes message messages data field fields column columns table
  tables row rows index indexes indices constraint constraints reference references referenced referring exists exist
  existing created create creating deleted delete deleting removed remove removing added add adding changed change
  changing started start starting stopped stop stopping running run runs finished finish completed complete done ready
  open opened opening close closed closing read reading write writing written load loaded loading send sending sent
  receive received receiving attempt attempts retry retries lock locked locks wait waiting full empty available
  unavailable disabled enabled process processes thread threads memory disk space resource resources quota exceeded
  outside inside inherits inherit extends implements overrides import imports export exports imported exported
  assigned assignable assignment initializer literal literals operator operators operand operands statement statements
  block body constructor signature signatures annotation annotations parse parser parsing syntax near line lines token
  tokens end begin position character characters permission permissions owner owned user users group groups role roles
  password authentication authorization login check checks violates violation violated default defaults query queries
  result results transaction transactions session sessions lookup resolution resolve resolved resolving information
  details detail reason see level mode format input output source target destination local remote domain domains
  service services event events usage system systems handle handles descriptor descriptors pattern patterns image
  images applicability pool pools cache caches buffer buffers header headers footer content contents entry entries
  record records tree trees node nodes page pages frame frames stack heap pointer pointers offset count counts total
  limits died lost dead gone stuck hung broken wrong bad good ok long short large small big high low busy idle stale
  exit exits crash crashes abort aborts hang hangs leak leaks overflow underflow corruption exception exceptions
  warning warnings info debug trace log logs history policy policies rule rules template templates schema schemas
  script scripts driver drivers device devices controller manager handler handlers listener scheduler monitor agent
  daemon master slave leader follower replica replicas shard shards partition partitions backup restore snapshot
  migration migrations update updates upgrade install installation registration initialization configuration settings
  environment registry store storage filesystem mount network interface protocol socket sockets packet packets tunnel
  proxy gateway router certificate certificates credentials got gets get gave went comes came became becomes seems
  looks left right takes take took needs need contains contain accepts accept allows allow expects expect uses keeps
  holds shows means wants`);

/**
 * Other common words of messages. Together with the endings of nouns, verbs and adjectives, they distinguish
 * ordinary words from names.
 */
const COMMON = words(`
  abbrev able aborted absolute abstract accept accessor account accounts acquire addon addr advice affects air album
  algorithm alias aliases align alive alloc allocate allow allowlist allows almost along amount analyze anchor anchors
  anymore anyone anything anyway api apis app appear appears append applies apply approve arch architecture
  architectures archive archives area armed around arp arrow article artifact artifacts ask asked asks asleep assign
  assume async attach attachment attachments attribute attributes attrs audio audit audits author auto avoid await
  awake away axis back backend background backoff backslash backtrace backward ballot bank banner banners base based
  basic batch batches battery become behaviour behind beside beyond bill billing bin bind bins bios bit bitmap bits
  black blacklist blame blank blob blobs blue bogus book books bool boolean boost boot border borders borrow borrowed
  borrows bound bounds brace braces bracket brackets branch branches brand break bright bring broadcast brought bubble
  bucket buckets budget bug bugs build built builtin bump bumps bundle bus button buyer byte bytes calendar callback
  camera cancel cap caps capture car card cards case cash catalog categories category caught cause causes cell cells
  center centre certain chain channel channels chapter char chars chart checkout checksum checksums child children
  chip chosen chunk circular city clause clean clear cli clip clips clock clone closure closures cluster clusters
  codec coerce coercion coin cold collect colon color come comma comment comments commit common compact compare
  comparison compile completion completions complex composite comprehension compress compute concrete config configs
  conflict conflicts connect const construct consts consume contact contacts contain container contains context
  continue control convert cookie cookies copy copyright core coredump coroutine correct corrupt cors country course
  cpu crate crates credential criteria cron crontab cross crypt csrf css csv currency cursor cursors curve custom
  customer cut cycle cyclic daemonset daily dark dash dataset datasets date dates datetime day days db deal debounce
  decide declare decline decode decompress decorator decorators decrypt deep define delimiter delimiters delivery deny
  denylist depend dependencies dependency depends deployment depth dequeue desktop destroy determine dev dhcp dialog
  dict dictionary diff digest digit digits dimension dimensions dir direct dirs dirty discard discount disjoint
  dispatch display displays distinct dns doc docs doctor doing door dot double download downstream draft drafts drain
  drains drop dry due dump dumps dynamic early earth easing east edge edit effect egress eight election eleven elf
  email emails embedding emit encode encrypt ended endian endpoint endpoints enough enqueue enter entire entities
  entity enum enums epoch epochs equal errno escape etc evaluate everything evict evicts exact exam example except
  exclude exec execute expand expect explicit ext extend extern extra extract fallback falsy family fan far fast fatal
  fault fd feature features fee fees fetch fewer filename filenames filetype fill final find finds finite fire
  firewall firmware fit five fix fixed flag flags flat flight float floats floor flush fold folder folds follow
  follows font fonts forbidden force forget fork form four free friend front ftp fulfil fulfill fully future gain game
  gap gaps garden gate gauge generator getter gid give given gives glob globs glyph glyphs go goal goes grade gradient
  grant grants graph green grid guard gui guid gzip halt happen hard hardware hash he head health heartbeat heavy held
  help here hex hidden hide hierarchy hint hints histogram hold holds hole home hook hooks hop hot hotel hour hourly
  hours house how html http https huge human hundred hyphen icmp icon icons ignore illegal imap immutable impl
  implicit implies impls inbox include includes incomplete incorrect indent indirect inf infinite ingress init inline
  inner insecure insert instead intend interpret interrupt ints inventory invite invoice invoke ip issue item items
  iterator itself jitter job join json jump keep kept kernel kernels keyboard keychain keyframe keyring keyword
  keywords kill kind know known ko label labels lack lacks lambda lambdas lamp lanes language languages later launch
  law layer layers layout lazy leaf lease ledger legacy legal legend len lens let letter letters lib library license
  lifetime lifetimes light like limiter link links little live locale locate lockfile look loop loose lose loss lot
  lower lowercase lvalue machine machines macro macros made magic mail mailbox main major make man manifest margin
  margins mark marker markers market mask match matches matrix max maximum maybe me mean means media medium meeting
  menu merge mesh meshes met metaclass metadata meter mid middle middleware million min minimum minute minutes mirror
  mistake mix model models money month months moon mouse move moved moves multi multiple mutable na namespace
  namespaces nan nearly need needs nests newer newline nice nightly nine non nonzero north note notes nothing notice
  now nowhere ntp num numbers nurse obsolete obtain occurs octal odd offer offline okay older oldest once one opaque
  opcode opt optimizer order origin our outer overall overlap overlaps overlay overload overridden override overwrite
  overwritten pack pair pairs palette panel panels panic paper param params parentheses parenthesis part parts pass
  past paste patch pathname patient pause payload payment peek peer people perform perhaps person phone photo photos
  picture pid ping pipe pipeline pipes pivot pixel pixels place plain plan plans platform play player please plugin
  plugins plus pod poll polls portal pos posix post postal posts power ppid pre precede prefix prepare preset presets
  pressure pretty price prime print prior printer prints privileges probe probes problem problems produce product products
  profile profiles progress promise prompt provide publish pull pump pure purge purges purpose push put queue queues
  quit quite quorum quotas quote race rack rain raise raised ramp ramps random rather rating ratio raw re reach real
  rear rebuild recipient recipients recovery recursion red redefine redirect redirects redistribute reduce refer
  referer refund reg regex regexp regular reject relation relations relax release remain rename render renew reopen
  repeat replace report reports require requires reserve reset rest restart restrict resume retrieve reverse revert
  review revoke road robot roof room root round route routes routine runtime rvalue safety sale sales salt sample
  samples sandbox satisfy save saved saw scalar scan schedule scheme school scope score screen scroll sealed search
  second seconds secret secrets sector secure seed seeds seek seem seen segfault segment select self seller semicolon
  sender senders sense sensor setter setuid setup seven shadow shallow shape share she shelf shell shift ship shipment
  shop show shown shut shutdown side sidebar sign signal similar simple single six skip slash slashes sleep slice
  slider slot slots slow smart sms smtp snippet snippets snow soft software someone something somewhere song sorry
  sort south spare spawn spec speed split spread sprite sql ssh ssl stage standard star startup stat static station
  stay stderr stdin stdout steady stencil step stock str strategy stream streams street strict stride strip stroke
  strong struct structs structure stub student style sub subclass subject submodule subnet subpackage subprocess
  subscribe subscript subscription subscriptions subtype success suffix sun superclass supertype support supports
  suppress sure suspend swatch sweep sweeps switch symlink sync tab tabs tag tags tail take takes tape tar task tasks
  tax tcp teacher team temp temperature ten tenant tensor tensors term terms test tests text their them theme
  themselves there they thick thin third though thousand three threshold throttle throw thrown ticket tid tile tiles
  timeline timestamp timestamps timezone tiny title tls today toggle tokenizer told toml tomorrow took tool toolbar
  tools tooltip top toward towards traceback track trail train trait traits translation transport trap treat tried
  tries trigger trim truthy try tune tuple tuples turn twelve twice two udp ui uid underscores unicode union unions
  unique unit units unlock unpack unsafe unset unwind upload upper uppercase upset upstream uri uris url urls us uuid
  vacuum validate valve var vault vector vectors verbose verify vertex video view viewport views virtual volume
  volumes vote vpc vpn vs waits wake wall wallet want warm warranty watch water way ways we weak webhook webhooks week
  weekly weights weird well west wet what where which whilst white whitelist whitespace who whole whom whose wide
  widget widgets width wildcard wind window wire wizard woman word words work wrap wrapper wrappers xml yaml year
  years yes yesterday yields you young your zero zip zlib zone zones zoom zstd`);

const DERIVED =
  /^[a-z]{2,}(?:tion|sion|ment|ness|ity|ance|ence|ancy|ency|ing|ed|able|ible|ful|less|ship|ize|ise|ify|ously|ally|ly)s?$|^[a-z]{6,}(?:er|or|al|ic|ive|ous|ate|ent|ant|ary|ory|ism|ist)s?$/;

/** Prefixes of ordinary words: "reload", "undo", "overrun". */
const PREFIX = /^(?:re|un|dis|mis|over|under|pre|sub|inter|auto)(?=[a-z]{3})/;

/** Every ordinary word with and without the ending of the plural, so that one look-up is enough. */
const ORDINARY: ReadonlySet<string> = new Set(
  [...PLAIN, ...COMMON, ...KINDS].flatMap((word) => [word, `${word}s`]),
);

/** Whether a lower-case word is an ordinary word of messages rather than a name. */
export function isOrdinary(word: string): boolean {
  if (ORDINARY.has(word) || DERIVED.test(word)) return true;
  const prefix = PREFIX.exec(word)?.[0];
  return prefix !== undefined && ORDINARY.has(word.slice(prefix.length));
}

/** Words that follow a name in a sentence. */
export const AFTER_NAME = words(`
  is are was were does do did has have had can cannot could must may might should will would not because but and or with
  without from to of in on at by for as than into already violates requires failed fails expects exists after before when
  while if returned`);

/** Words that are not user names in "user X from". */
export const NO_NAME = words("is was are not unknown has authentication name does cannot");

/** Names of data types, which are masked after "from", "to", "as" and "type". */
export const DATA_TYPES = words(`
  smallint integer int bigint numeric decimal real float double text varchar char bytea boolean bool date time timestamp
  timestamptz timetz interval json jsonb uuid inet cidr money xml`);

/** Words in capitals that only SQL uses. */
export const SQL_VERBS = words(`
  SELECT INSERT UPDATE DELETE MERGE CREATE ALTER DROP TRUNCATE COPY WHERE FROM RETURNING HAVING LIMIT OFFSET UNION JOIN
  SAVEPOINT ROLLBACK COMMIT DECLARE FETCH REINDEX VACUUM ANALYZE GRANT REVOKE CONCURRENTLY CONFLICT PREPARE LISTEN NOTIFY
  REFRESH GROUP ORDER VALUES CURSOR CONSTRAINT FOREIGN PRIMARY UNIQUE DEFAULT EXCLUDE PARTITION INHERIT EXPLAIN MATERIALIZED
  TABLESPACE`);

export const SQL_WORDS = words(`
  TABLE VIEW INDEX COLUMN SCHEMA DATABASE KEY INTO SET ON DO TO BY LOCK RELEASE BEGIN FILTER CHECK NOT NULL CLUSTER
  DETACH ATTACH NOTHING TRIGGER FUNCTION PROCEDURE CALL EXECUTE SEQUENCE TYPE DOMAIN RULE EXTENSION SUBSCRIPTION
  PUBLICATION IF EXISTS CASCADE EMPTY AND OR WITH CHAIN STATISTICS EXPRESSION OPERATOR AGGREGATE COLLATION POLICY ROLE
  USER OWNER OWNED LANGUAGE SERVER DATA WRAPPER MAPPING TEXT SEARCH CAST EVENT ACCESS METHOD RENAME ADD VALIDATE
  ENABLE DISABLE REPLICA IDENTITY ROW LEVEL OPTIONS STORAGE GENERATED ALWAYS USING NO ALL TABLES SEQUENCES FUNCTIONS
  EACH FOR OF AS LIKE DISTINCT FINALIZE CURRENT HOLD OBJECT ARRAY TRANSACTION`);

/** Technical words with a digit that are not names. */
export const FIXED_WORD =
  /^(?:https?\/\d(?:\.\d)?|ipv[46]|utf-?(?:8|16)|sha-?(?:1|256|512)|md5|base64|http2|ssh2|x86|x64|x86_64|arm64|s3|ec2|oauth2|k8s|win32|x509|python[23]|pip[23]|perl5|php[5-8])$/i;

export const FILE_ENDING =
  /\.(?:7z|a|aac|apk|avi|avif|avro|bak|bin|bmp|bz2|c|cc|cfg|cjs|class|conf|cpp|crt|cs|css|csv|cts|cxx|dat|db|deb|dll|docx?|elf|epub|exe|flac|geojson|gif|go|gz|h|heic|hpp|html|ico|ini|ipynb|iso|jar|java|jpe?g|js|json|jsonl|jsx|key|kt|lock|log|lua|md|mjs|mkv|mm|mov|mp[34]|mts|ndjson|o|obj|ods|odt|ogg|otf|out|parquet|patch|pdf|pem|php|pl|png|pptx?|proto|properties|ps1|psd|py|pyi|pyc|rb|rpm|rs|rst|rtf|scala|scss|sh|so|sock|sql|sqlite|svg|swift|tar|tf|tgz|tiff?|tmp|toml|ts|tsv|tsx|ttf|txt|vue|wasm|wav|webm|webp|woff2?|xlsx?|xml|xz|yaml|yml|zip|zst)$/;

export const HOST_NAME =
  /^[A-Za-z\d][A-Za-z\d-]{0,62}(?:\.[A-Za-z\d-]{1,63}){0,8}\.(?:com|net|org|edu|gov|io|dev|cn|de|uk|fr|jp|ru|br|in|it|nl|pl|eu|info|biz|mx|tw|kr|es|se|ch|au|hk|local|internal|lan|corp)$/;

/** Verbs and adjectives, recognised by their ending. */
const INFLECTED = /^[a-z]{2,}(?:ed|ing|able|ible)$/;

/** Whether a word is part of the sentence and therefore not a name. */
export function isPlain(word: string): boolean {
  return PLAIN.has(word) || PLAIN.has(word.toLowerCase()) || INFLECTED.test(word);
}
