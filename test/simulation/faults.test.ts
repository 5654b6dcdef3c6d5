import { describe, expect, it } from "vitest";
import type { Engine } from "../../src/engine.ts";
import { openMemoryEngine } from "../../src/engines/sqlite/open.ts";
import type { EngineUnderTest } from "../conformance/suite.ts";
import { simulate } from "./simulate.ts";

describe("the simulation itself", () => {
  /** An engine with one fault, to prove that the simulation finds it. */
  const faulty = (fault: (engine: Engine) => Partial<Engine>): EngineUnderTest => ({
    open: async (clock) => {
      const engine = openMemoryEngine({ clock });
      return { ...engine, ...fault(engine) };
    },
  });

  const FAULTS: Readonly<Record<string, (engine: Engine) => Partial<Engine>>> = {
    "loses a settlement that comes with others": (engine) => ({
      settleAndLease: (holder, { settle, ...rest }) =>
        engine.settleAndLease(holder, { settle: settle.length > 2 ? settle.slice(1) : settle, ...rest }),
    }),
    "forgets the last letter of a page": (engine) => ({
      listLetters: async (query) => {
        const page = await engine.listLetters(query);
        return { ...page, letters: page.letters.slice(0, 2) };
      },
    }),
    "works on one letter too many": (engine) => ({
      advance: (id, step) => engine.advance(id, { ...step, ...(step.max && { max: step.max + 1 }) }),
    }),
    "forgets why letters were refused": () => ({ listRefusals: async () => [] }),
    "looks for another text than it was given": (engine) => ({
      listLetters: ({ text, ...query }) =>
        engine.listLetters({ ...query, ...(text !== undefined && { text: `${text}!` }) }),
    }),
    "counts arrivals of the present only": (engine) => ({
      listArrivals: async (query) =>
        (await engine.listArrivals(query)).map((arrival) => ({ ...arrival, ever: arrival.waiting })),
    }),
    "leaves the last letter of an import out": (engine) => ({
      importLetters: (queue, letters) => engine.importLetters(queue, letters.slice(0, -1)),
    }),
    "moves one letter less to its group": (engine) => ({
      regroup: (letters) => engine.regroup(letters.slice(1)),
    }),
    "sends corrected letters elsewhere": (engine) => ({
      correct: (one) => engine.correct({ ...one, to: "0" }),
    }),
    "forgets until when a group is ignored": (engine) => ({
      changeGroup: (signature, { ignoreUntil: _, ...change }) => engine.changeGroup(signature, change),
    }),
    "does not pause": (engine) => ({
      changeOperation: async (id, change) =>
        change.status === "paused" ? engine.changeOperation(id, {}) : engine.changeOperation(id, change),
    }),
    "takes changed data for the same": (engine) => ({
      add: async (queue, items) => ({ ...(await engine.add(queue, items)), changed: 0 }),
    }),
    "forgets priorities": (engine) => ({
      add: (queue, items, how) =>
        engine.add(
          queue,
          items.map(({ priority: _, ...item }) => item),
          how,
        ),
    }),
    "forgets ordering keys": (engine) => ({
      add: (queue, items, how) =>
        engine.add(
          queue,
          items.map(({ orderingKey: _, ...item }) => item),
          how,
        ),
    }),
    "replaces nothing": (engine) => ({ add: (queue, items) => engine.add(queue, items) }),
    "does not hold": () => ({
      hold: async (_queue, itemIds) => ({ moved: itemIds.length, refused: [] }),
    }),
    "never pauses a queue": (engine) => ({
      changeJob: (id, { pause: _, ...change }) => engine.changeJob(id, change),
    }),
    "leaves gates as they are": (engine) => ({
      settleAndLease: (holder, { gate: _, ...asked }) => engine.settleAndLease(holder, asked),
    }),
    "knows no rate": (engine) => ({
      settleAndLease: (holder, { lease, ...asked }) => {
        if (!lease) return engine.settleAndLease(holder, asked);
        const { rate: _, ...rest } = lease;
        return engine.settleAndLease(holder, { ...asked, lease: rest });
      },
    }),
    "loses what workers wrote": (engine) => ({
      settleAndLease: (holder, { settle, ...asked }) =>
        engine.settleAndLease(holder, { ...asked, settle: settle.map(({ notes: _, ...one }) => one) }),
    }),
    "counts nothing for workers": (engine) => ({
      settleAndLease: (holder, { settle, ...asked }) =>
        engine.settleAndLease(holder, { ...asked, settle: settle.map(({ counts: _, ...one }) => one) }),
    }),
    "hides the errors of the runner": (engine) => ({
      listErrors: async (query) =>
        (await engine.listErrors(query)).filter(({ type }) => type !== "runner_failed"),
    }),
    "takes every version of a document": (engine) => ({
      writeDocument: async (name, { body }) =>
        engine.writeDocument(name, { seen: (await engine.readDocument(name))?.version ?? 0, body }),
    }),
    "reports damage": (engine) => ({
      check: async () => [{ rule: "integrity", detail: "torn page" }, ...(await engine.check())],
    }),
  };

  it.each(Object.keys(FAULTS))("finds an engine that %s, and reports how to reproduce it", async (name) => {
    const fault = FAULTS[name];
    expect(fault).toBeDefined();
    if (!fault) return;
    const run = simulate(faulty(fault), { seed: 7, steps: 600 });
    await expect(run).rejects.toThrow(/Seed 7, step \d+.*REDRIVE_SEED=7 npx vitest run test\/simulation/s);
  });
});
