/** The routes that summarise letters, and the files of the console. */
import { describe, expect, test } from "vitest";
import { queueWithLetters, serverKit } from "./kit.ts";

async function withCountries() {
  const kit = await serverKit();
  const bad = "the bank refused";
  await queueWithLetters(kit.engine, "orders", [
    { key: "o-1", data: { bad, customer: { country: "PT" }, id: 1 } },
    { key: "o-2", data: { bad, customer: { country: "PT" }, id: 2 } },
    { key: "o-3", data: { bad, customer: { country: "ES" }, id: 3 } },
  ]);
  await queueWithLetters(kit.engine, "mails", [{ key: "m-1", data: { bad: "no such mailbox" } }]);
  return kit;
}

describe("arrivals", () => {
  test("are counted in equal intervals up to now", async () => {
    const viewer = await (await withCountries()).as("viewer");
    const day = await viewer.call("GET /arrivals");
    expect(day.bucket_ms).toBe(3_600_000);
    expect(day.counts).toHaveLength(24);
    expect(day.counts.at(-1)).toBe(4);
    const hours = await viewer.call("GET /arrivals", { query: { bucket: "2h", newer_than: "6h" } });
    expect(hours.counts).toHaveLength(3);
  });

  test("are counted for one queue, and for one group", async () => {
    const viewer = await (await withCountries()).as("viewer");
    const last = async (query: object) => (await viewer.call("GET /arrivals", { query })).counts.at(-1);
    expect(await last({ queue: "mails" })).toBe(1);
    const { groups } = await viewer.call("GET /groups", { query: { queue: "orders" } });
    expect(await last({ group: groups[0]?.signature })).toBe(3);
  });

  test("an interval that is not whole minutes, or too many of them, is refused", async () => {
    const viewer = await (await withCountries()).as("viewer");
    for (const query of [{ bucket: "90s" }, { bucket: "1m", newer_than: "30d" }])
      await expect(viewer.call("GET /arrivals", { query })).rejects.toMatchObject({ code: "usage" });
  });

  test("groups have their last day if it is asked for", async () => {
    const viewer = await (await withCountries()).as("viewer");
    const plain = await viewer.call("GET /groups", { query: { queue: "orders" } });
    expect(plain.groups[0]?.arrivals).toBeUndefined();
    const { groups } = await viewer.call("GET /groups", { query: { queue: "orders", trend: true } });
    expect(groups[0]?.arrivals?.at(-1)).toBe(3);
  });
});

describe("the fields of a group", () => {
  test("have their most frequent values, without fields whose values all differ", async () => {
    const viewer = await (await withCountries()).as("viewer");
    const { groups } = await viewer.call("GET /groups", { query: { queue: "orders" } });
    const params = { group: String(groups[0]?.signature) };
    const { read, fields } = await viewer.call("GET /groups/{group}/fields", { params });
    expect(read).toBe(3);
    expect(fields.map(({ path }) => path)).toEqual(["bad", "customer.country"]);
    expect(fields[1]?.values).toEqual([
      { value: "PT", count: 2 },
      { value: "ES", count: 1 },
    ]);
  });
});

test("groups that differ in a word that looks like a value are suggested as one", async () => {
  const kit = await serverKit();
  await queueWithLetters(kit.engine, "orders", [
    { key: "o-1", data: { bad: "no rome archive here" } },
    { key: "o-2", data: { bad: "no lima archive here" } },
    { key: "o-3", data: { bad: "no space on the disk" } },
  ]);
  await queueWithLetters(kit.engine, "mails", [{ key: "m-1", data: { bad: "no such mailbox" } }]);
  const viewer = await kit.as("viewer");
  const { suggestions, total } = await viewer.call("GET /groups/suggestions");
  expect(total).toBe(1);
  expect(suggestions[0]?.groups.map(({ differs_in }) => differs_in).sort()).toEqual(["lima", "rome"]);
  expect(suggestions[0]?.common).toContain("archive here");
  const of = (job: string) => viewer.call("GET /groups/suggestions", { query: { job } });
  expect((await of("orders")).total).toBe(1);
  expect((await of("mails")).total).toBe(0);
  await expect(of("none")).rejects.toMatchObject({ code: "job_not_found" });
});
