/** The record of a failed attempt, and what a command can report about its own failure. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openWorkshop, type Summary } from "./workshop.ts";

const report = (json: object) => `printf '%s' '${JSON.stringify(json)}' > "$REDRIVE_FAILURE_FILE"`;

describe("a failed attempt", () => {
  it("is kept with its message, exit code, step, tails, log and duration", async () => {
    const shop = openWorkshop();
    const script = 'echo "to stdout"; echo "error: cannot open $1" >&2; exit 17';
    await shop.map(["a.md"], script, ["--retries", "1", "--backoff", "none"]);
    const [letter] = await shop.letters();
    expect(letter).toMatchObject({ item_data: "a.md", state: "dead", failure_count: 2, redrive_count: 0 });
    expect(letter?.reason).toBe("out of retries (2 of 2 attempts used)");
    expect(letter?.failure_history.map((failure) => failure.attempt_number)).toEqual([1, 2]);
    const [failure] = letter?.failure_history ?? [];
    expect(failure).toMatchObject({
      error_type: { CommandFailed: { exit_code: 17, command: "sh" } },
      error_class: "unknown",
      error_message: "sh failed with exit code 17: error: cannot open a.md",
      exit_code: 17,
      stdout_tail: "to stdout\n",
      stderr_tail: "error: cannot open a.md\n",
    });
    expect(failure?.step_failed).toMatch(/^command: sh -c .* sh a\.md$/);
    expect(failure?.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const log = readFileSync(failure?.log ?? "", "utf8");
    expect(log).toContain("to stdout\n");
    expect(log).toContain("error: cannot open a.md\n");
  });

  it("is named by its error line, even hundreds of lines before the last one", async () => {
    const shop = openWorkshop();
    const script = 'echo "error: lost the $1"; seq -f "step %05.0f is skipped" 1 1000; exit 4';
    await shop.map(["key"], script, ["--retries", "0"]);
    const [letter] = await shop.letters();
    const [failure] = letter?.failure_history ?? [];
    expect(failure?.error_message).toBe("sh failed with exit code 4: error: lost the key");
    expect(failure?.stdout_tail).not.toContain("error: lost");
    expect(failure?.stdout_tail?.length).toBeLessThan(10_000);
  });

  it("by a signal names it", async () => {
    const shop = openWorkshop();
    await shop.map([1], "kill -SEGV $$", ["--retries", "0"]);
    const [letter] = await shop.letters();
    expect(letter?.failure_history[0]).toMatchObject({
      signal: "SIGSEGV",
      error_type: { CommandFailed: { signal: "SIGSEGV" } },
    });
    expect(letter?.failure_history[0]?.error_message).toContain("was killed by SIGSEGV");
  });

  it("with exit code 75 is transient: it is retried and may succeed", async () => {
    const shop = openWorkshop();
    const script = 'echo "$REDRIVE_ATTEMPT" >> $L; [ "$REDRIVE_ATTEMPT" = 3 ] || exit 75';
    const summary = await shop.mapJson([1], script, ["--backoff", "none"]);
    expect(summary).toMatchObject({ succeeded: 1, attempts: 3 });
    expect(shop.ledger).toEqual(["1", "2", "3"]);
    const failed = await shop.events("--type", "attempt_failed");
    expect(failed.map((event) => event.data?.error_class)).toEqual(["transient", "transient"]);
  });

  it("is in one group with others that failed in the same way, whatever their item", async () => {
    const shop = openWorkshop();
    const script =
      'case $1 in *5) echo "disk /dev/sd$1 is gone" >&2;; *) echo "no route to host 10.0.0.$1" >&2;; esac; exit 1';
    const summary = await shop.mapJson([11, 12, 13, 15, 25], script, ["--retries", "0"]);
    expect(summary.groups.map((group) => group.count)).toEqual([3, 2]);
    expect(summary.groups[0]?.pattern).toContain("no route to host");
  });
});

describe("REDRIVE_FAILURE_FILE", () => {
  it("sets type, class, message, context and evidence, and precedes the exit code", async () => {
    const shop = openWorkshop();
    const said = {
      type: "ITException",
      class: "transient",
      message: "the order service answered nonsense",
      context: ["loading order 7", "calling the order service"],
      evidence: ["shots/7.png"],
    };
    await shop.map([7], `${report(said)}; exit 3`, ["--retries", "0"]);
    const [letter] = await shop.letters();
    expect(letter?.failure_history[0]).toMatchObject({
      error_type: "ITException",
      error_class: "transient",
      error_message: "the order service answered nonsense",
      error_context: ["loading order 7", "calling the order service"],
      evidence: [{ path: shop.path("shots/7.png"), missing: true }],
      exit_code: 3,
    });
    const { stdout } = await shop.run(["dlq", "inspect", letter?.item_id ?? ""]);
    expect(stdout).toContain("calling the order service");
    expect(stdout).toContain(`evidence: ${shop.path("shots/7.png")} (missing)`);
  });

  it("with a permanent class is not retried, and needs --force to be redriven", async () => {
    const shop = openWorkshop();
    const script = `echo x >> $L; ${report({ class: "permanent", message: "no such customer" })}; exit 1`;
    await shop.map([1], script, ["--retries", "5", "--backoff", "none"]);
    expect(shop.ledger).toEqual(["x"]);
    const [letter] = await shop.letters();
    expect(letter).toMatchObject({
      reason: "permanent failure (CommandFailed), not retried",
      reprocess_eligible: false,
    });
  });

  it.each(["BusinessException", "PermissionError"])("with type %s asks for a person", async (type) => {
    const shop = openWorkshop();
    await shop.map([1], `${report({ type })}; exit 1`, ["--retries", "5"]);
    const [letter] = await shop.letters();
    expect(letter).toMatchObject({
      failure_count: 1,
      reprocess_eligible: false,
      manual_review_required: true,
    });
    expect((await shop.run(["dlq", "list"])).stdout).toMatch(new RegExp(`^${type} .*needs manual review\n`));
  });

  it("throttled with retry_after and --on-outage wait parks the item without counting its only attempt", async () => {
    const shop = openWorkshop();
    const said = report({ class: "throttled", message: "slow down", retry_after: 1.2 });
    const script = `echo "$REDRIVE_ATTEMPT" >> $L; [ "$REDRIVE_ATTEMPT" != 1 ] || { ${said}; exit 1; }`;
    const summary = await shop.mapJson([1], script, ["--retries", "0", "--on-outage", "wait"]);
    expect(summary).toMatchObject({ succeeded: 1, dead: 0, attempts: 2 });
    const [parked] = await shop.events("--type", "attempt_parked");
    expect(parked?.data).toEqual({ delay_ms: 1200 });
  });

  it("that is not JSON does not hide the failure, and is reported", async () => {
    const shop = openWorkshop();
    await shop.map([1], 'echo "{broken" > "$REDRIVE_FAILURE_FILE"; exit 4', ["--retries", "0"]);
    const [letter] = await shop.letters();
    expect(letter?.failure_history[0]).toMatchObject({ exit_code: 4 });
    expect(letter?.failure_history[0]?.error_message).toContain("exit code 4");
    expect(letter?.failure_history[0]?.error_message).toContain("its failure report is not valid JSON");
  });

  it("of a success is not read for the next item in the same slot", async () => {
    const shop = openWorkshop();
    const script = `if [ $1 = 1 ]; then ${report({ message: "left behind" })}; else exit 1; fi`;
    const result = await shop.map([1, 2], script, ["-j", "1", "--retries", "0", "--json"]);
    expect(result.json<Summary>()).toMatchObject({ succeeded: 1, dead: 1 });
    const [letter] = await shop.letters();
    expect(letter?.failure_history[0]?.error_message).toBe("sh failed with exit code 1");
  });
});
