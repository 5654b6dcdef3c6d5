/** What TypeScript infers and refuses. The compiler checks this file; nothing of it has to run. */
import { expectTypeOf, it } from "vitest";
import { z } from "zod";
import type {
  Added,
  Letter,
  Letters,
  MapResult,
  Queue,
  Redrive,
  Refused,
  Task,
  Worker,
} from "../../src/index.ts";

interface Order {
  readonly id: string;
  readonly total: number;
}

/** Never called: the compiler reads it. */
async function declared(redrive: Redrive): Promise<void> {
  const schema = z.object({ n: z.number(), unit: z.string().default("kg") });

  const typed = redrive.queue("typed", { schema, retries: 1 });
  expectTypeOf(typed).toEqualTypeOf<
    Queue<{ n: number; unit?: string | undefined }, { n: number; unit: string }, unknown>
  >();
  typed.work(({ data }) => expectTypeOf(data).toEqualTypeOf<{ n: number; unit: string }>());
  expectTypeOf(typed.letters()).toEqualTypeOf<Letters<{ n: number; unit?: string | undefined }>>();

  const both = redrive.queue("both", { schema, result: z.object({ ok: z.boolean() }) });
  expectTypeOf(await both.add({ n: 1 })).toEqualTypeOf<Added<{ ok: boolean }>>();
  expectTypeOf(await (await both.add({ n: 1 })).result()).toEqualTypeOf<{ ok: boolean }>();
  // @ts-expect-error the handler has to return the declared result
  both.work(() => ({ ok: "yes" }));
  // @ts-expect-error the data has a number
  await both.add({ n: "1" });

  const byHand = redrive.queue<Order, { paid: number }>("orders"); // an interface, without an index signature
  await byHand.add({ id: "a", total: 1 });
  expectTypeOf(await byHand.addMany([{ data: { id: "a", total: 1 }, key: "a" }])).toEqualTypeOf<
    readonly (Added<{ paid: number }> | Refused)[]
  >();
  const worker = byHand.work(async ({ data }: Task<Order>) => ({ paid: data.total }));
  expectTypeOf(worker).toEqualTypeOf<Worker<Order, { paid: number }>>();
  worker.on("succeeded", ({ result, data }) => {
    expectTypeOf(result).toEqualTypeOf<{ paid: number }>();
    expectTypeOf(data).toEqualTypeOf<Order>();
  });
  // @ts-expect-error there is no such event
  worker.on("suceeded", () => undefined);
  // @ts-expect-error there is no such option
  byHand.work(() => ({ paid: 1 }), { concurency: 2 });
  // @ts-expect-error there is no such option
  redrive.queue("orders", { maxRetries: 3 });
  for await (const letter of byHand.letters()) expectTypeOf(letter).toEqualTypeOf<Letter<Order>>();
  await byHand.letters().edit(({ data }) => ({ ...data, total: 0 }));
  // @ts-expect-error an edit returns the data, or null
  await byHand.letters().edit(() => ({ id: 1 }));

  const mapped = await redrive.map("names", ["a"], async (name) => ({ length: name.length }));
  expectTypeOf(mapped).toEqualTypeOf<MapResult<string, { length: number }>>();
  await redrive.map("orders", new Set<Order>(), ({ total }) => total, { key: ({ id }) => id });
  // @ts-expect-error the key is a text
  await redrive.map("orders", new Set<Order>(), ({ total }) => total, { key: ({ total }) => total });
}

it("is checked by the compiler", () => expectTypeOf(declared).toBeFunction());
