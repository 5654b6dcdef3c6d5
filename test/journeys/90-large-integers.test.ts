/** Integers beyond 2^53 through the command line: from every input to every output with the same digits, as integers. */
import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openWorkshop } from "./workshop.ts";

const ORDER = "9007199254740993";
const LARGER = "123456789012345678901234567890";

describe("integers beyond 2^53", () => {
  it("reach a command with their digits and stay integers in letters, filters, edits, exports and imports", async () => {
    const shop = openWorkshop();
    const lines = `{"id":${ORDER},"tag":"a"}\n{"id":${LARGER},"tag":"b"}\n{"id":9007199254740992,"tag":"c"}\n`;
    const script = 'echo "$1" >> ledger; echo "$2" >> ledger; exit 1';
    const command = ["sh", "-c", script, "sh", "${item.id}", "${item}"];
    const flags = [
      "--input",
      "-",
      "--format",
      "jsonl",
      "-j",
      "1",
      "--retries",
      "0",
      "--name",
      "big",
      "--json",
    ];
    const run = await shop.run(["map", ...flags, "--", ...command], { stdin: lines });
    expect(run.code).toBe(3);
    expect(shop.lines("ledger")).toContain(ORDER);
    expect(shop.lines("ledger")).toContain(LARGER);
    expect(shop.lines("ledger")).toContain(`{"id":${ORDER},"tag":"a"}`);
    const job = run.json<{ job_id: string }>().job_id;

    const found = await shop.run(["dlq", "list", "--job", job, "--filter", `item.id == ${ORDER}`, "--json"]);
    expect(found.json<{ total: number }>().total).toBe(1);
    expect(found.stdout).toMatch(new RegExp(`"id": ${ORDER},`));

    const edit = [
      "dlq",
      "edit",
      "--job",
      job,
      "--filter",
      'item.tag == "a"',
      "--set",
      "next=item.id + 1",
      "--yes",
    ];
    expect((await shop.run(edit)).code).toBe(0);
    expect((await shop.run([...edit.slice(0, -3), "--patch", `{"more":-${LARGER}}`, "--yes"])).code).toBe(0);

    for (const format of ["json", "jsonl", "csv"]) {
      const file = `letters.${format}`;
      expect((await shop.run(["dlq", "export", file, "--job", job, "--format", format])).code).toBe(0);
      const text = shop.read(file).replaceAll('""', '"');
      expect(text).toContain(`{"id":${ORDER},"tag":"a","next":9007199254740994,"more":-${LARGER}}`);
      const copy = `copy-${format}`;
      expect((await shop.run(["dlq", "import", file, "--job", copy])).code).toBe(0);
      const listed = await shop.run(["dlq", "list", "--job", copy, "--filter", 'item.tag == "a"', "--json"]);
      for (const digits of [ORDER, "9007199254740994", `-${LARGER}`])
        expect(listed.stdout).toMatch(new RegExp(`: ${digits}\\b`));
    }

    shop.write("ledger", "");
    await shop.run(["dlq", "retry", job, "--filter", 'item.tag == "a"', "--yes"]);
    expect(shop.lines("ledger")).toContain(
      `{"id":${ORDER},"tag":"a","next":9007199254740994,"more":-${LARGER}}`,
    );
  });

  it("pass through a JSON path, sorting, a queue and the letter directory", async () => {
    const shop = openWorkshop();
    shop.write("in.json", `{"orders":[{"id":${LARGER}},{"id":${ORDER}},{"id":7}]}`);
    shop.write(
      "flow.yml",
      `name: flow
mode: mapreduce
map:
  input: in.json
  json_path: $.orders[*]
  sort_by: item.id
  max_parallel: 1
  isolation: none
  agent_template:
    - shell: "echo \${item.id} >> ledger; exit 1"
error_policy: {retry_config: {max_attempts: 1}}
`,
    );
    expect((await shop.run(["run", "flow.yml"])).code).toBe(3);
    expect(shop.lines("ledger")).toEqual(["7", ORDER, LARGER]);
    expect((await shop.run(["dlq", "mirror", "--dlq-dir", "mirror"])).code).toBe(0);
    const files = readdirSync(shop.path("mirror"), { recursive: true }).map(String);
    const letters = files
      .filter((file) => /items.*json$/.test(file))
      .map((file) => shop.read(`mirror/${file}`));
    for (const digits of ["7", ORDER, LARGER])
      expect(letters.filter((text) => new RegExp(`"id": ${digits}\\b`).test(text))).toHaveLength(1);

    expect((await shop.run(["queue", "create", "orders"])).code).toBe(0);
    expect((await shop.run(["queue", "add", "orders", "--data", `{"id":${ORDER}}`])).code).toBe(0);
    const items = await shop.run(["queue", "items", "orders", "--json"]);
    expect(items.stdout).toMatch(new RegExp(`"id": ${ORDER}\\b`));
  });
});
