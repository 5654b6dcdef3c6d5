/**
 * The output about failures, in terminals of several widths and in a file: one golden file for each command.
 * Failures that differ must look different at every width, and nothing is cut if stdout is not a terminal.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { runCli } from "../../src/cli/program.ts";

const WIDTHS = [60, 80, 100, 140] as const;

/** Fails like curl, node, a compiler and an agent. */
const SHOP = `case "$1" in
  ord-1001|ord-1004|ord-1007) echo "curl: (22) The requested URL returned error: 422" >&2; exit 22;;
  ord-1002|ord-1005) echo "curl: (22) The requested URL returned error: 500" >&2; exit 22;;
  ord-1003) echo "curl: (22) The requested URL returned error: 400" >&2; exit 22;;
  *) echo "curl: (6) Could not resolve host: shop.example" >&2; exit 6;;
esac
`;
const BUILD = `case "$1" in
  *cart.tsx) echo "$1(12,7): error TS2322: Type 'string' is not assignable to type 'number'."; exit 2;;
  *total.tsx) echo "$1(3,17): error TS2345: Argument of type 'number' is not assignable to parameter of type 'OrderId'."; exit 2;;
  *) echo "API Error: 529 the model is overloaded, please try again later"; exit 1;;
esac
`;
const DEEP = "src/components/checkout/with/a/long/path/in/a/monorepo";

/** A stream that keeps what is written to it. */
function collect(columns: number | undefined) {
  const chunks: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(String(chunk));
      done();
    },
  });
  const size = columns === undefined ? {} : { columns, isTTY: true };
  return Object.assign(stream, size, { text: () => chunks.join("") });
}

