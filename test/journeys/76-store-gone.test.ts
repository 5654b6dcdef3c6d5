/**
 * A store that is removed under a running worker: later work is not acknowledged, and the worker reports it and
 * ends.
 */
import { renameSync } from "node:fs";
import { expect, it } from "vitest";
import { ON_POSTGRES, openWorkshop } from "./workshop.ts";

it.skipIf(ON_POSTGRES).each([
  ["with --store-wait", ["--store-wait", "200ms"]],
  ["without a limit of its wait", []],
])(
  "%s a worker whose store is removed ends with 75; with the store back nothing is lost",
  async (_, limit) => {
    const shop = openWorkshop();
    const script = `L=${shop.ledgerPath}; echo "$1" >> $L; while [ ! -e ${shop.path("gate")} ]; do sleep 0.02; done`;
    await shop.run(["queue", "create", "q"]);
    for (const data of ["1", "2", "3"]) await shop.run(["queue", "add", "q", "--data", data]);
    const args = ["worker", "--queue", "q", "-j", "1", "--drain", ...limit, "--"];
    const worker = shop.start([...args, "sh", "-c", script, "sh", "{}"]);
    await shop.untilLedger("the first item runs", (lines) => lines.length === 1);
    const move = (from: string, to: string) => {
      for (const file of ["redrive.db", "redrive.db-wal", "redrive.db-shm"])
        renameSync(shop.path(`${from}/${file}`), shop.path(`${to}/${file}`));
    };
    shop.write("away/.keep", "");
    move("redrive", "away");
    shop.write("gate", "");
    const { code, stderr } = await worker.ended;
    expect(code).toBe(75);
    expect(stderr).toContain("was removed while it was open");
    move("away", "redrive");
    expect((await shop.run([...args, "sh", "-c", script, "sh", "{}"])).code).toBe(0);
    expect(new Set(shop.ledger)).toEqual(new Set(["1", "2", "3"]));
  },
);
