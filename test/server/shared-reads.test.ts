/** Reads that equal requests share: each begins after the requests that share it, so nobody gets an old answer. */
import { expect, test } from "vitest";
import { SharedReads } from "../../src/server/shared-reads.ts";

/** Reads that end when the test says so. Each returns its number. */
function countedReads() {
  const reads = new SharedReads<number>();
  const open: { readonly key: string; readonly end: () => void; readonly fail: (error: Error) => void }[] =
    [];
  const read = (key: string) => {
    const answer = reads.read(key, () => {
      const number = open.length;
      return new Promise<number>((resolve, reject) => {
        open.push({ key, end: () => resolve(number), fail: reject });
      });
    });
    answer.catch(() => {}); // the test awaits it later
    return answer;
  };
  return { read, open };
}

const turn = () => new Promise(setImmediate);
const turns = async () => {
  for (let left = 5; left > 0; left -= 1) await turn();
};

test("requests that wait together share one read", async () => {
  const { read, open } = countedReads();
  const answers = [read("a"), read("a"), read("b")];
  await turns();
  expect(open.map(({ key }) => key)).toEqual(["a", "b"]);
  for (const { end } of open) end();
  expect(await Promise.all(answers)).toEqual([0, 0, 1]);
});

test("a request that comes while a read runs gets the next one", async () => {
  const { read, open } = countedReads();
  const first = read("a");
  await turns();
  const later = [read("a"), read("a")];
  await turns();
  expect(open).toHaveLength(1);
  open[0]?.end();
  await turns();
  expect(open).toHaveLength(2);
  open[1]?.end();
  expect([await first, ...(await Promise.all(later))]).toEqual([0, 1, 1]);
});

test("an error is thrown to all who share the read, and the next read begins", async () => {
  const { read, open } = countedReads();
  const both = [read("a"), read("a")];
  await turns();
  const next = read("a");
  open[0]?.fail(new Error("no disk"));
  for (const one of both) await expect(one).rejects.toThrow("no disk");
  await turns();
  open[1]?.end();
  expect(await next).toBe(1);
});
