/** The judge of the torture must find what it looks for: each testimony here breaks one promise. */
import { expect, it } from "vitest";
import { judge, type Testimony } from "../../bench/torture/judge.mjs";

type Attempts = Testimony["items"][number]["attempts"];
type Ledger = Testimony["ledger"];

const succeeded = { number: 1, outcome: "succeeded", endedAt: 1000 };
const START = line("start", 1, 500);
const DONE = line("done", 1, 900);

it("a correct record has no violations", () => {
  expect(judgeOne("done", [succeeded], [START, DONE])).toEqual([]);
  const dead = [{ number: 1, outcome: "failed", endedAt: 1000 }];
  expect(judgeOne("dead", dead, [START])).toEqual([]);
});

it("an attempt that was lost before its command began is no violation", () => {
  const attempts = [
    { number: 1, outcome: "lost", endedAt: 100 },
    { ...succeeded, number: 2 },
  ];
  expect(judgeOne("done", attempts, [line("start", 2, 500), line("done", 2, 900)])).toEqual([]);
});

it("a success that was never acknowledged may be repeated", () => {
  const attempts = [
    { number: 1, outcome: "lost", endedAt: 950 },
    { ...succeeded, number: 2 },
  ];
  const ledger = [START, DONE, line("start", 2, 960), line("done", 2, 990)];
  expect(judgeOne("done", attempts, ledger)).toEqual([]);
});

it.each<[string, string, Attempts, Ledger, RegExp]>([
  [
    "a start without a record",
    "done",
    [succeeded],
    [START, DONE, line("start", 2, 600)],
    /attempt 2 .* has no record/,
  ],
  ["an attempt that was started twice", "done", [succeeded], [START, START, DONE], /started twice/],
  [
    "a success that the command does not know of",
    "done",
    [succeeded],
    [START],
    /never said that it was done/,
  ],
  [
    "a start after the acknowledged success",
    "done",
    [succeeded],
    [START, DONE, line("start", 1, 1500)],
    /500 ms after/,
  ],
  ["done without a success", "done", [{ ...succeeded, outcome: "failed" }], [START], /with 0 successes/],
  ["a success that was taken back", "dead", [succeeded], [START, DONE], /is dead and has a success/],
  [
    "an attempt without an end",
    "done",
    [succeeded, { number: 2, outcome: "running" }],
    [START, DONE],
    /no end on record/,
  ],
  ["an item that was left over", "ready", [], [], /still ready/],
])("%s is found", (_name, state, attempts, ledger, sentence) => {
  expect(judgeOne(state, attempts, ledger).join("\n")).toMatch(sentence);
});

it("items that are missing in the store are found, whether they were only read or even started", () => {
  const found = judge({ inputIds: ["read"], items: [], ledger: [{ ...START, item: "started" }] });
  expect(found).toEqual([
    "read was in the input and is not in the store",
    "started was started and is not in the store",
  ]);
});

function judgeOne(state: string, attempts: Attempts, ledger: Ledger): string[] {
  return judge({ inputIds: ["a"], items: [{ itemId: "a", state, attempts }], ledger });
}

function line(what: "start" | "done", attempt: number, at: number): Ledger[number] {
  return { what, item: "a", attempt, pid: 42, at };
}
