/** The same failure is one group whatever the items' data; different failures are different groups. */
import { describe, expect, it } from "vitest";
import { openWorkshop, type Summary, type Workshop } from "./workshop.ts";

const ONCE = ["--name", "n", "--retries", "0"];

const patternsOf = async (shop: Workshop) =>
  (await shop.letters()).map(({ error_pattern }) => error_pattern).sort();

describe("items whose data has words of the message", () => {
  it("are one group: common words, and the words of Redrive's own sentence", async () => {
    const shop = openWorkshop();
    const items = [
      { kind: "request" },
      { kind: "timeout" },
      { kind: "other" },
      { kind: "request timeout" },
      { status: "failed" },
      { command: "sh", exit: "exit code", code: 1 },
    ];
    const { groups } = await shop.mapJson(items, 'echo "request timeout" >&2; exit 1', ONCE);
    expect(groups).toMatchObject([
      { count: 6, pattern: "CommandFailed::sh failed with exit code 1: request timeout" },
    ]);
  });

  it("stop a canary if they fail as before, even after an edit put such a word into the data", async () => {
    const shop = openWorkshop();
    await shop.map([{ kind: "a" }, { kind: "b" }, { kind: "c" }], 'echo "request timeout" >&2; exit 1', ONCE);
    await shop.run(["dlq", "edit", "--job", "n", "--set", 'kind="timeout"', "--yes"]);
    expect((await shop.letters()).map(({ item_data }) => item_data)).toEqual([
      { kind: "timeout" },
      { kind: "timeout" },
      { kind: "timeout" },
    ]);
    const { code, stderr } = await shop.run(["dlq", "retry", "n", "--canary"]);
    expect(code).toBe(3);
    expect(stderr).toContain("The canary stopped");
    expect((await shop.letters()).filter(({ redrive_count }) => redrive_count > 0)).toHaveLength(1);
  });

  it("are one group if only an id or a path differs, with the mask of its form", async () => {
    const shop = openWorkshop();
    const items = ["ORD-1042", "ORD-2077"].flatMap((order) => [
      { order, say: `order ${order} was not found` },
      { order, say: `gzip: /data/${order}.csv: unexpected end of file` },
    ]);
    await shop.map(items, `echo "$1" | sed 's/.*"say":"//; s/".*//' >&2; exit 1`, ONCE);
    const [gzip, order] = [
      "CommandFailed::sh failed with exit code 1: gzip: <path>: unexpected end of file",
      "CommandFailed::sh failed with exit code 1: order ORD<num> was not found",
    ];
    expect(await patternsOf(shop)).toEqual([gzip, gzip, order, order]);
  });
});

it("a program and its copy that fail with the same error are one group", async () => {
  const shop = openWorkshop();
  for (const name of ["e1.mjs", "e2.mjs"]) shop.write(name, 'throw new TypeError("the cart is empty");\n');
  const summary = await shop.run(["map", "--json", ...ONCE, "--", "node", "{}"], {
    stdin: "e1.mjs\ne2.mjs\n",
  });
  expect(summary.json<Summary>().groups).toMatchObject([{ count: 2 }]);
  expect(await patternsOf(shop)).toEqual([
    "CommandFailed::node failed with exit code 1: TypeError: the cart is empty",
    "CommandFailed::node failed with exit code 1: TypeError: the cart is empty",
  ]);
});

it("imported error bodies with different messages are different groups", async () => {
  const shop = openWorkshop();
  const messages = [
    "Element not found on screen",
    "Failed to run flow",
    "The workbook is locked for editing",
    "Login window did not appear",
  ];
  const bodies = messages.map((message, index) => ({
    ExecutionId: `2026021614302${index}`,
    DesktopFlow: "DF0001-GenerateGuide",
    Subflow: "Main",
    Action: "5",
    "Action name": "Click UI Element",
    "Error Message": message,
    "Error Evidence": "C:\\flows\\screenshot.jpg",
  }));
  const file = shop.write("errors.json", JSON.stringify(bodies));
  expect((await shop.run(["dlq", "import", file])).code).toBe(0);
  expect(await patternsOf(shop)).toEqual(messages.map((message) => `GenericException::${message}`).sort());
  expect(new Set((await shop.letters()).map(({ error_signature }) => error_signature)).size).toBe(4);
});
