/** Read-only commands: without a store they print an empty result and create nothing. */
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type ErrorJson, openWorkshop } from "./workshop.ts";

/** Read-only commands, and commands that cannot find their arguments, with the exit code of each. */
const COMMANDS: readonly (readonly [code: number, ...words: string[]])[] = [
  [0, "jobs"],
  [0, "events"],
  [0, "errors"],
  [0, "dlq", "list"],
  [0, "dlq", "stats"],
  [0, "dlq", "analyze"],
  [0, "groups"],
  [0, "ops", "list"],
  [0, "queue", "list"],
  [0, "receipts", "list"],
  [0, "worktrees", "list"],
  [0, "worktrees", "clean", "--dry-run"],
  [2, "store", "info"],
  [2, "store", "check"],
  [2, "events", "--follow"],
  [4, "resume"],
  [4, "status", "nowhere"],
  [4, "logs", "nowhere", "1"],
  [4, "dlq", "retry", "nowhere", "--dry-run"],
  [4, "dlq", "discard", "nowhere", "--reason", "none", "--yes"],
  [4, "queue", "show", "nowhere"],
  [4, "worktrees", "list", "--job", "nowhere"],
];

describe("a read-only command", () => {
  it("creates neither a store nor a folder", async () => {
    const shop = openWorkshop();
    const results = await Promise.all(
      COMMANDS.map(async ([code, ...words]) => {
        const result = await shop.run(words);
        return { words, expected: code, code: result.code, stderr: result.stderr };
      }),
    );
    expect(results.filter(({ code, expected }) => code !== expected)).toEqual([]);
    expect(existsSync(shop.path("redrive"))).toBe(false);
    await shop.map([1], "true");
    expect((await shop.run(["store", "check"])).code).toBe(0);
  });

  it("refuses a --config that does not exist, whether it reads settings or not", async () => {
    const shop = openWorkshop();
    await shop.map([1], "true");
    const named = ["--config", shop.path("missing.yml")];
    for (const words of [["jobs"], ["dlq", "list"], ["events"], ["validate", "workflow.yml"]]) {
      const { code, ...result } = await shop.run([...words, ...named, "--json"]);
      expect(code).toBe(2);
      expect(result.json<ErrorJson>().error.message).toContain("missing.yml");
    }
    const { code } = await shop.run(["jobs"], { env: { REDRIVE_CONFIG: shop.path("missing.yml") } });
    expect(code).toBe(2);
  });
});
