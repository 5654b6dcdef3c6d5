/** `redrive trust`: allows the `redrive.yml` of this folder to run commands by itself. */
import { WorkError } from "../../errors.ts";
import { command } from "../command.ts";
import { clean } from "../render/paint.ts";
import { ownCommands, trustSettings } from "../trust.ts";

const trust = command({
  summary: "Allow the redrive.yml of this folder, as it is now, to run commands by itself.",
  description: "Automatic fixes and alerts can run commands. A changed file has to be trusted again.",
  examples: ["redrive trust"],
  run: async (context) => {
    const config = await context.config();
    const commands = ownCommands({ fixes: config.fixes, channels: config.watch.channels });
    const path = trustSettings(context);
    if (path === null)
      throw new WorkError("usage", "There is no redrive.yml in this folder or a folder above.");
    return context.answer({ path, commands: [...commands] }, () =>
      [`Trusted: ${path}`, ...commands.map((one) => `  ${one}`)].map((line) => `${clean(line)}\n`).join(""),
    );
  },
});

export const commands = { trust };
