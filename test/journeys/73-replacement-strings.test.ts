/**
 * How the item is inserted into a command: `{}` and its variants, and what a shell does with `"${item}"` in double
 * quotes.
 */
import { describe, expect, test } from "vitest";
import { openWorkshop } from "./workshop.ts";

describe("a map", () => {
  test("fills the replacement strings of GNU parallel, and counts items from 1", async () => {
    const shop = openWorkshop();
    const command = ["echo", "{}", "{.}", "{/}", "{//}", "{/.}", "{#}"];
    const args = ["map", "-j", "1", "--", ...command];
    const { code, stdout } = await shop.run(args, { stdin: "in/a.txt\nin/b.tar.gz\n" });
    expect([code, stdout]).toEqual([
      0,
      "in/a.txt in/a a.txt in a 1\nin/b.tar.gz in/b.tar b.tar.gz in b.tar 2\n",
    ]);
  });

  test.each(["map", "worker"])(
    "%s refuses an argument that the shell has emptied, before anything runs",
    async (word) => {
      const shop = openWorkshop();
      expect((await shop.run(["queue", "create", "q"])).code).toBe(0);
      const { code, stderr } = await shop.run([word, "--", "wc", "-w", ""], { stdin: "a\n" });
      expect(code).toBe(2);
      expect(stderr).toContain(
        "An argument of the command is empty, and no argument contains the item placeholder.",
      );
      expect(stderr).toContain("-- wc -w {}");
      expect((await shop.json<{ jobs: readonly unknown[] }>("jobs")).jobs).toEqual([]);
    },
  );

  test("accepts an empty argument beside one that names the item", async () => {
    const shop = openWorkshop();
    const { code, stdout } = await shop.run(["map", "--", "echo", "", "{}"], { stdin: "a\n" });
    expect([code, stdout]).toEqual([0, " a\n"]);
  });

  test.each([
    ["map", ["echo", "--name="]],
    ["map", ["env", "-u", "X", "NAME=", "true"]],
    ["worker", ["echo", "--name="]],
  ])("%s warns of an option that the shell may have emptied: %j", async (word, command) => {
    const shop = openWorkshop();
    expect((await shop.run(["queue", "create", "q"])).code).toBe(0);
    const ending = word === "worker" ? ["--until-empty"] : [];
    const { code, stderr } = await shop.run([word, ...ending, "--", ...command], { stdin: "a\n" });
    expect(code).toBe(0);
    const option = command.find((argument) => argument.endsWith("="));
    expect(stderr).toContain(`Warning: the argument ${option} has no value`);
    expect(stderr).toContain(`write ${option}{}`);
  });

  test.each([
    [["echo", "--name=", "{}"]],
    [["echo", "--name={}"]],
    [["sh", "-c", 'echo "$REDRIVE_ITEM" x=']],
    [["echo", "a=b"]],
  ])("warns of nothing in %j", async (command) => {
    const { code, stderr } = await openWorkshop().run(["map", "--", ...command], { stdin: "a\n" });
    expect(code).toBe(0);
    expect(stderr).not.toContain("Warning");
  });
});
