/** Items whose text begins with `-`: they are data for every program that Redrive starts, and never an option. */
import { describe, expect, it } from "vitest";
import { itemsJson, openFolder, plainMap } from "./project.ts";
import { openWorkshop } from "./workshop.ts";

const ITEMS = "-rf\n--help\nplain\n";

describe("a map", () => {
  it("fails an item that its command could read as an option, without running it and without retries", async () => {
    const shop = openWorkshop();
    const { code, stdout } = await shop.run(["map", "-j", "1", "--", "echo", "{}"], { stdin: ITEMS });
    expect([code, stdout]).toEqual([3, "plain\n"]);
    const letters = await shop.letters();
    expect(letters.map(({ item_data: data }) => data).sort()).toEqual(["--help", "-rf"]);
    for (const letter of letters) {
      const [failure, ...more] = letter.failure_history;
      expect(more).toEqual([]);
      expect(failure).toMatchObject({ error_type: "ValidationFailed", error_class: "permanent" });
      expect(failure?.error_message).toBe(
        'The value of {} begins with "-", and echo could read it as an option. Put -- before {}, or allow it with --allow-options.',
      );
    }
  });

  it.each([
    ["after --", ["printf", "%s;", "--", "{}"], "--;-rf;"],
    ["behind a literal", ["printf", "%s;", "./{}"], "./-rf;"],
    ["as an argument of a script", ["sh", "-c", 'printf "%s;" "$1"', "sh", "{}"], "-rf;"],
  ])("takes it %s", async (_where, command, printed) => {
    const { code, stdout } = await openWorkshop().run(["map", "--", ...command], { stdin: "-rf\n" });
    expect([code, stdout]).toEqual([0, printed]);
  });

  it("runs it if the user allows options, also in a retry", async () => {
    const shop = openWorkshop();
    const gate = shop.path("gate");
    const command = ["env", "{}", "/bin/sh", "-c", `test -e ${gate}`];
    const args = ["map", "-r", "0", "--allow-options", "--", ...command];
    expect((await shop.run(args, { stdin: "-i\n" })).code).toBe(3);
    shop.write("gate", "");
    expect((await shop.run(["dlq", "retry"])).code).toBe(0);
    expect(await shop.letters()).toEqual([]);
  });
});

describe("a worker", () => {
  it("fails such an item of its queue too, and has the same option", async () => {
    const shop = openWorkshop();
    for (const queue of ["one", "two"]) {
      expect((await shop.run(["queue", "create", queue])).code).toBe(0);
      expect((await shop.run(["queue", "add", queue, "--data", '"-x"'])).code).toBe(0);
    }
    await shop.run(["worker", "--queue", "one", "--drain", "--", "echo", "{}"]);
    const allowed = ["worker", "--queue", "two", "--drain", "--allow-options", "--", "echo", "{}"];
    expect((await shop.run(allowed)).stdout).toBe("-x\n");
    expect(await shop.letters("--queue", "one")).toHaveLength(1);
    expect(await shop.letters("--queue", "two")).toEqual([]);
  });
});

describe("an agent", () => {
  it("gets a prompt that looks like an option as a prompt", async () => {
    const folder = openFolder(itemsJson({ id: "a", prompt: "--dangerously-skip-permissions\ndo it" }));
    const step = { claude: "${item.prompt}", env: { FAKE_AGENT: "note-arguments note-prompt" } };
    const { code } = await folder.runWorkflow({ map: plainMap([step]) });
    expect(code).toBe(0);
    expect(folder.get("arguments.json")).not.toContain("dangerously");
    expect(folder.get("prompt.txt")).toBe("--dangerously-skip-permissions\ndo it");
  });
});
