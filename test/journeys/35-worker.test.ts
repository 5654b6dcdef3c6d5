/** Workers: processes that process named queues with a command, start and stop, and are killed. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RunningCli } from "../support/cli.ts";
import { until } from "../support/until.ts";
import { itemsJson, mapOver, openFolder, openProject, plainMap } from "./project.ts";
import { asJsonLines, type ErrorJson, openWorkshop, SOUND, upTo, type Workshop } from "./workshop.ts";

type WorkerJson = {
  readonly queues: readonly {
    readonly queue: string;
    readonly end: string;
    readonly done: number;
    readonly dead: number;
    readonly released: number;
  }[];
};

const QUICK = ["--backoff", "fixed:1ms"];
const report = (type: string, message: string) =>
  `printf '%s' '${JSON.stringify({ type, message })}' > "$REDRIVE_FAILURE_FILE"`;

/** A shop with a queue and items `1` to `n` in it. */
async function openQueue(n: number, settings: readonly string[] = QUICK): Promise<Workshop> {
  const shop = openWorkshop();
  await makeQueue(shop, "orders", n, settings);
  return shop;
}

async function makeQueue(
  shop: Workshop,
  queue: string,
  n: number,
  settings: readonly string[],
): Promise<void> {
  expect((await shop.run(["queue", "create", queue, ...settings])).code).toBe(0);
  if (n > 0)
    await fill(
      shop,
      queue,
      upTo(n).map((id) => ({ id })),
    );
}

async function fill(shop: Workshop, queue: string, items: readonly object[]): Promise<void> {
  const given = ["queue", "import", queue, "-", "--format", "jsonl", "--key-field", "id"];
  expect((await shop.run(given, { stdin: asJsonLines(items) })).code).toBe(0);
}

/** A worker whose script has the item's id as `$1` and the ledger as `$L`. */
function workerArgs(shop: Workshop, script: string, flags: readonly string[]): string[] {
  const line = `L=${shop.ledgerPath}; ${script}`;
  return ["worker", ...flags, "--", "sh", "-c", line, "sh", "${item.id}"];
}

const startWorker = (shop: Workshop, script: string, ...flags: string[]): RunningCli =>
  shop.start(workerArgs(shop, script, ["--queue", "orders", ...flags]), { stdin: "" });
const drain = (shop: Workshop, script: string, ...flags: string[]) =>
  shop.run(workerArgs(shop, script, ["--queue", "orders", "--drain", ...flags]));

const show = (shop: Workshop, itemId: string) =>
  shop.json<{
    readonly state: string;
    readonly result?: unknown;
    readonly notes: readonly { readonly author: string; readonly text: string; readonly at: string }[];
    readonly attempt_history: readonly { readonly outcome: string }[];
  }>("queue", "show", "orders", itemId);

