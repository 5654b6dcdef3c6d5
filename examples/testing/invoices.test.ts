/** Tests of a handler with Node's own test runner; any other works the same. No database, no network, no waiting. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { assertLetter, assertNoLetters, openTest } from "redrive/testing";
import { startInvoices } from "./invoices.ts";

test("an invoice without a VAT id becomes a letter at once", async () => {
  await using store = await openTest();
  const invoices = startInvoices(store.redrive, { transfer: async () => undefined });
  await invoices.add({ vat: "", total: 75 }, { key: "4712" });
  await store.drain();
  await assertLetter(invoices, { id: "4712", class: "permanent", message: "no VAT id", failures: 1 });
});

test("an invoice is paid when the bank answers again", async () => {
  await using store = await openTest();
  let isOpen = false;
  const paid: number[] = [];
  const transfer = async (_vat: string, total: number) => {
    if (!isOpen) throw new Error("the bank does not answer");
    paid.push(total);
  };
  const invoices = startInvoices(store.redrive, { transfer });
  const added = await invoices.add({ vat: "DE811907980", total: 120 });
  await store.drain(); // the first attempt fails
  isOpen = true;
  await store.drain(); // the retry is not due yet
  assert.deepEqual(paid, []);
  store.clock.advance("1m");
  await store.drain();
  assert.deepEqual(await added.result(), { paid: 120 });
  await assertNoLetters(invoices);
});

test("after three attempts the invoice is a letter, which can be retried", async () => {
  await using store = await openTest();
  let isOpen = false;
  const transfer = async () => {
    if (!isOpen) throw new Error("the bank does not answer");
  };
  const invoices = startInvoices(store.redrive, { transfer });
  await invoices.add({ vat: "DE811907980", total: 120 });
  await store.drain({ advance: true }); // moves the clock through all retries
  const letter = await assertLetter(invoices, { message: /does not answer/, failures: 3 });
  assert.equal(letter.data.total, 120);
  isOpen = true;
  await invoices.letters().retry();
  await store.drain();
  await assertNoLetters(invoices);
});
