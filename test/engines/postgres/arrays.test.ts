/** Lists of values come to the server as they are. */
import { afterAll, expect, it } from "vitest";
import { storable } from "../../../src/engines/postgres/arrays.ts";
import { Session } from "../../../src/engines/postgres/session.ts";
import { postgresUrl } from "../../support/postgres-stores.ts";
import { fc } from "../../support/properties.ts";

const session = new Session({ url: postgresUrl("public") });
afterAll(() => session.close());

async function arrived(list: readonly (string | null)[]): Promise<readonly (string | null)[]> {
  const row = await session.readSnapshot((tx) =>
    tx.get<{ list: string }>("SELECT to_json(?::text[])::text AS list", list),
  );
  return JSON.parse(row?.list ?? "[]");
}

it("texts with quotes, backslashes, control characters and texts that look like null are unchanged", async () => {
  const list = [
    '{"a": "b\\\\n"}',
    "a\nb\tc\u0001",
    "\\n",
    "\\u0041",
    '"',
    "\\",
    "null",
    "NULL",
    "",
    "{,}",
    null,
    "😀 é",
  ];
  expect(await arrived(list)).toEqual(list);
});

it("many texts are unchanged, one by one and beside another special one", async () => {
  const text = fc.string({ unit: "grapheme", maxLength: 12 }).map((value) => value.replaceAll("\0", ""));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(text), { maxLength: 20 }), async (list) => {
      expect(await arrived(list)).toEqual(list);
      expect(await arrived([...list, "\n"])).toEqual([...list, "\n"]);
    }),
    { numRuns: 60 },
  );
});

it("a NUL is replaced by its symbol", async () => {
  expect(await arrived(["a\0b", "c"])).toEqual(["a\u2400b", "c"]);
});

it("numbers and booleans are written as PostgreSQL reads them", () => {
  expect(storable([1, -2.5, 1e21, null, true])).toBe("{1,-2.5,1e+21,null,true}");
});