describe("the output about failures", () => {
  const home = mkdtempSync(join(tmpdir(), "redrive-seen-"));
  const env = { ...process.env, REDRIVE_HOME: home, NO_COLOR: "1", USER: "ann" };

  /** Runs a command in a terminal of this width, or with its output going to a file. */
  async function run(columns: number | undefined, ...argv: string[]): Promise<string> {
    const [stdout, stderr] = [collect(columns), collect(columns)];
    await runCli(argv, { version: "0", env, cwd: home, stdin: Readable.from([]), ...{ stdout, stderr } });
    return masked(stdout.text() || stderr.text());
  }

  /** Replaces random names, and signatures, which change with the algorithm, with texts of the same width. */
  function masked(text: string): string {
    return text
      .replaceAll(home, "HOME")
      .replace(/ after [\d.]+ \w+ /g, " after 5 ms ")
      .replace(/\b(orders|build)-[0-9a-z]{8}\b/g, "$1-00000000")
      .replace(/\b[0-9a-f]{16}\b/g, "0123456789abcdef")
      .replace(/^[0-9a-f]{8}(?= {2})/gm, "01234567");
  }

  beforeAll(async () => {
    vi.stubEnv("REDRIVE_LAUNCHER", "spawn"); // the native launcher compares times with the clock of the machine
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 10, 4, 12, 30) });
    writeFileSync(join(home, "shop.sh"), SHOP);
    writeFileSync(join(home, "build.sh"), BUILD);
    const orders = Array.from({ length: 8 }, (_, index) => ({
      order: `ord-100${index + 1}`,
      url: `https://shop.example/orders/100${index + 1}?expand=customer,lines`,
    }));
    writeFileSync(join(home, "orders.jsonl"), orders.map((order) => `${JSON.stringify(order)}\n`).join(""));
    const files = ["cart.tsx", "total.tsx", "agent.md"].map((name) => `${DEEP}/${name}\n`);
    writeFileSync(join(home, "files.txt"), files.join(""));
    const map = ["map", "-j", "1", "--retries", "0"];
    await run(
      undefined,
      ...map,
      "-i",
      "orders.jsonl",
      "--name",
      "orders",
      "--",
      "sh",
      "shop.sh",
      "${item.order}",
    );
    await run(undefined, ...map, "-i", "files.txt", "--name", "build", "--", "sh", "build.sh", "{}");
  });

  afterAll(() => {
    vi.useRealTimers();
    vi.unstubAllEnvs();
    rmSync(home, { recursive: true, force: true });
  });

  it.each([
    ["summary", ["status", "orders"]],
    ["groups-list", ["groups", "list"]],
    ["dlq-list", ["dlq", "list"]],
    ["dlq-list-of-one-job", ["dlq", "list", "orders"]],
    ["dlq-analyze", ["dlq", "analyze"]],
    ["dlq-retry-dry-run", ["dlq", "retry", "orders", "--dry-run"]],
    ["dlq-discard-dry-run", ["dlq", "discard", "--job", "orders", "--reason", "old", "--dry-run"]],
    ["errors", ["errors"]],
    ["dlq-inspect", ["dlq", "inspect", `${DEEP}/cart.tsx`]],
  ])("%s", async (name, argv) => {
    const parts: string[] = [];
    for (const columns of WIDTHS) parts.push(`--- ${columns} columns\n${await run(columns, ...argv)}`);
    parts.push(`--- no terminal\n${await run(undefined, ...argv)}`);
    await expect(parts.join("\n")).toMatchFileSnapshot(`golden/${name}.txt`);
  });

  it.each(WIDTHS)(
    "shows different failures differently at %i columns, and every line fits",
    async (columns) => {
      for (const argv of [
        ["status", "orders"],
        ["groups", "list"],
        ["dlq", "analyze"],
        ["dlq", "retry", "orders", "--dry-run"],
        ["dlq", "list"],
        ["errors"],
      ]) {
        const text = await run(columns, ...argv);
        for (const code of ["422", "500", "400"])
          expect(text, argv.join(" ")).toMatch(new RegExp(`${code}\\s`));
        const lines = text.split("\n").filter((line) => !line.startsWith("  redrive "));
        expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
      }
    },
  );

  it("cuts nothing if stdout is not a terminal", async () => {
    for (const argv of [
      ["groups", "list"],
      ["dlq", "analyze"],
      ["dlq", "list"],
      ["errors"],
      ["dlq", "retry", "orders", "--dry-run"],
    ]) {
      expect(await run(undefined, ...argv)).not.toContain("…");
    }
    const list = await run(undefined, "dlq", "list");
    expect(list).toContain(
      `${DEEP}/total.tsx(3,17): error TS2345: Argument of type 'number' is not assignable to parameter of type 'OrderId'.`,
    );
  });

  it("has ids that are accepted by the commands that take an item", async () => {
    const list = await run(100, "dlq", "list", "orders");
    const [, id = ""] = /order=ord-1003 .* ([0-9a-z]{8}) /.exec(list) ?? [];
    expect(id).toHaveLength(8);
    expect(JSON.parse(await run(100, "dlq", "inspect", id, "--json"))).toMatchObject({
      item_data: { order: "ord-1003" },
    });
    expect(await run(100, "dlq", "retry", "orders", id, "--dry-run")).toContain("Would retry 1 letter");
    expect(await run(100, "logs", "orders", id)).toContain("error: 400");
  });

  it("has a title and a location beside pattern and signature in JSON documents", async () => {
    const group = {
      title: "The requested URL returned error: 422",
      location: "curl · exit 22",
      pattern: expect.stringContaining("CommandFailed::"),
      signature: expect.any(String),
    };
    const read = async (...argv: string[]) => JSON.parse(await run(undefined, ...argv, "--json"));
    expect((await read("status", "orders")).groups).toContainEqual(expect.objectContaining(group));
    expect((await read("groups", "list")).groups).toContainEqual(expect.objectContaining(group));
    expect((await read("dlq", "analyze")).pattern_groups).toContainEqual(expect.objectContaining(group));
    expect((await read("dlq", "retry", "orders", "--dry-run")).groups).toContainEqual(
      expect.objectContaining(group),
    );
    expect(
      (await read("dlq", "discard", "--job", "orders", "--reason", "old", "--dry-run")).groups,
    ).toContainEqual(expect.objectContaining(group));
  });
});
