/** Letters as text, piece by piece: what each format writes. */
import { type Letter, letterToJson } from "../../item/letter.ts";
import type { ExportFormat } from "./format.ts";

/** The formats that are one stream of text. */
export type TextFormat = Exclude<ExportFormat, "directory">;

/** The whole text of an export. Letters are taken one at a time. */
export async function* textOf(letters: AsyncIterable<Letter>, format: TextFormat): AsyncGenerator<string> {
  if (format === "json") return yield* documentText(letters);
  if (format === "receipts") return yield* receiptsText(letters);
  const { head, write } = await rowsOf(format);
  yield head;
  for await (const letter of letters) yield write(letter);
}

/** One document. Each letter has a line, so that `grep` and `diff` are of use. */
async function* documentText(letters: AsyncIterable<Letter>): AsyncGenerator<string> {
  let total = 0;
  yield '{"items":[';
  for await (const letter of letters) {
    yield `${total === 0 ? "" : ","}\n${JSON.stringify(letterToJson(letter))}`;
    total += 1;
  }
  yield `${total === 0 ? "" : "\n"}],"total":${total}}\n`;
}

/** One array, as `receipts.json` is; each entry has a line. */
async function* receiptsText(letters: AsyncIterable<Letter>): AsyncGenerator<string> {
  const { receiptOfLetter } = await import("./receipt.ts");
  let total = 0;
  yield "[";
  for await (const letter of letters) {
    yield `${total === 0 ? "" : ","}\n${JSON.stringify(receiptOfLetter(letter))}`;
    total += 1;
  }
  yield `${total === 0 ? "" : "\n"}]\n`;
}

interface Rows {
  readonly head: string;
  readonly write: (letter: Letter) => string;
}

async function rowsOf(format: Exclude<TextFormat, "json" | "receipts">): Promise<Rows> {
  if (format === "jsonl") return { head: "", write: (letter) => line(letterToJson(letter)) };
  if (format === "csv") {
    const { CSV_HEADER, csvRow } = await import("./csv-form.ts");
    return { head: CSV_HEADER, write: csvRow };
  }
  const { errorBodiesOf } = await import("./error-body.ts");
  return { head: "", write: (letter) => errorBodiesOf(letter).map(line).join("") };
}

function line(json: object): string {
  return `${JSON.stringify(json)}\n`;
}

const PIECE_CHARACTERS = 64 * 1024;

/** Joins small texts, so that what comes after has fewer and larger pieces to deal with. */
export async function* inPieces(texts: AsyncIterable<string>): AsyncGenerator<Buffer> {
  let open = "";
  for await (const text of texts) {
    open += text;
    if (open.length < PIECE_CHARACTERS) continue;
    yield Buffer.from(open);
    open = "";
  }
  if (open !== "") yield Buffer.from(open);
}
