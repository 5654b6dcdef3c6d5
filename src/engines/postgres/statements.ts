/** The statements of a session by their text, with parameters numbered for PostgreSQL and a name for each. */
import { createHash } from "node:crypto";
import { CONDITION_MARK } from "../sql/letter-condition.ts";

export interface Statement {
  readonly text: string;
  /** The name of the prepared statement. */
  readonly name: string | undefined;
}

/** Further statements are sent without a name, because every connection keeps all prepared statements. */
const NAMED_MAX = 500;

export class Statements {
  readonly #known = new Map<string, Statement>();

  /** `?` takes the next value, `?3` the third; a statement that contains `$1` is used unchanged. */
  of(sql: string): Statement {
    const known = this.#known.get(sql);
    if (known !== undefined) return known;
    const text = numbered(sql);
    if (this.#known.size >= NAMED_MAX || sql.includes(CONDITION_MARK)) return { text, name: undefined };
    const made = { text, name: nameOf(text) };
    this.#known.set(sql, made);
    return made;
  }
}

/** Derived from the text, so that sessions that share a connection use the same names. */
function nameOf(text: string): string {
  return `redrive_${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
}

/** The text with numbered parameters: `?` takes the next value, `?3` the third. */
export function numbered(sql: string): string {
  let last = 0;
  return sql.replace(/\?(\d+)?/g, (_, given: string | undefined) => {
    if (given !== undefined) return `$${given}`;
    last += 1;
    return `$${last}`;
  });
}
