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
  task worker process thread program command option parameter argument variable property attribute key label tag branch
  ref remote repository file directory folder path bucket region zone cluster pod secret policy publication subscription
  collation cast wrapper tablespace symbol identifier token alias member named called point action format`);

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
  looks left right`);

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
  /\.(?:7z|aac|apk|avi|avif|avro|bak|bin|bmp|bz2|c|cc|cfg|cjs|conf|cpp|crt|cs|css|csv|cts|cxx|dat|db|deb|dll|docx?|elf|epub|exe|flac|geojson|gif|go|gz|h|heic|hpp|html|ico|ini|ipynb|iso|jar|java|jpe?g|js|json|jsonl|jsx|key|kt|lock|log|lua|md|mjs|mkv|mm|mov|mp[34]|mts|ndjson|ods|odt|ogg|otf|out|parquet|pdf|pem|php|pl|png|pptx?|proto|ps1|psd|py|rb|rpm|rs|rst|rtf|scala|scss|sh|so|sock|sql|sqlite|svg|swift|tar|tgz|tiff?|tmp|toml|ts|tsv|tsx|ttf|txt|vue|wasm|wav|webm|webp|woff2?|xlsx?|xml|xz|yaml|yml|zip|zst)$/;

export const HOST_NAME =
  /^[A-Za-z\d][A-Za-z\d-]{0,62}(?:\.[A-Za-z\d-]{1,63}){0,8}\.(?:com|net|org|edu|gov|io|dev|cn|de|uk|fr|jp|ru|br|in|it|nl|pl|eu|info|biz|mx|tw|kr|es|se|ch|au|hk|local|internal|lan|corp)$/;

/** Verbs and adjectives, recognised by their ending. */
const INFLECTED = /^[a-z]{2,}(?:ed|ing|able|ible)$/;

/** Whether a word is part of the sentence and therefore not a name. */
export function isPlain(word: string): boolean {
  return PLAIN.has(word) || PLAIN.has(word.toLowerCase()) || INFLECTED.test(word);
}
