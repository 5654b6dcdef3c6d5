/** Item data goes from the template through both launchers into a command's arguments, and no shell ever reads it. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { findLauncherBinary, openLauncher } from "../../src/attempt/launcher.ts";
import { compileCommand } from "../../src/attempt/template.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

const NASTY = [
  "$(touch pwned)",
  "`touch pwned`",
  "; touch pwned",
  "' touch pwned '",
  '" && touch pwned "',
  "a b\nc",
  "${HOME}",
  "*",
];

const KINDS = findLauncherBinary() === undefined ? (["spawn"] as const) : (["spawn", "native"] as const);

it("invariant 11: item data never reaches a shell, whichever launcher starts the command", async () => {
  for (const kind of KINDS) {
    const launcher = openLauncher({ kind });
    try {
      for (const data of NASTY) {
        const filled = compileCommand(["printf", "<%s>", "${item}", "x{}"])({
          item: data,
          item_id: "i",
          index: 0,
        });
        if (!filled.ok) throw new Error(filled.message);
        const [stdoutPath, stderrPath] = [directory.file("out"), directory.file("err")];
        const launched = launcher.launch({
          argv: filled.value,
          cwd: directory.path,
          env: {},
          stdin: "",
          stdoutPath,
          stderrPath,
        });
        const { exitCode, stdout } = await launched.ended;
        expect(exitCode).toBe(0);
        expect((stdout.inline ?? readFileSync(stdoutPath)).toString()).toBe(`<${data}><x${data}>`);
      }
    } finally {
      await launcher.close();
    }
  }
  expect(existsSync(join(directory.path, "pwned"))).toBe(false);
});
