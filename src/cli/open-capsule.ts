/** `redrive dlq capsule open`: shows a capsule without a store, or unpacks it into a folder. */
import { resolve } from "node:path";
import { readCapsule } from "../dead-letter/capsule.ts";
import { unpackCapsule } from "../dead-letter/capsule-files.ts";
import { letterFromJson } from "../item/letter.ts";
import { capsuleText } from "./capsule-text.ts";
import type { Context } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { letterText } from "./letter-text.ts";

/** With `-o FOLDER` its parts become files there; else the document is answered. */
export async function openCapsule(context: Context, file: string, output?: string): Promise<number> {
  const { paint, columns, terminal } = context;
  const capsule = await readCapsule(resolve(terminal.cwd, file));
  if (output === undefined) {
    context.answer(
      capsule,
      () =>
        `${letterText(letterFromJson(capsule.letter), { paint, columns })}\n${capsuleText(capsule, { paint, path: file })}`,
    );
    return EXIT.done;
  }
  const folder = resolve(terminal.cwd, output);
  const files = await unpackCapsule(capsule, folder);
  context.answer({ folder, files }, () => files.map((name) => `${folder}/${name}\n`).join(""));
  return EXIT.done;
}
