/**
 * An outage of a service that the work needs: by default its failures count, and --on-outage wait waits for its
 * end.
 */
import { describe, expect, it } from "vitest";
import { until } from "../support/until.ts";
import { openWorkshop, type Workshop } from "./workshop.ts";

/** Fails like an unavailable service until the file `up` exists. */
const needsService = (shop: Workshop, extra = {}) =>
  `echo "$REDRIVE_ITEM_ID" >> $L; [ -e ${shop.path("up")} ] || { ${report({
    class: "outage",
    message: "the service is away",
    ...extra,
  })}; exit 1; }`;
/** A shell command that reports a failure in the command's own words. */
function report(said: object): string {
  return `printf '%s' '${JSON.stringify(said)}' > "$REDRIVE_FAILURE_FILE"`;
}

const QUICK = ["--retries", "1", "--backoff", "none"];

describe("redrive map", () => {
  it("counts every failure of an outage: the items are letters when they are out of retries", async () => {
    const shop = openWorkshop();
    const summary = await shop.mapJson([1, 2], needsService(shop), QUICK);
    expect(summary).toMatchObject({ succeeded: 0, dead: 2, attempts: 4 });
  });

  it("pitfall 43: with --on-outage wait shows the reason and the next try, and nothing dies", async () => {
    const shop = openWorkshop();
    const mapping = shop.start(
      [
        ...["map", "-j", "2", "--retries", "0", "--backoff", "none", "--on-outage", "wait"],
        ...["--", "sh", "-c", `L=${shop.ledgerPath}; ${needsService(shop, { retry_after: 2 })}`, "sh", "{}"],
      ],
      { stdin: "1\n2\n3\n4\n" },
    );
    await mapping.untilStderr(/waiting: next try in \d+ s \(.*the service is away/);
    shop.write("up", "");
    const { code } = await mapping.ended;
    expect(code).toBe(0);
    expect(await shop.letters()).toEqual([]);
  });

  it("with --max-outage counts attempts again if the outage lasts longer", async () => {
    const shop = openWorkshop();
    const flags = [...QUICK, "--on-outage", "wait", "--max-outage", "2s"];
    const summary = await shop.mapJson([1, 2, 3], needsService(shop), flags);
    expect(summary).toMatchObject({ succeeded: 0, dead: 3 });
    expect((await shop.events("--type", "attempt_parked")).length).toBeGreaterThan(0);
  });

  it("refuses --max-outage without --on-outage wait", async () => {
    const shop = openWorkshop();
    const { code, stderr } = await shop.map([1], "true", ["--max-outage", "2s"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("--max-outage needs --on-outage wait")]);
  });
});

describe("a queue", () => {
  it("waits through an outage if configured, and shows why and until when", async () => {
    const shop = openWorkshop();
    const made = await shop.json<{ settings: object }>("queue", "create", "orders", "--on-outage", "wait");
    expect(made.settings).toMatchObject({ on_outage: "wait", max_outage_ms: 86_400_000 });
    for (const key of ["a", "b"])
      await shop.run(["queue", "add", "orders", "--data", `"${key}"`, "--key", key]);
    const script = `L=${shop.ledgerPath}; ${needsService(shop, { retry_after: 3600 })}`;
    const worker = shop.start(["worker", "--queue", "orders", "-j", "1", "--", "sh", "-c", script], {
      stdin: "",
    });
    await until("it is parked", async () => (await shop.events("--type", "attempt_parked")).length > 0);
    const shown = (await shop.run(["queue", "show", "orders"])).stdout;
    expect(shown).toMatch(/Waits +until .*the service is away/);
    expect(shown).toMatch(/on-outage +wait, for at most 1d/);
    worker.signal("SIGTERM");
    await worker.ended;
    expect(await shop.letters()).toEqual([]);
    expect(shop.ledger).toEqual(["a"]);
  });

  it("counts failures of an outage again after `queue set --on-outage retry`", async () => {
    const shop = openWorkshop();
    const settings = ["--max-retries", "1", "--backoff", "none"];
    await shop.run(["queue", "create", "orders", ...settings, "--on-outage", "wait", "--max-outage", "1h"]);
    const set = await shop.json<{ settings: object }>("queue", "set", "orders", "--on-outage", "retry");
    expect(set.settings).toMatchObject({ on_outage: "retry", max_outage_ms: null });
    await shop.run(["queue", "add", "orders", "--data", '"a"', "--key", "a"]);
    const script = `L=${shop.ledgerPath}; ${needsService(shop)}`;
    const { code } = await shop.run(["worker", "--queue", "orders", "--drain", "--", "sh", "-c", script]);
    expect(code).toBe(3);
    expect(shop.ledger).toEqual(["a", "a"]);
  });
});
