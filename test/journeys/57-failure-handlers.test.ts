/** What decides about a failed item: its attempts, a handler of the user, and the type of the failure. */
import { describe, expect, it } from "vitest";
import { itemsJson, openFolder, plainMap } from "./project.ts";
import { openWorkshop, SOUND, type Summary, type Workshop } from "./workshop.ts";

const AT_ONCE = { backoff: "fixed", initial_delay: "1ms" };
const NO_WAIT = ["--retries", "0", "--backoff", "none"];

type Noted = { readonly notes?: readonly { readonly author: string; readonly text: string }[] };

async function notesOf(workshop: Workshop): Promise<readonly string[]> {
  return (await workshop.letters()).flatMap((letter) =>
    ((letter as Noted).notes ?? []).map(({ text }) => text),
  );
}

describe("ValidationFailed", () => {
  it("of a step's validate is tried max_attempts times", async () => {
    const project = openFolder(itemsJson("a"));
    const validate = { shell: "echo checked >> $L; exit 1" };
    const steps = [{ shell: "echo work >> $L", validate }];
    const error_policy = { retry_config: { max_attempts: 3, ...AT_ONCE } };
    const summary = await project.runJson({ map: plainMap(steps), error_policy });
    expect(summary).toMatchObject({ dead: 1, attempts: 3 });
    const letter = await project.onlyLetter();
    expect(letter.failure_history.map(({ error_type }) => error_type)).toEqual(
      Array(3).fill("ValidationFailed"),
    );
    expect(letter).toMatchObject({
      reason: "out of retries (3 of 3 attempts used)",
      manual_review_required: true,
    });
  });

  it("that a command reports is retried, unless it reports the class permanent", async () => {
    const shop = openWorkshop();
    const report = `[ "$1" = 2 ] && c=permanent || c=unknown
      printf '{"type":"ValidationFailed","class":"%s"}' $c > "$REDRIVE_FAILURE_FILE"; exit 1`;
    await shop.map([1, 2], report, ["--retries", "2", "--backoff", "none"]);
    const counts = (await shop.letters()).map((one) => [one.item_data, one.failure_count]);
    expect(Object.fromEntries(counts)).toEqual({ "1": 3, "2": 1 });
  });

  it("of an item that lacks a field of the command is not retried", async () => {
    const shop = openWorkshop();
    shop.write("items.jsonl", '{"b": 1}\n{"a": 1}\n');
    await shop.run(["map", "--input", "items.jsonl", ...NO_WAIT, "--", "echo", "${item.a}"]);
    expect(await shop.letters()).toMatchObject([
      { failure_count: 1, reason: "permanent failure (ValidationFailed), not retried" },
    ]);
  });
});

describe("a custom handler that fails", () => {
  it("leaves an event, and its output and exit code with the letter", async () => {
    const project = openFolder(itemsJson("a"));
    const custom = [{ shell: "echo asked; echo no pager here >&2; exit 7" }];
    const error_policy = { on_item_failure: { custom }, retry_config: { max_attempts: 1 } };
    const { job_id } = await project.runJson({ map: plainMap("exit 9"), error_policy });
    const [event] = await project.events("--type", "handler_failed");
    expect(event).toMatchObject({ job_id, item_id: "a", data: { exit_code: 7 } });
    expect(event?.data?.message).toContain("failed with exit code 7: no pager here");
    const [note = ""] = await notesOf(project);
    expect(note).toContain("exit code 7");
    expect(note).toContain("no pager here");
    const shown = await project.do("dlq", "inspect", "a");
    expect(shown.stdout).toContain("no pager here");
    expect(await project.check()).toBe(SOUND);
  });
});

describe("--on-failure-command of a map", () => {
  it("gets the item and the failure; exit code 0 means handled, without a letter", async () => {
    const shop = openWorkshop();
    const told = '"$REDRIVE_ITEM $REDRIVE_ERROR_TYPE $REDRIVE_ERROR_EXIT_CODE"';
    const handler = `cat > failure.json; echo ${told} >> ${shop.ledgerPath}`;
    const result = await shop.map([1, 2], "[ $1 = 2 ] || exit 9", [
      ...NO_WAIT,
      "--on-failure-command",
      handler,
      "--json",
    ]);
    expect(result.code).toBe(0);
    expect(result.json<Summary>()).toMatchObject({ succeeded: 1, skipped: 1, dead: 0 });
    expect(shop.ledger).toEqual(["1 CommandFailed 9"]);
    expect(JSON.parse(shop.read("failure.json"))).toMatchObject({ exit_code: 9, attempt_number: 1 });
  });

  it("exit code 75 retries; any other code is a letter with the handler's output", async () => {
    const shop = openWorkshop();
    const work = "[ $1 = 1 ] && [ -e mended ]";
    const handler = '[ "$REDRIVE_ITEM" = 1 ] && { touch mended; exit 75; }; echo cannot mend >&2; exit 3';
    const summary = await shop.mapJson([1, 2], work, [
      ...NO_WAIT,
      "-j",
      "1",
      "--on-failure-command",
      handler,
    ]);
    expect(summary).toMatchObject({ succeeded: 1, dead: 1, attempts: 3 });
    const [note = ""] = await notesOf(shop);
    expect(note).toMatch(/exit code 3[\s\S]*cannot mend/);
    expect(await shop.events("--type", "handler_failed")).toMatchObject([{ data: { exit_code: 3 } }]);
  });

  it("excludes another --on-failure", async () => {
    const flags = ["--on-failure", "skip", "--on-failure-command", "true"];
    const { code, stderr } = await openWorkshop().map([1], "true", flags);
    expect([code, stderr]).toEqual([2, expect.stringContaining("cannot be used together")]);
  });
});

