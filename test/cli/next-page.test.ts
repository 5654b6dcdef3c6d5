/** The command for the next page: the same words with another cursor, quoted for a shell. */
import { expect, test } from "vitest";
import { nextPageText } from "../../src/cli/render/layout.ts";
import { paintFor } from "../../src/cli/render/text.ts";

const paint = paintFor({ isTty: false, env: {} });

test("the words are repeated with another cursor", () => {
  const words = ["errors", "--queue", "a b", "--cursor", "9", "--limit", "5"];
  expect(nextPageText({ paint, words }, "17")).toContain(
    "redrive errors --queue 'a b' --limit 5 --cursor 17\n",
  );
  expect(nextPageText({ paint, words: ["dlq", "list", "--cursor=9"] }, "x")).toContain(
    "redrive dlq list --cursor x\n",
  );
});

test("the last page has no next one", () => {
  expect(nextPageText({ paint, words: [] }, null)).toBe("");
});
