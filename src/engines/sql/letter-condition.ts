/**
 * Translates conditions on letters to SQL. An expression is NULL where the condition is unknown, and AND, OR and NOT of SQL
 * combine the three values as CEL combines errors: `false && error` is false, `true && error` is an error.
 */
import {
  type Comparison,
  type FlagField,
  isConditionKey,
  type LetterCondition,
  type NumberField,
  type NumberValue,
  type TextField,
  type TextTest,
  type TextValue,
} from "../../item/letter-condition.ts";
import { assert } from "../../std/assert.ts";
import { condition } from "./conditions.ts";
import type { Fragment } from "./db.ts";

/** A value in the JSON of the item's data `data`, or of the last failure `failure`. */
export interface JsonPlace {
  readonly of: "data" | "failure";
  readonly path: readonly string[];
  /** A name for the value in joins, unique in the statement. */
  readonly alias: string;
}

/** How a database reads JSON. Each expression is NULL if the value is missing, or if it may differ from what JavaScript reads. */
export interface JsonSql {
  /** The joins that provide the value for letters `l`, in order. Joins with equal text are made once. */
  joins(place: JsonPlace): readonly string[];
  /** The text, or NULL for another type. */
  text(place: JsonPlace): string;
  /** Whether the value is the text of the parameter; false for another type of scalar. */
  equalsText(place: JsonPlace, text: string): Fragment;
  /** Whether the comparison with the number holds; with `=`, false for another type of scalar. */
  compares(place: JsonPlace, operator: string, number: number): Fragment;
  /** A whole number that JavaScript represents exactly, or NULL. */
  whole(place: JsonPlace): string;
  /** The boolean, or NULL for another type. */
  flag(place: JsonPlace): string;
  /** Whether the value is null; false for other scalars. */
  isNull(place: JsonPlace): string;
  /** Whether an object has the last key of the path; NULL if there is no object. */
  isPresent(place: JsonPlace): string;
  /** The position of the second text in the first one, from 1; 0 if it is not there. */
  position(text: string, part: string): string;
  /** The number of bytes of a text. */
  bytes(text: string): string;
  /** The last characters of a text. */
  end(text: string, chars: number): string;
  /** A text that is compared by its bytes. */
  inBytes(text: string): string;
  /** A number whose arithmetic does not overflow. */
  wide(number: string): string;
  /** A parameter that is a number. */
  readonly number: string;
  /** A parameter that is a text. */
  readonly string: string;
}

export interface ConditionSql extends Fragment {
  /** Joins for the letters `l`, after those of their items `i` and groups `g`. */
  readonly joins: string;
}

/** Statements with conditions are too many to be kept prepared. Their text contains this. */
export const CONDITION_MARK = "/* condition */";

export function conditionSql(json: JsonSql, asked: LetterCondition): ConditionSql {
  const translation = new Translation(json);
  const { sql, values } = translation.condition(asked);
  return { sql: `${CONDITION_MARK} (${sql})`, values, joins: translation.joins };
}

/** Integers beyond this are bigints in JavaScript. */
export const EXACT_MAX = Number.MAX_SAFE_INTEGER;

class Translation {
  readonly #json: JsonSql;
  readonly #joins = new Set<string>();
  readonly #aliases = new Map<string, string>();

  constructor(json: JsonSql) {
    this.#json = json;
  }

  get joins(): string {
    return [...this.#joins].join(" ");
  }

  condition(asked: LetterCondition): Fragment {
    switch (asked.is) {
      case "all":
        return this.#joined(asked.of, "AND", "TRUE");
      case "any":
        return this.#joined(asked.of, "OR", "FALSE");
      case "not":
        return around("NOT (", this.condition(asked.of), ")");
      case "choice":
        return this.#choice(asked);
      case "undecided":
        return around("(", this.condition(asked.of), ") IS NULL");
      case "constant":
        return condition(asked.value ? "TRUE" : "FALSE");
      case "unknown":
        return condition("CAST(NULL AS boolean)"); // PostgreSQL takes NULL for a text
      case "text":
        return this.#text(asked);
      case "number":
        return this.#number(asked);
      case "flag":
        return condition(
          asked.value.of === "data" ? this.#json.flag(this.#place(asked.value)) : FLAG[asked.value.field],
        );
      case "null":
        return condition(this.#json.isNull(this.#place(asked.value)));
      case "present":
        return condition(this.#json.isPresent(this.#place(asked.value)));
    }
  }

  #choice({ when, yes, no }: LetterCondition & { is: "choice" }): Fragment {
    const [a, b, c] = [this.condition(when), this.condition(yes), this.condition(no)];
    return {
      sql: `CASE (${a.sql}) WHEN TRUE THEN (${b.sql}) WHEN FALSE THEN (${c.sql}) END`,
      values: [...a.values, ...b.values, ...c.values],
    };
  }

  #joined(parts: readonly LetterCondition[], operator: string, empty: string): Fragment {
    if (parts.length === 0) return condition(empty);
    const made = parts.map((part) => this.condition(part));
    return {
      sql: made.map(({ sql }) => `(${sql})`).join(` ${operator} `),
      values: made.flatMap(({ values }) => values),
    };
  }

  #text({ value, test, with: text }: LetterCondition & { is: "text" }): Fragment {
    if (test === "==") {
      return value.of === "letter"
        ? condition(`${TEXT[value.field]} = ${this.#json.string}`, text)
        : this.#json.equalsText(this.#place(value), text);
    }
    const sql = this.#textOf(value);
    return isTextTest(test) ? this.#partOf(sql, test, text) : this.#ordered(sql, test, text);
  }

