/** `redrive trust`: allows the `redrive.yml` of this folder to run commands by itself. */
import { WorkError } from "../../errors.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { clean } from "../paint.ts";
import { ownCommands, trustSettings } from "../trust.ts";

export async function trust(context: Context): Promise<number> {
  const config = await context.config();
  const commands = ownCommands({ fixes: config.fixes, channels: config.watch.channels });
  const path = trustSettings(context);
  if (path === null) throw new WorkError("usage", "There is no redrive.yml here.");
  context.answer({ path, commands: [...commands] }, () =>
    [`Trusted: ${path}`, ...commands.map((command) => `  ${command}`)]
      .map((line) => `${clean(line)}\n`)
      .join(""),
  );
  return EXIT.done;
}
