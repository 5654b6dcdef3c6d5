/** Reads values of item data and failures in PostgreSQL, as NULL wherever JavaScript might read something else. */
import { condition } from "../sql/conditions.ts";
import type { JsonPlace, JsonSql } from "../sql/letter-condition.ts";

const JOIN = {
  data: "LEFT JOIN LATERAL (SELECT data FROM payloads WHERE ref = l.ref OFFSET 0) p ON true",
  failure: `LEFT JOIN LATERAL (SELECT a.failure FROM attempts a WHERE a.ref = l.ref AND a.failure IS NOT NULL
    ORDER BY a.number DESC LIMIT 1) f ON true`,
};
const SOURCE = { data: "p.data", failure: "f.failure" };

/** PostgreSQL refuses JSON with escapes such as `\u0000`, even outside of the value that is read. */
function joinOf({ of, path, alias }: JsonPlace): string {
  const keys = (names: readonly string[]) => names.map((key) => ` -> '${key}'`).join("");
  const json = `${SOURCE[of]}::json${keys(path.slice(0, -1))}`;
  return `CROSS JOIN LATERAL (
    SELECT parent, parent -> '${path.at(-1)}' AS value FROM (
      SELECT CASE WHEN strpos(${SOURCE[of]}, '\\u') = 0 THEN ${json} END AS parent OFFSET 0) read OFFSET 0) ${alias}`;
}

function byType({ alias }: JsonPlace, cases: Readonly<Record<string, string>>): string {
  const whens = Object.entries(cases).map(([type, sql]) => `WHEN '${type}' THEN ${sql}`);
  return `CASE json_typeof(${alias}.value) ${whens.join(" ")} END`;
}

const textOf = ({ alias }: JsonPlace) => `(${alias}.value #>> '{}')`;

/** Numbers with more digits may not fit. There is no question mark in these patterns, because it is a parameter. */
const FRACTION = "^-{0,1}[0-9]{1,15}([.][0-9]{1,15}){0,1}$";
const WHOLE = "^-{0,1}[0-9]{1,15}$";

const OTHERS_THAN_TEXT = { null: "FALSE", boolean: "FALSE", number: "FALSE" };
const OTHERS_THAN_NUMBER = { null: "FALSE", boolean: "FALSE", string: "FALSE" };

export const POSTGRES_JSON: JsonSql = {
  joins: (place) => [JOIN[place.of], joinOf(place)],
  text: (place) => byType(place, { string: textOf(place) }),
  equalsText: (place, text) =>
    condition(byType(place, { string: `${textOf(place)} = ?::text`, ...OTHERS_THAN_TEXT }), text),
  compares: (place, operator, number) => {
    const text = textOf(place);
    const compared = `CASE WHEN ${text} ~ '${FRACTION}' THEN ${text}::float8 ${operator} ?::float8 END`;
    return condition(
      byType(place, { number: compared, ...(operator === "=" && OTHERS_THAN_NUMBER) }),
      number,
    );
  },
  whole: (place) => {
    const text = textOf(place);
    return `(${byType(place, { number: `CASE WHEN ${text} ~ '${WHOLE}' THEN ${text}::numeric END` })})`;
  },
  flag: (place) => byType(place, { boolean: `${textOf(place)}::boolean` }),
  isNull: (place) => byType(place, { ...OTHERS_THAN_TEXT, string: "FALSE", null: "TRUE" }),
  isPresent: ({ alias }) =>
    `CASE json_typeof(${alias}.parent) WHEN 'object' THEN ${alias}.value IS NOT NULL END`,
  position: (text, part) => `strpos(${text}, ${part})`,
  bytes: (text) => `octet_length(${text})`,
  end: (text, chars) => `right(${text}, ${chars})`,
  inBytes: (text) => `(${text}) COLLATE "C"`,
  wide: (number) => `${number}::numeric`,
  number: "?::numeric",
  string: "?::text",
};
