/** A queue declared in code: it is created at its first use, and takes items that its schema allows. */
import { expect, it } from "vitest";
import { z } from "zod";
import { PermanentError } from "../../src/index.ts";
import { onEveryStore } from "./stores.ts";

const invoice = z.object({ vat: z.string(), total: z.number() });

onEveryStore("a queue", (store) => {
  it("takes an item from add to the handler, and its result back", async () => {
    const redrive = await store.open();
    const invoices = redrive.queue("invoices", { schema: invoice, retries: 3 });
    const added = await invoices.add({ vat: "DE1", total: 120 }, { key: "4711" });
    expect(added).toMatchObject({ id: "4711", outcome: "added" });
    const worker = invoices.work(async ({ data }) => ({ paid: data.total }));
    expect(await added.result()).toEqual({ paid: 120 });
    expect(await worker.drain()).toMatchObject({ end: "drained", succeeded: 1, dead: 0 });
  });

  it("makes a letter of an item whose handler throws a PermanentError", async () => {
    const redrive = await store.open();
    const invoices = redrive.queue("invoices", { schema: invoice, retries: 3 });
    const added = await invoices.add({ vat: "", total: 7 });
    invoices.work(({ data }) => {
      if (!data.vat) throw new PermanentError("no VAT id");
    });
    await expect(added.result()).rejects.toMatchObject({ code: "item_dead", cause: { id: added.id } });
    const letters = [];
    for await (const letter of invoices.letters({ class: "permanent" })) letters.push(letter);
    expect(letters).toMatchObject([
      { id: added.id, data: { total: 7 }, failureCount: 1, failures: [{ message: "no VAT id" }] },
    ]);
    expect(await invoices.letters({ class: "transient" }).count()).toBe(0);
  });

  it("refuses data that does not match the schema, and stores nothing", async () => {
    const redrive = await store.open();
    const invoices = redrive.queue("invoices", { schema: invoice });
    const wrong = { vat: "DE1", total: "120" };
    // @ts-expect-error the total is a number
    await expect(invoices.add(wrong)).rejects.toMatchObject({ code: "input_invalid", field: "data.total" });
    expect((await invoices.counts()).total).toBe(0);
  });
});
