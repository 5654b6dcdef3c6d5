/**
 * Ways in which systems with queues and workers have misled or lost their users. Each is tried here with real
 * processes.
 */
import { describe, expect, it, onTestFinished } from "vitest";
import { postgresServerUrl } from "../support/postgres-stores.ts";
import { TcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";
import {
  asJsonLines,
  type ErrorJson,
  type LetterJson,
  openWorkshop,
  SOUND,
  upTo,
  type Workshop,
} from "./workshop.ts";

const QUEUE = ["--queue", "orders"];

/** A queue with items `1` to `n` and one attempt each. */
async function fill(shop: Workshop, n: number, ...settings: string[]): Promise<void> {
  await shop.run(["queue", "create", "orders", "--max-retries", "0", "--backoff", "none", ...settings]);
  await shop.run(["queue", "import", "orders", "-", "--key-field", "id"], {
    stdin: asJsonLines(upTo(n).map((id) => ({ id: String(id) }))),
  });
}

const work = (shop: Workshop, script: string, ...flags: string[]) => [
  ...["worker", ...QUEUE, "--quiet", ...flags, "--", "sh", "-c"],
  ...[`L=${shop.ledgerPath}; ${script}`, "sh", "${item.id}"],
];

describe("the metrics of a monitor", () => {
  it("pitfall 40: are those of the store, whichever process has ended since; without the store they are an error, not 0", async () => {
    const shop = openWorkshop();
    await fill(shop, 3);
    expect((await shop.run(work(shop, '[ "$1" = 2 ]', "--drain"))).code).toBe(3);
    const { stdout } = await shop.run(["metrics"]);
    expect(stdout).toContain('redrive_dead_letter_queue_size{queue="orders"} 2\n');
    expect(stdout).toContain('redrive_attempts_total{queue="orders",outcome="failed"} 2\n');
    const away = "postgres://nobody@127.0.0.1:1/none";
    for (const args of [["metrics"], ["metrics", "--json"], ["queue", "list"], ["dlq", "stats"]]) {
      const blind = await shop.run([...args, "--store", away]);
      expect([args, blind.code]).toEqual([args, 75]);
      if (args.includes("--json")) expect(blind.json<ErrorJson>().error.code).toBe("store_unavailable");
      else expect(blind.stdout).toBe("");
    }
  });

  it("pitfall 48: come from fields that the work wrote, in any language and on any line", async () => {
    const shop = openWorkshop();
    await fill(shop, 1);
    const message = "Zeile 1: Auftrag abgelehnt\nSubflow: other\nAction: 99\nTimeout beim Lesen\nконец";
    const line = message.replaceAll("\n", " ");
    const said = { type: "BusinessException", message, flow: "DF07", subflow: "Login", action: 4 };
    shop.write("said.json", JSON.stringify(said));
    await shop.run(work(shop, `cp ${shop.path("said.json")} "$REDRIVE_FAILURE_FILE"; exit 1`, "--drain"));
    const { errors } = await shop.json<{ errors: readonly unknown[] }>("errors", ...QUEUE);
    const fields = {
      error_type: "BusinessException",
      error_message: line,
      flow: "DF07",
      subflow: "Login",
    };
    expect(errors).toMatchObject([{ ...fields, action: "4", origin: "work", item_id: "1" }]);
    const bodies = JSON.parse((await shop.run(["errors", "--format", "error-body"])).stdout) as unknown;
    expect(bodies).toMatchObject([{ DesktopFlow: "DF07", Subflow: "Login", "Error Message": line }]);
    expect(await shop.letters()).toMatchObject([{ manual_review_required: true, reprocess_eligible: false }]);
  });
});

describe("a breaker", () => {
  it("pitfall 41: is not stuck half open when the worker of all its probes is killed", async () => {
    const shop = openWorkshop();
    await fill(shop, 6, "--max-retries", "50", "--breaker", "2", "--breaker-timeout", "300ms");
    const [hangs, mended] = [shop.path("hangs"), shop.path("mended")];
    const script = `[ -e ${mended} ] && echo "$1" >> $L && exit 0; [ -e ${hangs} ] && { echo probe >> $L; exec sleep 60; }; exit 7`;
    const killed = shop.start(work(shop, script, "-j", "3"));
    await until("it opens", async () => (await shop.events("--type", "breaker_opened")).length > 0);
    shop.write("hangs", "");
    await shop.untilLedger("all probes are out", (lines) => lines.length === 3);
    killed.signal("SIGKILL");
    await killed.ended;
    shop.write("mended", "");
    expect((await shop.run(work(shop, script, "--drain"))).code).toBe(0);
    expect(shop.ledger.filter((line) => line !== "probe").sort()).toEqual(upTo(6).map(String));
    expect((await shop.events("--type", "breaker_closed")).length).toBe(1);
    expect(await shop.check()).toBe(SOUND);
  });
});

describe("a server that becomes unavailable", () => {
  it("pitfall 45: is not an empty queue: a worker that drains waits, and processes the rest when it is back", async () => {
    const shop = openWorkshop({ onPostgres: true });
    await fill(shop, 3);
    const proxy = await TcpProxy.before(postgresServerUrl());
    onTestFinished(() => proxy.close());
    const script = `echo "$1" >> $L; until [ -e ${shop.path("gate")} ]; do sleep 0.02; done`;
    const env = { REDRIVE_STORE: proxy.through(shop.storeUrl) };
    const worker = shop.start(work(shop, script, "--drain", "-j", "1"), { env });
    await shop.untilLedger("one runs", (lines) => lines.length === 1);
    proxy.refuse(true);
    proxy.cutAll();
    shop.write("gate", "");
    await worker.untilStderr("waiting: ");
    const other = await shop.run(work(shop, script, "--drain", "--store-wait", "300ms"), { env });
    expect([other.code, other.stderr]).toEqual([75, expect.stringContaining("cannot be reached")]);
    expect(shop.ledger).toEqual(["1"]);
    proxy.refuse(false);
    expect((await worker.ended).code).toBe(0);
    expect(shop.ledger).toEqual(["1", "2", "3"]);
    expect(await shop.check()).toBe(SOUND);
  });
});

describe("a letter of a queue", () => {
  it("pitfall 52: that is redriven and fails is a letter again, however often, with its whole history", async () => {
    const shop = openWorkshop();
    await fill(shop, 1);
    const script = `echo "$1" >> $L; echo "no $(wc -l < $L)" >&2; exit 4`;
    await shop.run(work(shop, script, "--drain"));
    for (const times of [1, 2, 3]) {
      expect((await shop.run(["dlq", "retry", "orders", "--force", "--yes"])).code).toBe(0);
      expect((await shop.run(work(shop, script, "--drain"))).code).toBe(3);
      const [letter, ...others] = await shop.letters();
      expect(letter).toMatchObject({ state: "dead", redrive_count: times, failure_count: times + 1 });
      expect(others).toEqual([]);
    }
    const [letter] = (await shop.letters()) as readonly LetterJson[];
    const told = letter?.failure_history.map(({ stderr_tail }) => stderr_tail?.trim().replace(/ +/g, " "));
    expect(told).toEqual(["no 1", "no 2", "no 3", "no 4"]);
    expect((await shop.json<{ errors: readonly object[] }>("errors")).errors).toHaveLength(4);
    expect(await shop.check()).toBe(SOUND);
  });
});
