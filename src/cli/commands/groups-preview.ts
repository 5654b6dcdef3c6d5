/** `redrive groups preview`: the signature and pattern of each line of a file, to try the grouping on one's own logs. */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { openInput } from "../../intake/input.ts";
import { previewLines } from "../../triage/preview.ts";
import type { Signature } from "../../triage/signature.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";

/** With `--json` one JSON object a line, because the input may have no end. */
export async function groupsPreview(context: Context, file: string): Promise<number> {
  const { stdin, stdout } = context.terminal;
  const input = await openInput(file, stdin);
  const texts = Readable.from(textsOf(input.chunks, context.isJson ? jsonLine : textLine), {
    objectMode: false,
  });
  try {
    await pipeline(texts, stdout, { end: false });
  } catch (error) {
    const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
    if (code !== "EPIPE") throw error; // its reader has seen enough
  }
  return EXIT.done;
}

async function* textsOf(
  chunks: AsyncIterable<Buffer>,
  toLine: (signature: Signature) => string,
): AsyncGenerator<string> {
  for await (const signatures of previewLines(chunks)) yield signatures.map(toLine).join("");
}

function jsonLine({ signature, pattern }: Signature): string {
  return `${JSON.stringify({ signature, pattern })}\n`;
}

function textLine({ signature, pattern }: Signature): string {
  return `${signature}  ${pattern}\n`;
}