describe("redrive worker", () => {
  it("processes a queue, retries IT exceptions up to Max Retries, and never business exceptions", async () => {
    const shop = await openQueue(4, ["--max-retries", "2", ...QUICK]);
    const script = `echo "$1" >> $L
      case $1 in
        2) ${report("BusinessException", "no VAT id")}; exit 1;;
        3) ${report("ITException", "the portal is down")}; exit 1;;
        4) ${report("GenericException", "who knows")}; exit 1;;
      esac`;
    const { code, stderr } = await drain(shop, script, "-j", "1");
    expect(code).toBe(3);
    expect(stderr).toMatch(/1 done · 3 dead/);
    expect(shop.ledger.filter((line) => line === "2")).toHaveLength(1);
    expect(shop.ledger.filter((line) => line === "3")).toHaveLength(3);
    expect(shop.ledger.filter((line) => line === "4")).toHaveLength(3);
    const letters = await shop.letters("--queue", "orders");
    expect(letters.map(({ item_id, failure_count }) => [item_id, failure_count]).sort()).toEqual([
      ["2", 1],
      ["3", 3],
      ["4", 3],
    ]);
    expect(letters.find(({ item_id }) => item_id === "2")?.manual_review_required).toBe(true);
  });

  it("keeps what the command reports: a result, and notes with author and time", async () => {
    const shop = await openQueue(2);
    const script = `echo "looked at $1 of $REDRIVE_QUEUE" >> "$REDRIVE_NOTES_FILE"
      [ "$1" = 2 ] && exit 1
      echo '{"total": 7}' > "$REDRIVE_RESULT_FILE"`;
    await drain(shop, script, "--name", "robot-7");
    expect(await show(shop, "1")).toMatchObject({
      state: "done",
      result: { total: 7 },
      notes: [{ author: "robot-7", text: "looked at 1 of orders", at: expect.stringMatching(/^\d{4}-/) }],
    });
    expect((await show(shop, "2")).notes).toHaveLength(3);
  });

  it("prints one document, and exits with 0 if nothing died", async () => {
    const shop = await openQueue(3);
    const { code, stdout, json } = await drain(shop, "echo out", "--json");
    expect(code).toBe(0);
    expect(json<WorkerJson>().queues).toMatchObject([{ queue: "orders", end: "finished", done: 3, dead: 0 }]);
    expect(stdout).not.toContain("out\n");
  });

  it("prints the output of commands, one item at a time, unless it is quiet", async () => {
    const shop = await openQueue(2);
    expect((await drain(shop, 'echo "did $1"')).stdout.split("\n").sort()).toEqual(["", "did 1", "did 2"]);
    await fill(shop, "orders", [{ id: 3 }]);
    const { stdout, stderr } = await drain(shop, 'echo "did $1"', "--quiet");
    expect(stdout).toBe("");
    expect(stderr).toMatch(/^1 done · /);
  });

  it("continues when the queue is empty, and takes new items", async () => {
    const shop = await openQueue(0);
    const worker = startWorker(shop, 'echo "$1" >> $L');
    await worker.untilStderr("Processing orders");
    await fill(shop, "orders", [{ id: "a" }]);
    await shop.untilLedger("a", (lines) => lines.includes("a"));
    await fill(shop, "orders", [{ id: "b" }]);
    await shop.untilLedger("b", (lines) => lines.includes("b"));
    worker.signal("SIGINT");
    expect((await worker.ended).code).toBe(130);
    expect(await shop.check()).toBe(SOUND);
  });

  it("runs the given number at a time, and ends an attempt that exceeds its timeout", async () => {
    const shop = await openQueue(3, ["--max-retries", "0"]);
    const script =
      'echo "start $1" >> $L; [ "$1" = 3 ] && exec sleep 60; until [ "$(grep -c start $L)" -ge 2 ]; do sleep 0.02; done';
    const { code } = await drain(shop, script, "--concurrency", "2", "--timeout", "2s", "--grace", "10ms");
    expect(code).toBe(3);
    const [letter] = await shop.letters();
    expect(letter).toMatchObject({ item_id: "3", failure_history: [{ error_type: "Timeout" }] });
  });

  it("copies evidence if it is told to", async () => {
    const shop = await openQueue(1, ["--max-retries", "0"]);
    shop.write("shot.png", "a picture");
    const script = `printf '{"evidence": ["${shop.path("shot.png")}"]}' > "$REDRIVE_FAILURE_FILE"; exit 1`;
    await drain(shop, script, "--keep-evidence");
    const [letter] = await shop.letters();
    const [file] = (letter?.failure_history[0]?.evidence ?? []) as unknown as { kept: string }[];
    expect(existsSync(file?.kept ?? "")).toBe(true);
  });

  it("does not run an expired item: it is a letter that says so", async () => {
    const shop = await openQueue(1);
    await shop.run(["queue", "pause", "orders"]);
    const added = await shop.run([
      "queue",
      "add",
      "orders",
      "--data",
      "{}",
      "--key",
      "old",
      "--expires",
      "1s",
    ]);
    expect(added.code).toBe(0);
    const { expires_at } = await shop.json<{ expires_at: string }>("queue", "show", "orders", "old");
    await until("it has expired", () => Date.now() > Date.parse(expires_at));
    await shop.run(["queue", "resume", "orders"]);
    expect((await drain(shop, 'echo "$REDRIVE_ITEM_ID" >> $L')).code).toBe(3);
    expect(shop.ledger).toEqual(["1"]);
    const [letter] = await shop.letters();
    expect(letter?.failure_history[0]).toMatchObject({
      error_type: "Timeout",
      error_message: "The item expired before its attempt started.",
    });
  });

  it("waits at a paused queue, reports that, and continues when it is resumed", async () => {
    const shop = await openQueue(1);
    await shop.run(["queue", "pause", "orders", "--reason", "month end"]);
    const worker = startWorker(shop, 'echo "$1" >> $L', "--drain");
    await worker.untilStderr("orders is paused");
    expect(shop.ledger).toEqual([]);
    await shop.run(["queue", "resume", "orders"]);
    expect((await worker.ended).code).toBe(0);
    expect(shop.ledger).toEqual(["1"]);
  });

  it("starts no more than its own rate and the queue's allow", async () => {
    const shop = await openQueue(4);
    const began = performance.now();
    expect((await drain(shop, "true", "--rate", "4/s")).code).toBe(0);
    expect(performance.now() - began).toBeGreaterThan(700); // the first is free, the fourth three quarters of a second later
    await makeQueue(shop, "slow", 4, ["--rate", "4/s"]);
    const again = performance.now();
    const other = await shop.run(workerArgs(shop, "true", ["--queue", "slow", "--drain"]));
    expect(other.code).toBe(0);
    expect(performance.now() - again).toBeGreaterThan(700);
  });

  it("processes several queues with one command, and without a name the only one", async () => {
    const shop = openWorkshop();
    const none = await shop.run(["worker", "--json", "--drain", "--", "true"]);
    expect(none.code).toBe(2);
    expect(none.json<ErrorJson>().error.hint).toMatch(/queue create/);
    await makeQueue(shop, "orders", 1, QUICK);
    expect((await shop.run(workerArgs(shop, "true", ["--drain"]))).code).toBe(0);
    await makeQueue(shop, "returns", 2, QUICK);
    expect((await shop.run(workerArgs(shop, "true", ["--drain"]))).stderr).toMatch(/several queues/);
    const args = workerArgs(shop, 'echo "$REDRIVE_QUEUE $1" >> $L', [
      "--queue",
      "orders",
      "--queue",
      "returns",
    ]);
    const both = shop.start([...args.slice(0, 5), "--drain", ...args.slice(5)], { stdin: "" });
    expect((await both.ended).code).toBe(0);
    expect(shop.ledger.sort()).toEqual(["returns 1", "returns 2"]);
  });

  it.each<[string, readonly string[], RegExp]>([
    ["a queue that is not there", ["--queue", "ordres", "--", "true"], /no queue ordres/],
    ["no command", ["--queue", "orders"], /No command/],
    ["a command that is not there", ["--queue", "orders", "--", "no-such-command"], /no-such-command/],
    ["a variable that does not exist", ["--queue", "orders", "--", "echo", "${itm.id}"], /itm/],
    ["a number that is none", ["--queue", "orders", "-j", "many", "--", "true"], /--concurrency/],
    ["a rate that is none", ["--queue", "orders", "--rate", "fast", "--", "true"], /--rate/],
  ])("refuses %s before it begins", async (_what, args, why) => {
    const shop = await openQueue(1);
    const { code, stderr } = await shop.run(["worker", "--drain", ...args]);
    expect([2, 4]).toContain(code);
    expect(stderr).toMatch(why);
  });

  it("waits the given time for a store that cannot be opened", async () => {
    const shop = openWorkshop();
    shop.write("in-the-way", "a file where a folder should be");
    const store = `sqlite:${join(shop.path("in-the-way"), "store.db")}`;
    const { code, stderr } = await shop.run([
      "worker",
      "--queue",
      "q",
      "--store",
      store,
      "--store-wait",
      "1500ms",
      "--",
      "true",
    ]);
    expect(code).toBe(75);
    expect(stderr).toMatch(/waiting: /);
  });
});

