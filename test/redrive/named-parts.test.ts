/** What an expression about letters looks at, told by its text. */
import { expect, it } from "vitest";
import { LETTER_PARTS } from "../../src/engine.ts";
import { openMemoryEngine } from "../../src/engines/sqlite/open.ts";
import { LETTER_FIELDS, letterFieldsToJson } from "../../src/item/letter.ts";
import { partsNamedIn } from "../../src/redrive/named-parts.ts";
import { selectPage } from "../../src/redrive/select.ts";
import { QUEUE, Workbench } from "../conformance/workbench.ts";
import { buried, retried } from "../support/settlements.ts";
import { TestClock } from "../support/test-clock.ts";

const WHOLE = ["data", "record", "times", "failures", "additions"];

it.each([
  ["item.n > 3", ["data"]],
  ["letter.queue == 'q' && letter.error_signature != ''", []],
  ["failure.exit_code == 1", ["last_failure"]],
  ["failure.exit_code == 1 && item.n > 3", ["data", "last_failure"]],
  ["letter.failure_count > 2", ["times"]],
  ["letter.?poison.orValue(false)", ["record"]],
  ['letter["reason"] != ""', ["record"]],
  ['letter[?"reason"].hasValue()', ["record"]],
  ["has(letter . notes)", ["additions"]],
  ["letter.item_data.n == 1", ["data"]],
  ["letter.failure_history.size() > 1 && failure.exit_code == 1", ["failures"]],
  ["dyn(letter).state == 'dead'", ["record"]],
  ["type(dyn(letter)) == type({})", WHOLE],
  ["[letter].exists(one, one.state == 'dead')", WHOLE],
  ["letter.queue == 'q' || cel.bind(l, letter, l.state == 'dead')", WHOLE],
  ["item.word == 'letter'", WHOLE],
  ["true", []],
])("%s looks at %j", (where, parts) => {
  expect([...partsNamedIn(where)].sort()).toEqual([...parts].sort());
});

it("every field of a letter is read if the parts that it needs are requested", async () => {
  const clock = new TestClock();
  const bench = new Workbench(openMemoryEngine({ clock }), clock);
  await bench.job(QUEUE);
  await bench.registerHolder();
  await bench.add("a");
  await bench.settle(retried(await bench.leaseOne()));
  const artifacts = { worktreePath: "/tmp/w", branchName: "b" };
  await bench.settle(buried(await bench.leaseOne(), { poison: true, worktreeArtifacts: artifacts }));
  const [letter] = (await bench.engine.listLetters({ limit: 1 })).letters;
  await bench.engine.addNote(letter?.ref ?? 0, { author: "ada", text: "seen" });
  const [whole] = (await bench.engine.listLetters({ limit: 1, parts: LETTER_PARTS })).letters;
  for (const field of LETTER_FIELDS) {
    const parts = partsNamedIn(`letter.${field} == 1`);
    const [part] = (await bench.engine.listLetters({ limit: 1, parts })).letters;
    const json = (one: typeof whole) => one && letterFieldsToJson(one, [field]);
    expect(json(part)).toEqual(json(whole));
  }
  await bench.close();
});

it("a page selected by an expression has complete letters, whatever the expression reads", async () => {
  const clock = new TestClock();
  const bench = new Workbench(openMemoryEngine({ clock }), clock);
  await bench.job(QUEUE);
  await bench.registerHolder();
  await bench.bury(["a", "b"]);
  const { letters } = await bench.engine.listLetters({ limit: 2 });
  for (const where of [
    "true",
    "letter.queue != ''",
    "failure.exit_code == 101",
    "letter.failure_count == 1",
  ]) {
    const page = await selectPage(bench.engine, { filter: {}, where }, { limit: 2 });
    expect(page).toMatchObject({ letters, total: 2 });
  }
  await bench.close();
});
