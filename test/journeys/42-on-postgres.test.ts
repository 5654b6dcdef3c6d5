/**
 * The same commands on a PostgreSQL store have the same output and effects as on a file. Every journey of this
 * folder runs on PostgreSQL with `REDRIVE_TEST_STORE=postgres npx vitest run test/journeys`; these always do.
 */
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { until } from "../support/until.ts";
import { asJsonLines, openWorkshop, SOUND, upTo, type Workshop } from "./workshop.ts";

/** A command line, and its output. */
type Line = readonly [command: string, code: number | null, stdout: string, stderr: string];

/** Runs the command lines one after another, and removes what differs between runs from their output. */
class Transcript {
  readonly lines: Line[] = [];
  readonly shop: Workshop;

  constructor(shop: Workshop) {
    this.shop = shop;
  }

  /** Returns what was really printed. */
  async type(args: readonly string[], stdin = ""): Promise<string> {
    const { code, stdout, stderr } = await this.shop.run(args, { stdin });
    this.lines.push([this.#same(args.join(" ")), code, this.#same(stdout), this.#same(stderr)]);
    return stdout;
  }

  async each(...lines: readonly string[]): Promise<void> {
    for (const line of lines) await this.type(line.split(" "));
  }

  async operation(...args: string[]): Promise<string> {
    return (JSON.parse(await this.type([...args, "--json"])) as { operation_id: string }).operation_id;
  }

  #same(text: string): string {
    return text
      .replaceAll(this.shop.home, "HOME")
      .replace(/^redrive: waiting for the store: .*\n/gm, "") // on a busy machine
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "TIME")
      .replace(/\b(\d\d-)?\d\d-\d\d \d\d:\d\d(:\d\d)?\b/g, "TIME")
      .replace(/\b(\d+m )?[\d.]+ ?(ms|s|min)\b/g, "LONG")
      .replace(/\b[\d.,]+\/(s|min|h)\b/g, "FAST")
      .replace(/("(?:[a-z_]+_ms|duration_seconds|pid|id)": |_seconds[^ \n]* )[\d.]+/g, "$1N")
      .replace(/("next": )"\d+"/g, "$1N")
      .replace(/("p\d\d": )\d+/g, "$1N")
      .replace(/\b[\w.-]+:\d+:[a-z0-9]{6}(\/\d+)?\b/g, "HOLDER")
      .replace(/(bytes": |-)\d+(?=,?\n)/g, "$1N")
      .replace(/\b(ship|op)-[a-z0-9]{8,}\b/g, "$1-ID")
      .replace(/ +/g, " ")
      .replace(/-{2,}|─+/g, "-");
  }
}

/** Does the same in both stores at once. */
async function inBoth(
  story: (transcript: Transcript) => Promise<void>,
): Promise<readonly [Transcript, Transcript]> {
  const transcripts = [false, true].map((onPostgres) => new Transcript(openWorkshop({ onPostgres })));
  await Promise.all(transcripts.map(story));
  const [inFile, onServer] = transcripts as [Transcript, Transcript];
  expect(onServer.shop.isOnPostgres).toBe(true);
  return [inFile, onServer];
}

const MAP =
  'echo "$1" >> $L; case "$1" in *bad*) [ -e $L.mended ] || { echo "no route" >&2; exit 4; };; esac';

describe("a job on PostgreSQL", () => {
  it("is mapped, fails, is inspected, corrected, retried, discarded and undone like in a file", async () => {
    const [inFile, onServer] = await inBoth(async (transcript) => {
      const { shop } = transcript;
      const items = ["a", "bad1", "b", "bad2", "ключ bad 3 🎉"].map((id, n) => ({ id, n }));
      const flags = ["--name", "ship", "-j", "1", "--retries", "1", "--backoff", "none", "--id-field", "id"];
      flags.push("--max-failures", "100"); // with a limit nothing is leased ahead, so that the events have one order
      await transcript.type(shop.mapArgs(MAP, flags), asJsonLines(items));
      await transcript.each(
        "jobs",
        "status ship",
        "dlq list",
        "dlq list --type CommandFailed --json",
        "dlq stats",
      );
      await transcript.each(
        "dlq inspect bad1",
        "groups",
        "errors",
        "errors --json --limit 2",
        "logs ship bad1",
      );
      await transcript.type(["dlq", "list", "--json", "--filter", "item.n > 2"]);
      const edit = await transcript.operation("dlq", "edit", "bad1", "--patch", '{"n": 100}', "--yes");
      await transcript.type(["ops", "undo", edit, "--yes"]);
      await transcript.type(["dlq", "discard", "bad2", "--reason", "no use"]);
      await transcript.each("dlq list --state all", "dlq restore bad2 --yes", "dlq retry ship bad1");
      shop.write("ledger.mended", "");
      // With --force, because a letter that failed again waits: whether it is due before the others would depend on
      // the machine's speed.
      await transcript.each("dlq retry ship --force --json", "dlq list", "status ship --json");
      await transcript.each("dlq inspect bad2 --json");
      await transcript.each("events ship --limit 200", "metrics", "ops", "jobs --json", "store check");
      await transcript.each("dlq retry ship");
    });
    expect(onServer.lines).toEqual(inFile.lines);
    expect(onServer.shop.ledger.map((line) => JSON.parse(line).id)).toEqual(
      inFile.shop.ledger.map((line) => JSON.parse(line).id),
    );
    expect(await onServer.shop.letters()).toEqual([]);
  }, 120_000);
});

const WORK = 'echo "$REDRIVE_ITEM_ID" >> $L; case "$1" in -*) echo "negative" >&2; exit 4;; esac';

describe("a queue on PostgreSQL", () => {
  it("is created, filled, paused, processed, and its letters are corrected and requeued like in a file", async () => {
    const [inFile, onServer] = await inBoth(async (transcript) => {
      const { shop } = transcript;
      const script = ["--", "sh", "-c", `L=${shop.ledgerPath}; ${WORK}`, "sh", "${item.amount}"];
      const drain = ["worker", "--queue", "bills", "--drain", "-j", "1", "--quiet", "--json", ...script];
      await transcript.each("queue", "queue create bills --max-retries 1 --backoff none --rate 1000/s");
      const rows =
        '{"id":"a","amount":1}\n{"id":"b","amount":-2}\nnope\n{"id":"a","amount":3}\n{"amount":4}\n';
      await transcript.type(["queue", "import", "bills", "-", "--key-field", "id"], rows);
      await transcript.type([
        "queue",
        "add",
        "bills",
        "--data",
        '{"amount": -9}',
        "--key",
        "c",
        "--priority",
        "high",
      ]);
      await transcript.each("queue pause bills --reason lunch", "queue show bills", "queue resume bills");
      await transcript.each(
        "queue hold bills a --reason wait",
        "queue items bills",
        "queue hold bills nobody",
      );
      await transcript.type(drain);
      await transcript.each(
        "queue release bills a",
        "queue show bills c",
        "queue list",
        "errors --queue bills --json",
      );
      await transcript.type(drain);
      await transcript.each(
        "dlq list bills",
        "groups --queue bills",
        "dlq note b --queue bills --text looked",
      );
      await transcript.type([
        "dlq",
        "retry",
        "bills",
        "b",
        "--as-new",
        "--patch",
        '{"amount": 2}',
        "--yes",
        "--json",
      ]);
      await transcript.type([
        "dlq",
        "edit",
        "c",
        "--queue",
        "bills",
        "--set",
        "amount=0 - item.amount",
        "--yes",
      ]);
      await transcript.type(["dlq", "retry", "bills", "--yes"]);
      await transcript.type(drain);
      await transcript.each(
        "queue show bills --json",
        "queue show bills b~2",
        "dlq inspect b --queue bills --json",
      );
      await transcript.each(
        "metrics",
        "events bills --limit 200",
        "errors --format error-body",
        "store check",
      );
    });
    expect(onServer.lines).toEqual(inFile.lines);
    expect(onServer.shop.ledger).toEqual(inFile.shop.ledger);
    expect(onServer.lines.at(-1)?.[2]).toBe(SOUND);
  }, 120_000);

  it("is processed by ten workers at once, one of them killed: every item once, nothing left", async () => {
    const shop = openWorkshop({ onPostgres: true });
    await shop.run(["queue", "create", "bills", "--lease", "3s"]);
    await shop.run(["queue", "import", "bills", "-", "--key-field", "id"], {
      stdin: asJsonLines(upTo(60).map((id) => ({ id: String(id) }))),
    });
    const script = `[ "$1" != 1 ] || [ -e $L.killed ] || { touch $L.begun; exec sleep 60; }; echo "$1" >> $L`;
    const work = ["--", "sh", "-c", `L=${shop.ledgerPath}; ${script}`, "sh", "${item.id}"];
    const start = () => shop.start(["worker", "--queue", "bills", "--drain", "-j", "1", "-q", ...work]);
    const first = start();
    await until("the first works at an item", () => existsSync(shop.path("ledger.begun")));
    const others = upTo(9).map(start);
    shop.write("ledger.killed", "");
    first.signal("SIGKILL");
    for (const worker of others) expect((await worker.ended).code).toBe(0);
    expect(shop.ledger.map(Number).sort((a, b) => a - b)).toEqual(upTo(60));
    const { counts, workers } = await shop.json<{ counts: object; workers: object }>(
      "queue",
      "show",
      "bills",
    );
    expect([counts, workers]).toEqual([expect.objectContaining({ done: 60, attempts: 61, letters: 0 }), []]);
    expect(await shop.check()).toBe(SOUND);
  });
});

describe("an unavailable PostgreSQL server", () => {
  it("is waited for by a worker, which ends when it is asked to: nothing was started", async () => {
    const shop = openWorkshop();
    const away = "postgres://me@127.0.0.1:1/test";
    const worker = shop.start(["worker", "--queue", "q", "--store", away, "--", "true"]);
    await worker.untilStderr("waiting: The store postgres://me@127.0.0.1:1/test cannot be reached");
    worker.signal("SIGINT");
    const { code, stderr } = await worker.ended;
    expect([code, stderr.match(/cannot be reached/g)]).toEqual([130, ["cannot be reached"]]);
  });

  it.each([
    ["nobody listens", "postgres://me:s3cret@127.0.0.1:1/test", 75, /cannot be reached \(.*ECONNREFUSED/],
    [
      "a parameter is misspelt",
      "postgres://me:s3cret@127.0.0.1:1/test?schmea=x",
      2,
      /"schmea"\. Did you mean schema\?/,
    ],
    ["its name is misspelt", "postgre://me:s3cret@127.0.0.1:1/test", 2, /"postgre:\/\/me:\*\*\*@127/],
    [
      "a certificate is missing",
      "postgres://127.0.0.1:1/t?sslrootcert=/no.pem",
      2,
      /cannot be read .*\/no\.pem/,
    ],
  ])("because %s is told in two lines, without the password", async (_why, store, code, words) => {
    const shop = openWorkshop();
    for (const args of [["queue", "list"], ["metrics"], ["worker", "--store-wait", "1ms"]]) {
      const ended = await shop.run([
        ...args,
        "--store",
        store,
        ...(args[0] === "worker" ? ["--", "true"] : []),
      ]);
      expect([args, ended.code, ended.stdout]).toEqual([args, code, ""]);
      expect(ended.stderr).toMatch(words);
      expect(ended.stderr).not.toContain("s3cret");
      expect(ended.stderr).not.toMatch(/^ {4}at /m);
    }
  });
});
