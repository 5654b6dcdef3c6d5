/** Shell completion, suggestions for misspelt commands, and `help` with a command. */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync } from "node:fs";
import { expect, test } from "vitest";
import { CLI_PATH } from "../support/cli.ts";
import { openWorkshop, type Workshop } from "./workshop.ts";

/** Sources the script in a real bash and asks it for the completions of a line, as Tab does. */
function completedByBash(shop: Workshop, ...words: readonly string[]): readonly string[] {
  const script = `
    source <(redrive completion bash)
    COMP_WORDS=(redrive "$@")
    COMP_CWORD=$#
    _redrive
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const env = {
    PATH: `${shop.path("bin")}:${process.env.PATH}`,
    HOME: shop.path("."),
    REDRIVE_HOME: shop.path("redrive"),
  };
  const output = execFileSync("bash", ["-c", script, "bash", ...words], { env, encoding: "utf8" });
  return output.split("\n").filter((line) => line !== "");
}

test("bash completes commands, options, their values, jobs, queues and items", async () => {
  const shop = openWorkshop();
  shop.write("bin/redrive", `#!/bin/sh\nexec "${process.execPath}" "${CLI_PATH}" "$@"\n`);
  chmodSync(shop.path("bin/redrive"), 0o755);
  await shop.run(["map", "--name", "nightly", "--retries", "0", "--", "false"], { stdin: "a\nb\n" });
  await shop.run(["queue", "create", "orders"]);
  const itemIds = (await shop.letters()).map(({ item_id }) => item_id).sort();
  expect(itemIds).toHaveLength(2);
  const complete = (...words: readonly string[]) => [...completedByBash(shop, ...words)].sort();

  expect(complete("wor")).toEqual(["worker", "worktrees"]);
  expect(complete("dlq", "res")).toEqual(["restore"]);
  expect(complete("dlq", "retry", "--can")).toEqual(["--canary", "--canary-size"]);
  expect(complete("map", "--on-failure", "s")).toEqual(["skip", "stop"]);
  expect(complete("status", "")).toEqual(["nightly"]);
  expect(complete("dlq", "list", "--job", "n")).toEqual(["nightly"]);
  expect(complete("queue", "show", "")).toEqual(["orders"]);
  expect(complete("dlq", "retry", "nightly", "")).toEqual(itemIds);
  expect(complete("logs", "nightly", "")).toEqual(itemIds);
  expect(complete("map", "--", "")).toEqual([]);
});

test.each(["bash", "zsh", "fish"])("completion %s prints a script, and makes no store", async (shell) => {
  const shop = openWorkshop();
  const { code, stdout } = await shop.run(["completion", shell]);
  expect(code).toBe(0);
  expect(stdout).toContain("complete-words --");
  expect((await shop.run(["complete-words", "--", "status", ""])).code).toBe(0);
  expect(existsSync(shop.path("redrive"))).toBe(false);
});

test.each([
  [["queue", "lsit"], "redrive queue list"],
  [["jobs", "dismis"], "redrive jobs dismiss"],
  [["groups", "exlain"], "redrive groups explain"],
  [["quee", "list"], "redrive queue"],
  [["help", "stats"], "redrive status"],
])("the misspelt command %j gets a suggestion", async (words, meant) => {
  const { code, stderr } = await openWorkshop().run(words);
  expect(code).toBe(2);
  expect(stderr).toContain(`Did you mean \`${meant}\`?`);
});

test("help takes the words of a command", async () => {
  const shop = openWorkshop();
  const [asked, named] = [
    await shop.run(["help", "dlq", "retry"]),
    await shop.run(["dlq", "retry", "--help"]),
  ];
  expect(asked.code).toBe(0);
  expect(asked.stdout).toContain("redrive dlq retry");
  expect(asked.stdout).toBe(named.stdout);
});
