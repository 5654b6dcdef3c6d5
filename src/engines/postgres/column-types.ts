/** What the texts of columns become on their way from PostgreSQL. */
import pg from "pg";

const INT8 = 20;
const NUMERIC = 1700;
const INT8_ARRAY = 1016;

/** Whole numbers and sums are numbers: no column of ours goes beyond what a number holds. */
export function getTypeParser(oid: number, format?: "text" | "binary") {
  if (oid === INT8 || oid === NUMERIC) return Number;
  if (oid === INT8_ARRAY) return (text: string) => text.slice(1, -1).split(",").filter(Boolean).map(Number);
  return pg.types.getTypeParser(oid, format as "text");
}
