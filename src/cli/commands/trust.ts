/**
 * `redrive trust`, and the check whether a `redrive.yml` may run commands automatically. A file found in the current folder
 * or above, such as in a cloned project, may not until the user trusts its content at its path. Files named by `--config` or
 * `REDRIVE_CONFIG` and files in the home folder are trusted.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ConfigFile } from "../../config/config.ts";
import type { Config } from "../../config/settings.ts";
import type { RedriveError } from "../../errors.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER, readText } from "../../std/files.ts";
import { isJsonObject, type JsonObject } from "../../std/json.ts";
import { command } from "../command.ts";
import type { Context } from "../context.ts";
import { userError } from "../exit-code.ts";
import { clean } from "../render/text.ts";

/** Returns the commands that run automatically: those of automatic fixes and of alerts. */
export function ownCommands({
  fixes,
  channels,
}: Pick<Config, "fixes"> & Pick<Config["watch"], "channels">): readonly string[] {
  return [
    ...fixes.flatMap(({ auto, change }) => (auto && change.kind === "command" ? [change.command] : [])),
    ...channels.flatMap((channel) => (channel.type === "command" ? [channel.command] : [])),
  ].map((command) => command.join(" "));
}

/** Asks once before the settings may run these commands. Throws if the answer is no or there is no terminal. */
export async function requireTrust(context: Context, commands: readonly string[]): Promise<void> {
  if (commands.length === 0) return;
  const file = context.findConfig();
  if (file === null || isOwn(context, file) || isTrusted(context, file.path)) return;
  if (!context.canAnswer) throw notTrusted(file.path, commands);
  const list = commands.map((command) => `  ${clean(command)}\n`).join("");
  context.note(`${clean(file.path)} runs commands automatically:\n${list.trimEnd()}`);
  if (!(await context.ask("Trust the current content of this file?"))) throw notTrusted(file.path, commands);
  remember(context, file.path);
}

function isOwn({ home }: Context, { path, wanted }: ConfigFile): boolean {
  return wanted || dirname(path) === home;
}

function isTrusted(context: Context, path: string): boolean {
  return readTrusted(context)[realpathSync(path)] === digestOf(path);
}

function remember(context: Context, path: string): void {
  const trusted = { ...readTrusted(context), [realpathSync(path)]: digestOf(path) };
  mkdirSync(context.home, { recursive: true, mode: PRIVATE_FOLDER });
  const unfinished = `${trustedFile(context)}.${process.pid}`;
  writeFileSync(unfinished, `${JSON.stringify(trusted, null, 2)}\n`, { mode: PRIVATE_FILE });
  renameSync(unfinished, trustedFile(context));
}

function readTrusted(context: Context): JsonObject {
  try {
    const trusted: unknown = JSON.parse(readFileSync(trustedFile(context), "utf8"));
    return isJsonObject(trusted) ? trusted : {};
  } catch (error) {
    const isMissing = error instanceof Error && Reflect.get(error, "code") === "ENOENT";
    if (isMissing || error instanceof SyntaxError) return {}; // in this case no file is trusted
    throw error;
  }
}

function trustedFile({ home }: Context): string {
  return join(home, "trusted.json");
}

function digestOf(path: string): string {
  return createHash("sha256").update(readText(path)).digest("hex");
}

function notTrusted(path: string, commands: readonly string[]): RedriveError {
  const list = commands.map((command) => `"${command}"`).join(", ");
  const message = `${path} runs commands automatically and is not trusted: ${list}.`;
  return userError("usage", message, "Read the file. To trust its current content: redrive trust");
}

const trust = command({
  summary: "Allow the redrive.yml of this folder to run commands automatically.",
  description:
    "Automatic fixes and alerts can run commands. When the file changes, it must be trusted again.",
  examples: ["redrive trust"],
  run: async (context) => {
    const { fixes, watch } = await context.config();
    const commands = ownCommands({ fixes, channels: watch.channels });
    const path = context.findConfig()?.path;
    if (path === undefined)
      throw userError(
        "usage",
        "There is no redrive.yml in this folder or its parent folders.",
        "Give a file with --config.",
      );
    remember(context, path);
    return context.answer({ path, commands }, () =>
      [`Trusted: ${path}`, ...commands.map((one) => `  ${one}`)].map((line) => `${clean(line)}\n`).join(""),
    );
  },
});

export const commands = { trust };
