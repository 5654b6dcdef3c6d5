/** The receipts that a person gave: on the command line, in a file, or through a pipe. */
import { resolve } from "node:path";
import { type ReadReceipt, readReceipts, receiptsOf } from "../delivery/read-receipts.ts";
import { WorkError } from "../errors.ts";
import type { Context } from "./context.ts";
import { readJsonOption } from "./json-word.ts";
import { requirePath } from "./option.ts";

export interface ReceiptInputFlags {
  readonly data?: string;
  readonly file?: string;
  readonly format?: "json" | "jsonl";
  readonly key?: string;
  readonly keyField?: string;
}

type Runs = AsyncIterable<readonly ReadReceipt[]> | Iterable<readonly ReadReceipt[]>;

/** In runs, as they come. What contradicts is refused before anything is read. */
export async function* receiptsFrom(
  context: Context,
  flags: ReceiptInputFlags,
  signal: AbortSignal,
): AsyncGenerator<readonly ReadReceipt[]> {
  const { key } = flags;
  let count = 0;
  for await (const run of runsFrom(context, flags, signal)) {
    count += run.length;
    if (key !== undefined && count > 1) {
      throw new WorkError("usage", "--key is for one receipt.", {
        hint: "--key-field names the field with the key of each.",
      });
    }
    yield key === undefined ? run : run.map((one) => ({ ...one, key }));
  }
}

function runsFrom(
  { terminal: { cwd, stdin } }: Context,
  { data, file, format, keyField }: ReceiptInputFlags,
  signal: AbortSignal,
): Runs {
  if (data !== undefined) {
    const other = file !== undefined ? "--file" : format !== undefined ? "--format" : undefined;
    if (other !== undefined) throw new WorkError("usage", `--data and ${other} do not go together.`);
    return [receiptsOf(readJsonOption(data, { option: "--data", cwd }), "--data", keyField)];
  }
  if (file === undefined && (stdin as { isTTY?: boolean }).isTTY) {
    throw new WorkError("usage", "No receipt was given.", {
      hint: `Give it as JSON: --data '{"task_id": "t-1"}', --data @FILE, --file FILE, or on stdin.`,
    });
  }
  const path = file === undefined || file === "-" ? "-" : resolve(cwd, requirePath("--file", file));
  const source = { path, ...(format && { format }), ...(keyField !== undefined && { keyField }) };
  return readReceipts(source, { stdin, signal });
}
