/**
 * The clock of the machine changes while workers run, and one process has another clock than the rest. Uses
 * libfaketime.
 */
import { existsSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ON_POSTGRES, openWorkshop, type Workshop } from "./workshop.ts";

const LIBRARY = findLibrary();
const DEADLINE_MS = 120_000;

function findLibrary(): string | undefined {
  const places = existsSync("/usr/lib") ? readdirSync("/usr/lib").map((name) => `/usr/lib/${name}`) : [];
  return places.map((folder) => `${folder}/faketime/libfaketime.so.1`).find((path) => existsSync(path));
}

/** The environment of a process whose clock is that far from the machine's; the file can be changed while it runs. */
function clockFrom(shop: Workshop, name: string, seconds: string): Record<string, string> {
  shop.write(name, `${seconds}\n`);
  return {
    LD_PRELOAD: LIBRARY ?? "",
    FAKETIME_TIMESTAMP_FILE: shop.path(name),
    FAKETIME_NO_CACHE: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  };
}

/** Without libfaketime the conformance suite alone moves the clock; on PostgreSQL the machine's clock times nothing. */
describe.skipIf(LIBRARY === undefined || ON_POSTGRES)("the clock of the machine", () => {
  it.each([
    ["back", "-3600"],
    ["forward", "+3600"],
  ])(
    "a retry under a running worker keeps its wait when the clock goes an hour %s",
    async (direction, seconds) => {
      const shop = openWorkshop();
      await shop.run(["queue", "create", "q", "--max-retries", "1", "--backoff", "fixed:3s"]);
      await shop.run(["queue", "add", "q", "--data", "1"]);
      const script = `echo "$1" >> ${shop.ledgerPath}; [ $(wc -l < ${shop.ledgerPath}) -gt 1 ]`;
      const env = clockFrom(shop, "clock", "+0");
      const args = ["worker", "--queue", "q", "--drain", "--", "sh", "-c", script, "sh", "{}"];
      const worker = shop.start(args, { env });
      await shop.untilLedger("the first attempt has run", (lines) => lines.length === 1);
      shop.write("clock", `${seconds}\n`);
      const { code, stderr } = await worker.ended;
      expect(code).toBe(0);
      expect(stderr).toContain(`set ${direction} by`);
      expect(shop.ledger).toEqual(["1", "1"]);
      const { stdout } = await shop.run(["events", "--type", "clock_stepped", "--json"], { env });
      expect(stdout.match(/"step_ms"/g)).toHaveLength(1);
    },
    DEADLINE_MS,
  );

  it(
    "a worker whose clock is an hour ahead does not take the items of a living one",
    async () => {
      const shop = openWorkshop();
      await shop.run(["queue", "create", "q"]);
      await shop.run(["queue", "add", "q", "--data", "1"]);
      const script = `echo "$1" >> ${shop.ledgerPath}; while [ "$1" = 1 ] && [ ! -e ${shop.path("gate")} ]; do sleep 0.02; done`;
      const args = ["worker", "--queue", "q", "-j", "1", "--drain", "--", "sh", "-c", script, "sh", "{}"];
      const living = shop.start(args);
      await shop.untilLedger("the first item runs", (lines) => lines.length === 1);
      await shop.run(["queue", "add", "q", "--data", "2"]);
      const ahead = shop.start(args, { env: clockFrom(shop, "clock", "+3600") });
      await shop.untilLedger("the other worker has reaped, and works", (lines) => lines.includes("2"));
      shop.write("gate", "");
      expect((await living.ended).code).toBe(0);
      expect((await ahead.ended).code).toBe(0);
      expect([...shop.ledger].sort()).toEqual(["1", "2"]);
    },
    DEADLINE_MS,
  );

  it(
    "a frozen worker loses its items even to one whose clock is an hour ahead",
    async () => {
      const shop = openWorkshop();
      await shop.run(["queue", "create", "q"]);
      await shop.run(["queue", "add", "q", "--data", "1"]);
      const script = `echo "$1" >> ${shop.ledgerPath}; while [ ! -e ${shop.path("gate")} ]; do sleep 0.02; done`;
      const args = ["worker", "--queue", "q", "--drain", "--", "sh", "-c", script, "sh", "{}"];
      const frozen = shop.start(args);
      await shop.untilLedger("the item runs", (lines) => lines.length === 1);
      frozen.signal("SIGSTOP");
      const ahead = shop.start(args, { env: clockFrom(shop, "clock", "+3600") });
      await shop.untilLedger("the other worker has taken it", (lines) => lines.length === 2);
      shop.write("gate", "");
      expect((await ahead.ended).code).toBe(0);
      frozen.signal("SIGCONT");
      await frozen.ended;
      expect(shop.ledger).toEqual(["1", "1"]);
    },
    DEADLINE_MS,
  );
});
