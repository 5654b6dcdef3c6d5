/** Reads values of item data and failures in SQLite, as NULL wherever JavaScript might read something else. */
import { condition } from "../sql/conditions.ts";
import { EXACT_MAX, type JsonPlace, type JsonSql } from "../sql/letter-condition.ts";

const JOIN = {
  data: "LEFT JOIN payloads p ON p.ref = l.ref",
  failure: `LEFT JOIN attempts f ON f.ref = l.ref AND f.number =
    (SELECT a.number FROM attempts a WHERE a.ref = l.ref AND a.failure IS NOT NULL ORDER BY a.number DESC LIMIT 1)`,
};
const SOURCE = { data: "p.data", failure: "f.failure" };

const pathOf = (keys: readonly string[]) => `'$${keys.map((key) => `.${key}`).join("")}'`;

/** The value as SQL. */
function read({ of, path }: JsonPlace): string {
  return `${SOURCE[of]} ->> ${pathOf(path)}`;
}

/** Chooses by the type of the value. SQLite refuses JSON that is nested more deeply than JavaScript accepts. */
function byType({ of, path }: JsonPlace, cases: Readonly<Record<string, string>>): string {
  const whens = Object.entries(cases).map(([type, sql]) => `WHEN '${type}' THEN ${sql}`);
  const source = SOURCE[of];
  return `CASE json_valid(${source}) WHEN 1 THEN CASE json_type(${source}, ${pathOf(path)}) ${whens.join(" ")} END END`;
}

/** SQLite ends a text at the escape of the character 0. */
function unescaped({ of, path }: JsonPlace, sql: string): string {
  return `CASE instr(${SOURCE[of]} -> ${pathOf(path)}, '\\u') WHEN 0 THEN ${sql} END`;
}

const OTHERS_THAN_TEXT = { null: "0", true: "0", false: "0", integer: "0", real: "0" };
const OTHERS_THAN_NUMBER = { null: "0", true: "0", false: "0", text: "0" };

/** SQLite may round the last digit of a fraction differently, so fractions must differ by more than this share. */
const ROUNDING = 1e-9;

export const SQLITE_JSON: JsonSql = {
  joins: ({ of }) => [JOIN[of]],
  text: (place) => byType(place, { text: unescaped(place, read(place)) }),
  equalsText: (place, text) =>
    condition(byType(place, { text: unescaped(place, `${read(place)} = ?`), ...OTHERS_THAN_TEXT }), text),
  compares: (place, operator, number) => {
    const value = `(${read(place)})`;
    const compared = `${value} ${operator} ?`;
    const isApart = `abs(${value} - ?) > ${ROUNDING} * (abs(${value}) + abs(?))`;
    const sql = byType(place, {
      integer: compared, // also exact beyond what JavaScript calls safe, because the other number is safe
      real: `CASE WHEN ${isApart} THEN ${compared} END`,
      ...(operator === "=" && OTHERS_THAN_NUMBER),
    });
    return condition(sql, number, number, number, number);
  },
  whole: (place) => {
    const value = `(${read(place)})`;
    return `(${byType(place, {
      integer: `CASE WHEN ${value} BETWEEN -${EXACT_MAX} AND ${EXACT_MAX} THEN ${value} END`,
    })})`;
  },
  flag: (place) => byType(place, { true: "1", false: "0" }),
  isNull: (place) => byType(place, { ...OTHERS_THAN_TEXT, text: "0", null: "1" }),
  isPresent: ({ of, path }) => {
    const source = SOURCE[of];
    const isThere = `json_type(${source}, ${pathOf(path)}) IS NOT NULL`;
    return `CASE json_valid(${source}) WHEN 1 THEN
      CASE json_type(${source}, ${pathOf(path.slice(0, -1))}) WHEN 'object' THEN ${isThere} END END`;
  },
  position: (text, part) => `instr(${text}, ${part})`,
  bytes: (text) => `octet_length(${text})`,
  end: (text, chars) => `substr(${text}, -${chars})`,
  inBytes: (text) => text,
  wide: (number) => number,
  number: "?",
  string: "?",
};
