/** Every invariant is a row of ARCHITECTURE.md and has a test with its number in the title, in a file that the row names. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "./sources.ts";

const COUNT = 12;

const tests = readdirSync(join(ROOT, "test"), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .map((path) => ({ path, text: readFileSync(join(ROOT, "test", path), "utf8") }));

const rows = new Map(
  [...readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8").matchAll(/^\| (\d+) \| (.*) \|$/gm)].map(
    ([, number, row = ""]) => [Number(number), row.split(" | ")],
  ),
);

describe.each(Array.from({ length: COUNT }, (_, index) => index + 1))(
  "the invariant with number %i",
  (number) => {
    const named = tests.filter(({ text }) => new RegExp(`\\b(test|it)\\("invariant ${number}: `).test(text));

    it("has a test with its number in the title", () => {
      expect(named.length).toBeGreaterThan(0);
    });

    it("has a row in ARCHITECTURE.md that names a file with such a test", () => {
      const [sentence = "", where = "", files = ""] = rows.get(number) ?? [];
      expect(sentence).toMatch(/^[A-Z].*\.$/);
      expect(where).toContain("`");
      const [folder = "", ...more] = files.split(/[/,;] ?/);
      const paths = [`${folder}/${more[0]}.ts`, `${folder}/${more[0]}.test.ts`];
      expect(named.map((test) => test.path)).toEqual(
        expect.arrayContaining([expect.toSatisfy((path: string) => paths.includes(path))]),
      );
    });
  },
);