describe("a worker that is asked to end", () => {
  it("finishes what runs, starts nothing more, and leaves the rest to others", async () => {
    const shop = await openQueue(3);
    const go = shop.path("go");
    const script = `echo "start $1" >> $L; until [ -e ${go} ]; do sleep 0.02; done; echo "end $1" >> $L`;
    const worker = startWorker(shop, script, "-j", "1");
    await shop.untilLedger("one runs", (lines) => lines.length === 1);
    worker.signal("SIGTERM");
    await worker.untilStderr("Draining");
    shop.write("go", "");
    const { code, stderr } = await worker.ended;
    expect(code).toBe(143);
    expect(stderr).toMatch(/1 done/);
    expect(shop.ledger).toEqual(["start 1", "end 1"]);
    expect((await drain(shop, 'echo "other $1" >> $L')).code).toBe(0);
    expect(shop.ledger.slice(2).sort()).toEqual(["other 2", "other 3"]);
  });

  it.each<[string, readonly string[], boolean]>([
    ["its time is over", ["--drain-timeout", "50ms"], false],
    ["it is told again", ["--drain-timeout", "1h"], true],
  ])("ends what runs when %s, and gives it back unspent", async (_when, flags, isTwice) => {
    const shop = await openQueue(1);
    const worker = startWorker(shop, 'echo "$1" >> $L; exec sleep 60', "--grace", "10ms", ...flags);
    await shop.untilLedger("it runs", (lines) => lines.length === 1);
    worker.signal("SIGTERM");
    await worker.untilStderr("Draining: ");
    if (isTwice) worker.signal("SIGTERM");
    expect((await worker.ended).code).toBe(143);
    expect(await show(shop, "1")).toMatchObject({
      state: "ready",
      attempt_history: [{ outcome: "released" }],
    });
    expect(await shop.check()).toBe(SOUND);
  });
});