  #partOf(sql: string, test: TextTest, text: string): Fragment {
    const { position, end, string } = this.#json;
    if (test === "contains") return condition(`${position(sql, string)} > 0`, text);
    if (test === "startsWith") return condition(`${position(sql, string)} = 1`, text);
    const chars = [...text].length;
    return chars === 0 ? condition(`${sql} = ${sql}`) : condition(`${end(sql, chars)} = ${string}`, text);
  }

  /** JavaScript orders texts by UTF-16 units, so only the order of ASCII texts is certain to be the same. */
  #ordered(sql: string, operator: Comparison, text: string): Fragment {
    const { bytes, inBytes, string } = this.#json;
    const isAscii = `${bytes(sql)} = length(${sql})`;
    return condition(`CASE WHEN ${isAscii} THEN ${inBytes(sql)} ${operator} ${string} END`, text);
  }

  #number({ value, test, with: number }: LetterCondition & { is: "number" }): Fragment {
    const operator = test === "==" ? "=" : test;
    if (value.of === "data" || value.of === "failure")
      return this.#json.compares(this.#place(value), operator, number);
    const { sql, values } = this.#whole(value);
    return { sql: `${sql} ${operator} ${this.#json.number}`, values: [...values, number] };
  }

  #whole(value: NumberValue | number): Fragment {
    if (typeof value === "number") return condition(this.#json.number, value);
    if (value.of === "letter") return condition(this.#json.wide(NUMBER[value.field]));
    if (value.of !== "result") return condition(this.#json.whole(this.#place(value)));
    const left = this.#whole(value.left);
    const right = this.#whole(value.right);
    const isRest = value.operator === "%";
    const divisor = isRest ? around("nullif(", right, ", 0)") : right;
    const result = {
      sql: `(${left.sql} ${value.operator} ${divisor.sql})`,
      values: [...left.values, ...divisor.values],
    };
    if (isRest) return result; // never larger than the dividend
    return {
      sql: `(CASE WHEN ${result.sql} BETWEEN -${EXACT_MAX} AND ${EXACT_MAX} THEN ${result.sql} END)`,
      values: [...result.values, ...result.values],
    };
  }

  #textOf(value: TextValue): string {
    return value.of === "letter" ? TEXT[value.field] : this.#json.text(this.#place(value));
  }

  #place(
    value: { readonly of: "data"; readonly path: readonly string[] } | { of: "failure"; field: string },
  ) {
    const path = value.of === "data" ? value.path : [value.field];
    assert(path.length > 0 && path.every(isConditionKey), "a key of a condition is part of the SQL text");
    const name = `${value.of}.${path.join(".")}`;
    const alias = this.#aliases.get(name) ?? `json${this.#aliases.size}`;
    this.#aliases.set(name, alias);
    const place: JsonPlace = { of: value.of, path, alias };
    for (const join of this.#json.joins(place)) this.#joins.add(join);
    return place;
  }
}

function around(before: string, { sql, values }: Fragment, after: string): Fragment {
  return { sql: `${before}${sql}${after}`, values };
}

function isTextTest(test: Comparison | TextTest): test is TextTest {
  return test === "contains" || test === "startsWith" || test === "endsWith";
}

const TEXT: Readonly<Record<TextField, string>> = {
  itemId: "i.item_id",
  queue: "(SELECT q.name FROM queues q WHERE q.no = g.queue)",
  errorSignature: "g.signature",
  errorPattern: "g.pattern",
  state: "i.state",
  reason: "l.reason",
};

const FLAG: Readonly<Record<FlagField, string>> = {
  reprocessEligible: "g.eligible = 1",
  manualReviewRequired: "g.review = 1",
  poison: "CASE WHEN l.poison = 1 THEN TRUE END", // a letter that is not poison has no such field
};

const FAILED = "FROM attempts a WHERE a.ref = l.ref AND (a.outcome = 'failed' OR a.outcome = 'lost')";

const NUMBER: Readonly<Record<NumberField, string>> = {
  failureCount: `(SELECT count(*) ${FAILED})`,
  revision: "i.revision",
  redriveCount: "i.redrives",
  firstAttempt: fourDigitYear("l.first_at"),
  lastAttempt: fourDigitYear(`(SELECT a.ended_at ${FAILED} ORDER BY a.number DESC LIMIT 1)`),
};

/** Times are compared as numbers instead of RFC 3339 texts, which have the same order only in these years. */
function fourDigitYear(time: string): string {
  return `(CASE WHEN ${time} BETWEEN ${Date.UTC(1000, 0)} AND ${Date.UTC(9999, 11, 31)} THEN ${time} END)`;
}
