/** Parsers for column values. */
import pg from "pg";

const INT8 = 20;
const NUMERIC = 1700;
const INT8_ARRAY = 1016;

/** Integers and sums become numbers: none of our columns exceeds the safe range. */
export function getTypeParser(oid: number, format?: "text" | "binary") {
  if (oid === INT8 || oid === NUMERIC) return Number;
  if (oid === INT8_ARRAY) return (text: string) => text.slice(1, -1).split(",").filter(Boolean).map(Number);
  return pg.types.getTypeParser(oid, format as "text");
}
