import { expect, test } from "vitest";
import { ElementsOfPages } from "../../src/std/elements-of-pages.ts";

async function* pagesOf(pages: readonly (readonly number[])[], events: string[] = []) {
  try {
    for (const page of pages) {
      events.push(`page ${page.join("")}`);
      yield page;
    }
  } finally {
    events.push("ended");
  }
}

function elementsOf(pages: readonly (readonly number[])[], events?: string[]) {
  return new ElementsOfPages(pagesOf(pages, events), (page) => page);
}

test("returns the elements of all pages in order, and skips empty pages", async () => {
  const found: number[] = [];
  for await (const element of elementsOf([[], [1, 2], [], [3]])) found.push(element);
  expect(found).toEqual([1, 2, 3]);
});

test("reads no page before its first element is asked for, and none after a break", async () => {
  const events: string[] = [];
  for await (const element of elementsOf([[1, 2], [3]], events)) {
    events.push(`element ${element}`);
    if (element === 2) break;
  }
  expect(events).toEqual(["page 12", "element 1", "element 2", "ended"]);
});

test("gives each of several calls at once its own element", async () => {
  const elements = elementsOf([[1], [2, 3]]);
  const results = await Promise.all(Array.from({ length: 5 }, () => elements.next()));
  expect(results.map(({ value }) => value)).toEqual([1, 2, 3, undefined, undefined]);
});

test("ends after return, with elements left", async () => {
  const elements = elementsOf([[1, 2]]);
  await elements.next();
  await elements.return();
  expect(await elements.next()).toEqual({ value: undefined, done: true });
});

test("rejects if a page cannot be read", async () => {
  const broken = async function* (): AsyncGenerator<readonly number[]> {
    yield [1];
    throw new Error("the store is gone");
  };
  const elements = new ElementsOfPages(broken(), (page) => page);
  expect(await elements.next()).toEqual({ value: 1, done: false });
  await expect(elements.next()).rejects.toThrow("the store is gone");
  expect(await elements.next()).toEqual({ value: undefined, done: true });
});