it("--on-failure-command of a worker decides about the items of its queues", async () => {
  const shop = openWorkshop();
  await shop.run(["queue", "create", "orders", "--max-retries", "0"]);
  await shop.run(["queue", "add", "orders", "--data", '{"id": 1}']);
  await shop.run(["queue", "add", "orders", "--data", '{"id": 2}']);
  const handler = 'case "$REDRIVE_ITEM" in *1*) exit 0;; esac; echo not mine >&2; exit 4';
  const worker = ["worker", "--queue", "orders", "--drain", "--on-failure-command", handler, "--", "false"];
  expect((await shop.run(worker)).code).toBe(3);
  expect(await shop.letters()).toMatchObject([{ item_data: { id: 2 } }]);
  expect((await notesOf(shop))[0]).toContain("not mine");
});

describe("the type of a command's failure", () => {
  it("is read from its error line and from a SIGKILL of the kernel", async () => {
    const shop = openWorkshop();
    const work = `case $1 in
      1) echo "cat: /etc/shadow: Permission denied" >&2; exit 1;;
      2) echo "curl: (28) Operation timed out after 5000 ms" >&2; exit 28;;
      3) echo "cp: error writing 'x': No space left on device" >&2; exit 1;;
      4) kill -9 $$;;
      5) echo "5 rows are wrong" >&2; exit 1;;
    esac`;
    await shop.map([1, 2, 3, 4, 5], work, ["--retries", "1", "--backoff", "none"]);
    const letters = await shop.letters();
    const kinds = letters.map((one) => [
      one.item_data,
      [nameOf(one.failure_history.at(-1)?.error_type), one.failure_count, one.reprocess_eligible],
    ]);
    expect(Object.fromEntries(kinds)).toEqual({
      "1": ["PermissionError", 1, false],
      "2": ["Timeout", 2, true],
      "3": ["ResourceExhausted", 2, true],
      "4": ["ResourceExhausted", 2, true],
      "5": ["CommandFailed", 2, true],
    });
  });

  it("can be corrected by the rules of redrive.yml, and decides about retries", async () => {
    const shop = openWorkshop();
    shop.write(
      "redrive.yml",
      `classify:
  - { match: { exit_code: 9, text: no such order }, type: BusinessException }
  - { match: { pattern: 'licen[cs]e server', exit_code: [7, 8] }, class: permanent }
`,
    );
    const work = `case $1 in
      1) echo "No such order" >&2; exit 9;;
      2) echo "no license server" >&2; exit 8;;
      3) echo "no license server" >&2; exit 1;;
    esac`;
    await shop.map([1, 2, 3], work, ["--retries", "1", "--backoff", "none"]);
    const kinds = (await shop.letters()).map((one) => {
      const failure = one.failure_history.at(-1);
      return [one.item_data, [nameOf(failure?.error_type), failure?.error_class, one.failure_count]];
    });
    expect(Object.fromEntries(kinds)).toEqual({
      "1": ["BusinessException", "permanent", 1],
      "2": ["CommandFailed", "permanent", 1],
      "3": ["CommandFailed", "unknown", 2],
    });
  });

  it("of a rule that changes nothing or matches everything is an error", async () => {
    const shop = openWorkshop();
    shop.write("redrive.yml", "classify: [{ match: {} }]");
    const { code, stderr } = await shop.map([1], "true", []);
    expect(code).toBe(2);
    expect(stderr).toContain("this changes nothing; add type, class or both");
    expect(stderr).toContain("this would match every failure");
  });
});

it("the stack trace in a command's output is in its failure", async () => {
  const shop = openWorkshop();
  shop.write(
    "load.mjs",
    "console.error('starting');\nfunction load() { throw new TypeError('no rows'); }\nload();\n",
  );
  await shop.run(["map", ...NO_WAIT, "--", process.execPath, shop.path("load.mjs")], { stdin: "1\n" });
  const [letter] = await shop.letters();
  const failure = letter?.failure_history[0] as { readonly stack_trace?: string } | undefined;
  expect(failure?.stack_trace).toMatch(/^TypeError: no rows\n {4}at load \(.*load\.mjs:2:/);
  expect((await shop.run(["dlq", "inspect", letter?.item_id ?? ""])).stdout).toContain("TypeError: no rows");
});

function nameOf(errorType: unknown): string {
  return typeof errorType === "string" ? errorType : (Object.keys(errorType ?? {})[0] ?? "");
}