describe("a worker that is killed", () => {
  it("pitfall 59: has its items run again by others within seconds", async () => {
    const shop = await openQueue(3);
    const killed = startWorker(shop, 'echo "first $1" >> $L; exec sleep 60', "-j", "2");
    await shop.untilLedger("two run", (lines) => lines.length === 2);
    const other = startWorker(shop, 'echo "other $1" >> $L');
    await shop.untilLedger("the third", (lines) => lines.includes("other 3"));
    killed.signal("SIGKILL");
    await shop.untilLedger("all", (lines) => lines.filter((line) => line.startsWith("other")).length === 3);
    other.signal("SIGTERM");
    await other.ended;
    expect((await show(shop, "1")).attempt_history.map(({ outcome }) => outcome)).toEqual([
      "lost",
      "succeeded",
    ]);
    expect(await shop.check()).toBe(SOUND);
  });

  it("pitfall 42: by its item every time is not killed forever: the item is buried, the others are processed", async () => {
    const shop = await openQueue(1, ["--max-losses", "2", ...QUICK]);
    for (const name of ["first", "second"]) {
      const pid = shop.path(`${name}.pid`);
      const script = `until [ -s ${pid} ]; do sleep 0.02; done; kill -9 $(cat ${pid}); exec sleep 60`;
      const worker = startWorker(shop, `echo "${name} $1" >> $L; ${script}`);
      shop.write(`${name}.pid`, String(worker.pid));
      expect((await worker.ended).signal).toBe("SIGKILL");
    }
    await fill(shop, "orders", [{ id: "good" }]);
    expect((await drain(shop, 'echo "third $1" >> $L')).code).toBe(0);
    expect(shop.ledger.at(-1)).toBe("third good");
    expect(shop.ledger.filter((line) => line.endsWith(" 1"))).toHaveLength(2);
    const [letter] = await shop.letters();
    expect(letter).toMatchObject({ item_id: "1", reason: "the worker vanished 2 times" });
  });
});

describe("the service that the work needs", () => {
  it("pitfall 43: an outage pauses the queue for all workers, and nothing dies of it", async () => {
    const shop = await openQueue(12, [
      "--max-retries",
      "5",
      "--breaker",
      "3",
      "--breaker-timeout",
      "400ms",
      ...QUICK,
    ]);
    const up = shop.path("up");
    const script = `echo "$1" >> $L; [ -e ${up} ] || { ${report("ITException", "the portal is down")}; exit 1; }`;
    const workers = [1, 2].map(() => startWorker(shop, script, "--drain", "-j", "2"));
    await until(
      "the breaker has opened",
      async () => (await shop.events("--type", "breaker_opened")).length > 0,
    );
    shop.write("up", "");
    for (const worker of workers) expect((await worker.ended).code).toBe(0);
    const { counts } = await shop.json<{ counts: Record<string, number> }>("queue", "show", "orders");
    expect(counts).toMatchObject({ done: 12, dead: 0 });
    // A probe that began before the portal was available may have opened it once more.
    const told = (await shop.events("--type", "breaker_opened,breaker_closed")).map(({ type }) => type);
    expect([told[0], told.at(-1)]).toEqual(["breaker_opened", "breaker_closed"]);
  });

  it("pitfall 58: the first quota error parks the queue for every worker: untouched items are unchanged", async () => {
    const shop = await openQueue(6, [...QUICK, "--on-outage", "wait"]);
    const quota = { type: "RateLimited", message: "quota", retry_after: 3600 };
    const script = `echo "$1" >> $L; printf '%s' '${JSON.stringify(quota)}' > "$REDRIVE_FAILURE_FILE"; exit 1`;
    const first = startWorker(shop, script, "-j", "1");
    await until("it is parked", async () => (await shop.events("--type", "attempt_parked")).length > 0);
    const second = startWorker(shop, script, "-j", "1");
    await second.untilStderr("Processing");
    await until("it has looked", async () => {
      const { workers } = await shop.json<{ workers: readonly unknown[] }>("queue", "show", "orders");
      return workers.length === 2;
    });
    for (const worker of [first, second]) {
      worker.signal("SIGTERM");
      await worker.ended;
    }
    expect(shop.ledger).toEqual(["1"]);
    const items = await shop.json<{ items: readonly { state: string; attempts: number }[] }>(
      "queue",
      "items",
      "orders",
    );
    expect(items.items.map(({ state }) => state)).toEqual(new Array(6).fill("ready"));
  });
});

