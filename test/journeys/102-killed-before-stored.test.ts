/** The runner is killed with -9 while the store is locked, so that it could not store what its commands had done. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { until } from "../support/until.ts";
import {
  asJsonLines,
  ON_POSTGRES,
  openWorkshop,
  SOUND,
  type Summary,
  upTo,
  type Workshop,
} from "./workshop.ts";
import { openWriteLock } from "./write-lock.ts";

/** 1 succeeds, 2 prints, 3 fails, and 4 still runs when the runner is killed. */
const scriptOf = (shop: Workshop) =>
  `echo "$1" >> $L; ${whileMissing(shop, "gate")}; ` +
  `case $1 in 2) echo output;; 3) exit 4;; 4) ${whileMissing(shop, "end")};; esac`;

const whileMissing = (shop: Workshop, name: string) =>
  `while [ ! -e ${shop.path(name)} ]; do sleep 0.02; done`;

const MARK_BYTES = 16;

/** How many commands have ended by themselves, according to the marks of the only runner. */
function markedEnds(shop: Workshop): number {
  const files = readdirSync(shop.path("redrive"), { recursive: true, encoding: "utf8" });
  const file = files.find((name) => name.endsWith(".started"));
  if (file === undefined) return 0;
  const bytes = readFileSync(join(shop.path("redrive"), file));
  let ends = 0;
  for (let at = 0; at < bytes.length; at += MARK_BYTES) ends += (bytes[at + 12] ?? 0) & 1;
  return ends;
}

describe.runIf(process.platform === "linux" && !ON_POSTGRES)("a runner that is killed with -9", () => {
  it("loses no attempt that had ended, and keeps a success without output", async () => {
    const shop = openWorkshop();
    const input = shop.write("items.jsonl", asJsonLines(upTo(4)));
    const flags = ["--name", "n", "--input", input, "-j", "4", "--retries", "0"];
    const running = shop.start(shop.mapArgs(scriptOf(shop), flags));
    await shop.untilLedger("all have started", (lines) => lines.length === 4);
    const lock = await openWriteLock(shop);
    await lock.take();
    shop.write("gate", "");
    await until("three ends are marked", () => markedEnds(shop) === 3);
    running.signal("SIGKILL");
    await running.ended;
    await lock.giveBack();
    await lock.close();
    shop.write("end", "");
    const resumed = await shop.run(["resume", "n", "--json"]);
    expect(resumed.json<Summary>()).toMatchObject({ total: 4, succeeded: 3, dead: 1, remaining: 0 });
    expect([...shop.ledger].sort()).toEqual(["1", "2", "2", "3", "3", "4", "4"]);
    const events = await shop.events("--limit", "1000");
    const items = events.filter(({ type }) => type === "item_queued").map(({ item_id }) => item_id);
    const endsOf = (item: string | undefined) =>
      events
        .filter(({ type, item_id }) => item_id === item && /^attempt_(?!started)/.test(type))
        .map(({ type }) => type);
    expect(items.map(endsOf)).toEqual([
      ["attempt_succeeded"],
      ["attempt_released", "attempt_succeeded"],
      ["attempt_released", "attempt_failed"],
      ["attempt_lost", "attempt_retrying", "attempt_succeeded"],
    ]);
    expect(await shop.check()).toBe(SOUND);
  });
});
