/**
 * Reads the data and the failures of many letters as a few blocks of bytes. A text becomes a string when it is first used: making
 * a string of each costs more than reading them, and most listings use few.
 */
import type { LetterPart } from "../../engine.ts";
import { assert } from "../../std/assert.ts";
import { failedAttempts, lastFailureOf } from "../sql/attempts.ts";
import { type LetterTexts, NO_TEXTS } from "../sql/letters.ts";
import type { Session } from "./session.ts";

/** The letters of a block. Its bytes are in memory as long as one of its letters. */
const BLOCK_LETTERS = 64;

/** Longer texts are read one by one. */
const TEXT_BYTES_MAX = 65_536;

/** Stands between texts, and for a text that is read apart. JSON never contains these characters unescaped. */
const BETWEEN = "\u001f";
const LONG = "\u001a";

/** Returns for each item the block with its texts, which expects the position of the item. */
export function textsOf(
  session: Session,
  refs: readonly number[],
  parts: ReadonlySet<LetterPart>,
): readonly LetterTexts[] {
  const { columns, names, sql } = statementFor(parts);
  const texts = new Array<LetterTexts>(refs.length).fill(NO_TEXTS);
  if (names.length === 0) return texts;
  for (let from = 0; from < refs.length; from += BLOCK_LETTERS) {
    const some = refs.slice(from, from + BLOCK_LETTERS);
    const bytes = session.get<BlockRow>(sql, some) ?? {};
    const long = readLong(session, columns, { bytes, refs: some });
    texts.fill(new Block(bytes, long, { from, count: some.length }), from, from + some.length);
  }
  return texts;
}

const NAMES = ["data", "attempts", "last_failure"] as const;
type Name = (typeof NAMES)[number];
type Columns = Readonly<Record<Name, string | null>>;

/** The SQL of the texts that are wanted. */
function textColumns(ref: string, parts: ReadonlySet<LetterPart>): Columns {
  const hasFailures = parts.has("failures");
  return {
    data: parts.has("data") ? `(SELECT p.data FROM payloads p WHERE p.ref = ${ref})` : null,
    attempts: hasFailures || parts.has("times") ? failedAttempts(ref, hasFailures) : null,
    last_failure: parts.has("last_failure") && !hasFailures ? lastFailureOf(ref) : null,
  };
}

/** The texts of the items of a block, one after the other. */
type BlockRow = { readonly [Column in Name]?: Uint8Array };

interface BlockStatement {
  readonly columns: Columns;
  readonly names: readonly Name[];
  readonly sql: string;
}

/** Writes the statement once for each combination of parts: preparing it takes less time than writing it again. */
function statementFor(parts: ReadonlySet<LetterPart>): BlockStatement {
  const key = [...parts].join();
  const known = STATEMENTS.get(key);
  if (known !== undefined) return known;
  const columns = textColumns("refs.value", parts);
  const names = NAMES.filter((name) => columns[name] !== null);
  const statement = { columns, names, sql: blockSql(columns, names) };
  STATEMENTS.set(key, statement);
  return statement;
}

const STATEMENTS = new Map<string, BlockStatement>();

/** With a LIMIT, SQLite evaluates each text once, although the outer SELECT uses it several times. */
function blockSql(columns: Columns, names: readonly Name[]): string {
  const joined = names.map((name) => {
    const text = `CASE WHEN octet_length(${name}) > ${TEXT_BYTES_MAX} THEN '${LONG}' ELSE coalesce(${name}, '') END`;
    return `CAST(group_concat(${text}, '${BETWEEN}') AS BLOB) AS ${name}`;
  });
  const texts = names.map((name) => `${columns[name]} AS ${name}`);
  return `SELECT ${joined.join(", ")} FROM (SELECT ${texts.join(", ")} FROM json_each(?) refs LIMIT -1)`;
}

/** Long texts by column and position in the block. */
type LongTexts = ReadonlyMap<Name, ReadonlyMap<number, string | null>>;
const NO_LONG: LongTexts = new Map();

function readLong(
  session: Session,
  columns: Columns,
  { bytes, refs }: { readonly bytes: BlockRow; readonly refs: readonly number[] },
): LongTexts {
  const names = NAMES.filter((name) => bytes[name]?.includes(LONG.charCodeAt(0)));
  if (names.length === 0) return NO_LONG;
  const long = new Map<Name, Map<number, string | null>>();
  for (const name of names) {
    const sql = `SELECT ${columns[name]} AS text FROM (SELECT ? AS value) refs`;
    const found = new Map<number, string | null>();
    for (const [at, text] of bufferOf(bytes[name] ?? NOTHING)
      .toString()
      .split(BETWEEN)
      .entries())
      if (text === LONG)
        found.set(at, session.get<{ text: string | null }>(sql, refs[at] ?? 0)?.text ?? null);
    long.set(name, found);
  }
  return long;
}

const NOTHING = new Uint8Array();

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** The bytes of a column, and where each text begins; the last entry is behind the last text. */
interface Column {
  readonly bytes: Buffer;
  readonly starts: readonly number[];
}

class Block implements LetterTexts {
  readonly #row: BlockRow;
  readonly #long: LongTexts;
  /** The position of its first letter. */
  readonly #from: number;
  readonly #count: number;
  readonly #columns = new Map<Name, Column | null>();

  constructor(
    row: BlockRow,
    long: LongTexts,
    { from, count }: { readonly from: number; readonly count: number },
  ) {
    this.#row = row;
    this.#long = long;
    this.#from = from;
    this.#count = count;
  }

  data(position: number): string | null {
    return this.#text("data", position - this.#from);
  }

  attempts(position: number): string | null {
    return this.#text("attempts", position - this.#from);
  }

  lastFailure(position: number): string | null {
    return this.#text("last_failure", position - this.#from);
  }

  #text(name: Name, at: number): string | null {
    const column = this.#columnOf(name);
    if (column === null) return null;
    const long = this.#long.get(name)?.get(at);
    if (long !== undefined) return long;
    const { bytes, starts } = column;
    const text = bytes.toString("utf8", starts[at], (starts[at + 1] ?? 0) - 1);
    return text === "" ? null : text;
  }

  #columnOf(name: Name): Column | null {
    let column = this.#columns.get(name);
    if (column === undefined) {
      const bytes = this.#row[name];
      column = bytes === undefined ? null : columnIn(bufferOf(bytes), this.#count);
      this.#columns.set(name, column);
    }
    return column;
  }
}

function columnIn(bytes: Buffer, count: number): Column {
  const between = BETWEEN.charCodeAt(0);
  const starts = [0];
  for (let end = bytes.indexOf(between); end !== -1; end = bytes.indexOf(between, end + 1))
    starts.push(end + 1);
  starts.push(bytes.length + 1);
  assert(starts.length === count + 1, "a text in the store has a character that JSON does not allow");
  return { bytes, starts };
}