describe("redrive worker --job", () => {
  it("helps with the items of a map that another process runs, with the map's own command", async () => {
    const shop = openWorkshop();
    const script = 'echo "$HELPER $1" >> $L; until grep -q helper $L; do sleep 0.02; done';
    const running = shop.start(shop.mapArgs(script, ["--name", "big", "--jobs", "1"]), {
      stdin: asJsonLines(upTo(4)),
      env: { HELPER: "main" },
    });
    await shop.untilLedger("the first", (lines) => lines.length === 1);
    const helper = await shop.run(["worker", "--job", "big", "-j", "2"], { env: { HELPER: "helper" } });
    expect(helper.code).toBe(0);
    expect((await running.ended).code).toBe(0);
    const names = new Set(shop.ledger.map((line) => line.split(" ")[0]));
    expect(names).toEqual(new Set(["main", "helper"]));
    expect(shop.ledger.map((line) => line.split(" ")[1]).sort()).toEqual(["1", "2", "3", "4"]);
    expect(await shop.json("status", "big")).toMatchObject({ status: "completed", succeeded: 4 });
  });

  it("helps with a workflow's items in the folder itself, from its map on", async () => {
    const project = openFolder(itemsJson("a", "b", "c"));
    const setup = [{ shell: "echo captured", capture: "word" }];
    const step = 'echo "${word} $WHO ${item.id}" >> $L; until grep -q helper $L; do sleep 0.02; done';
    const map = plainMap(step, { max_parallel: 1 });
    const reduce = [{ shell: 'echo "reduce ${map.successful}" >> $L' }];
    const path = project.workflow({ name: "check", mode: "mapreduce", setup, map, reduce });
    const env = (who: string) => ({ ...project.here, env: { ...project.here.env, WHO: who } });
    const running = project.start(["run", path], { ...env("main"), stdin: "" });
    await project.untilLedger("the first", (lines) => lines.length === 1);
    const helper = await project.run(["worker", "--job", "check", "-j", "2"], env("helper"));
    expect(helper.code).toBe(0);
    expect((await running.ended).code).toBe(0);
    const worked = project.ledger.filter((line) => line.startsWith("captured"));
    expect(worked.map((line) => line.split(" ")[2]).sort()).toEqual(["a", "b", "c"]);
    expect(worked.filter((line) => line.includes("helper")).length).toBeGreaterThan(0);
    expect(project.ledger.at(-1)).toBe("reduce 3");
  });

  it("refuses agents that work in worktrees, a queue, and another command", async () => {
    const project = openProject(itemsJson("a"));
    await project.runJson({ name: "trees", mode: "mapreduce", map: mapOver("true") });
    const trees = await project.do("worker", "--job", "trees");
    expect(trees.code).toBe(2);
    expect(trees.stderr).toMatch(/git worktrees/);
    await makeQueue(project, "orders", 0, QUICK);
    expect((await project.do("worker", "--job", "orders")).stderr).toMatch(/is a queue/);
    expect((await project.do("worker", "--job", "trees", "--", "true")).stderr).toMatch(/own command/);
  });
});
