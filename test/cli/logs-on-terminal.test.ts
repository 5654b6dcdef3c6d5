/** `redrive logs` on a terminal: the output of commands cannot control it. */
import { expect, test } from "vitest";
import { cleanLines } from "../../src/cli/render/log-lines.ts";
import { openWorkshop } from "../journeys/workshop.ts";
import { asPerson } from "../support/person.ts";

test("control characters of an output are visible, and --raw prints the bytes", async () => {
  const workshop = openWorkshop();
  const { job_id } = await workshop.mapJson(
    ["a"],
    "printf 'one\\ttab\\n\\033]52;c;ZXZpbA==\\007two\\233\\n'; exit 3",
    [...["--retries", "0"]],
  );
  const home = workshop.home;
  const seen = await asPerson(["logs", job_id, "a"], {
    home,
    answers: [],
  });
  expect(seen.code, seen.stderr).toBe(0);
  expect(seen.stdout).toContain("one\ttab\n");
  expect(seen.stdout).toContain("two");
  for (const order of ["\u001b", "\u0007"]) expect(seen.stdout).not.toContain(order);
  const raw = await asPerson(["logs", job_id, "a", "--raw"], {
    home,
    answers: [],
  });
  expect(raw.stdout).toContain("\u001b]52;c;ZXZpbA==\u0007two");
  const piped = await workshop.run(["logs", job_id, "a"]);
  expect(piped.stdout).toContain("\u001b]52;c;");
});

test("line breaks and tabs are kept, and CRLF is a line break", () => {
  expect(cleanLines("a\r\nb\tc\n")).toBe("a\nb\tc\n");
  const shown = cleanLines("a\u001b[2Jb\u202e");
  for (const order of ["\u001b", "\u202e"]) expect(shown).not.toContain(order);
});
