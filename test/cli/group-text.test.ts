/** Renders groups as text: states, conditions of ignored groups, and earlier fixes. */
import { describe, expect, test } from "vitest";
import {
  fixLine,
  fixText,
  groupListText,
  groupText,
  stateText,
  untilText,
} from "../../src/cli/render/group.ts";
import { paintFor } from "../../src/cli/render/text.ts";
import type { GroupFix, GroupRecord } from "../../src/item/group.ts";
import type { Operation } from "../../src/item/operation.ts";
import { bestFix, type GroupSummary } from "../../src/redrive/groups.ts";

const AT = Date.UTC(2026, 10, 4, 12, 30);
const RECORD: GroupRecord = {
  signature: "0123456789abcdef",
  pattern: "Timeout::no answer",
  state: "open",
  since: AT,
  regressions: 0,
  isRegression: false,
  notes: [],
  fixes: [],
};
const FIX: GroupFix = {
  at: AT,
  kind: "requeue",
  count: 12,
  operationId: "op-x",
  author: "ann",
  waitedMs: 300_000,
};
const GROUP: GroupSummary = {
  signature: RECORD.signature,
  pattern: RECORD.pattern,
  count: 1200,
  errorType: "Timeout",
  errorClass: "transient",
  firstAt: AT,
  lastAt: AT + 3_600_000,
  jobs: ["orders", "mails"],
  state: "open",
  isRegression: false,
  algorithms: ["redrive-1"],
};
const SCREEN = { paint: paintFor({ isTty: false, env: {} }), columns: 100 };

const LIST = { total: 1, next: null, leftOut: { open: 0, resolved: 0, ignored: 0 } };
const NOTHING_OUTDATED = { letters: 0, algorithms: [] };

test("the use of agents is a column of the list and a line of the group, if there were agents", () => {
  const usage = { costUsd: 12.5, inputTokens: 41_000, outputTokens: 1000, turns: 17 };
  const listed = (group: GroupSummary) => {
    const screen = { ...SCREEN, now: AT, shown: [group], suggested: 0 };
    return groupListText({ ...LIST, groups: [group], outdated: NOTHING_OUTDATED }, screen);
  };
  expect(listed({ ...GROUP, usage })).toMatch(/LETTERS +COST[\s\S]*1,200 +\$12\.50/);
  expect(listed(GROUP)).not.toContain("COST");
  const shown = groupText({ group: { ...GROUP, usage }, record: RECORD, samples: [] }, [], SCREEN);
  expect(shown).toMatch(/Agents +\$12\.50 · 42k tokens · 17 turns/);
});

/** An edit of which only the plan and the author are read. */
const edit = (plan: Operation["plan"]) => ({ id: "op-e", author: "bob", plan }) as unknown as Operation;

describe("an earlier fix", () => {
  test("a retry, and how long after the failure", () => {
    expect(fixLine({ fix: FIX })).toBe(
      "2026-11-04 12:30  12 letters succeeded: retry op-x by ann unchanged, 5m 00s after they died",
    );
  });

  test.each([
    [{ set: [{ path: "url", value: "item.link" }] }, "set url=item.link"],
    [{ patch: { size: 1 } }, 'patch {"size":1}'],
    [{ replace: { data: 1, revision: 1 } }, "new data"],
    [{ set: [{ path: "a", value: "x".repeat(100) }] }, `set a=${"x".repeat(58)}…`],
  ])("an edit, with what it changed: %j", (plan, words) => {
    const fix = { ...FIX, kind: "manual_fix", editId: "op-e" } as const;
    expect(fixText({ fix, edit: edit(plan) })).toBe(`edit op-e (${words}) by bob, then retry op-x`);
  });

  test("an edit whose operation is gone, a rule, and a retry without a record", () => {
    expect(fixText({ fix: { ...FIX, kind: "manual_fix", editId: "op-e" } })).toBe(
      "edit op-e by ann, then retry op-x",
    );
    expect(fixText({ fix: { ...FIX, kind: "auto_fix", rule: "https" } })).toBe(
      "the rule https changed their data, then retry op-x",
    );
    const { operationId, author, ...bare } = FIX;
    expect(fixText({ fix: bare })).toBe("a retry unchanged, 5m 00s after they died");
  });

  test("the most frequent one is the best, and among equals the first", () => {
    expect(
      bestFix([
        { count: 2, n: 1 },
        { count: 5, n: 2 },
        { count: 5, n: 3 },
      ]),
    ).toEqual({ count: 5, n: 2 });
    expect(bestFix([])).toBeUndefined();
  });
});

describe("the state of a group", () => {
  test.each<[Partial<GroupRecord>, string]>([
    [{}, "open since 2026-11-04 12:30"],
    [{ state: "resolved", author: "ann" }, "resolved since 2026-11-04 12:30 by ann"],
    [
      { isRegression: true, regressions: 2 },
      "reopened as a regression, since 2026-11-04 12:30; came back 2 times after it was resolved",
    ],
    [{ state: "ignored", ignoreUntil: { count: 1 } }, "ignored until 1 new letter since 2026-11-04 12:30"],
  ])("%j", (change, words) => {
    expect(stateText({ ...RECORD, ...change })).toBe(words);
  });

  test("until when it is ignored", () => {
    expect(untilText()).toBe("until someone reopens it");
    expect(untilText({ at: AT, count: 10, perHour: 5 })).toBe(
      "until 2026-11-04 12:30 or 10 new letters or more than 5 within an hour",
    );
  });

  test("in full, with the next steps", () => {
    const record = { ...RECORD, notes: [{ at: AT, author: "ann", text: "call them" }] };
    const text = groupText({ group: GROUP, record, samples: ["i1", "i2"] }, [{ fix: FIX }], SCREEN);
    for (const part of [
      "Error     no answer",
      "Pattern   Timeout::no answer",
      "Letters   1,200 waiting; first 2026-11-04 12:30, last 2026-11-04 13:30",
      "Type      Timeout, transient",
      "Jobs      orders, mails",
      "Samples   i1, i2",
      "Notes\n  2026-11-04 12:30  ann: call them",
      "What helped before\n  2026-11-04 12:30  12 letters succeeded: retry op-x",
      `  redrive dlq retry orders --group ${RECORD.signature} --canary`,
    ]) {
      expect(text).toContain(part);
    }
    expect(text).not.toContain("groups open");
  });

  test("offers to repeat what helped most letters before", () => {
    const record = { ...RECORD, state: "open" } as const;
    const textOf = (...fixes: Parameters<typeof groupText>[1]) =>
      groupText({ group: GROUP, record, samples: [] }, fixes, { ...SCREEN, columns: 200 });
    const { signature } = RECORD;
    const edited = { ...FIX, kind: "manual_fix", count: 20, editId: "op-e" } as const;
    const set = edit({ set: [{ path: "country", value: '"GB"' }] });
    expect(textOf({ fix: FIX }, { fix: edited, edit: set })).toMatch(
      new RegExp(
        `edit --group ${signature} --set 'country="GB"' --dry-run +this edit helped 20 letters before`,
      ),
    );
    expect(textOf({ fix: FIX })).toMatch(
      new RegExp(`retry orders --group ${signature} +retrying unchanged helped 12 letters before`),
    );
    expect(textOf({ fix: { ...edited } })).not.toContain("helped 20");
  });

  test("without letters offers no retry", () => {
    const group = { ...GROUP, count: 0, jobs: [], state: "resolved" } as const;
    const text = groupText({ group, record: { ...RECORD, state: "resolved" }, samples: [] }, [], SCREEN);
    expect(text).toContain("Letters   none waiting");
    expect(text).not.toContain("redrive dlq");
    expect(text).toContain(`redrive groups open ${RECORD.signature}`);
  });
});

describe("a list", () => {
  const list = {
    groups: [GROUP],
    next: null,
    leftOut: { open: 0, resolved: 2, ignored: 1 },
    suggested: 0,
    outdated: { letters: 0, algorithms: [] },
  };
  const textOf = (change: Partial<typeof list>, columns = 100) => {
    const given = { ...list, ...change };
    const { groups: shown, suggested } = given;
    const screen = { ...SCREEN, columns, shown, suggested, now: AT + 7_200_000 };
    return groupListText({ ...given, total: shown.length }, screen);
  };

  test("fits the terminal, and has the numbers of shown and omitted groups", () => {
    const text = textOf({});
    expect(text).toContain(
      "0123456789abcdef    1,200  open   2h 00m ago  1h 00m ago  orders +1  no answer\n",
    );
    expect(text).toMatch(/^Timeout\nGROUP/);
    expect(text).toContain("1 of 1 group.\nHidden: 2 resolved, 1 ignored (--state all).\n");
    const narrow = textOf({}, 60).split("\n");
    expect(Math.max(...narrow.slice(0, 2).map((line) => line.length))).toBeLessThanOrEqual(60);
  });

  test("drops other columns before the title is cut to a few words", () => {
    const pattern = `CommandFailed::${"word ".repeat(20)}`;
    const text = textOf({ groups: [{ ...GROUP, pattern }] });
    expect(text).not.toContain("JOBS");
    expect(text).toMatch(/word word word word .*…/);
    expect(textOf({ groups: [{ ...GROUP, pattern }] }, 200)).toContain("orders +1");
  });

  test("shows regressions", () => {
    expect(textOf({ groups: [{ ...GROUP, isRegression: true }] })).toContain("  regression  ");
  });

  test("counts the groups that look like others", () => {
    expect(textOf({ suggested: 3 })).toContain("3 groups may belong together: redrive groups suggest\n");
    expect(textOf({})).not.toContain("suggest");
  });

  test("reports that an older algorithm grouped letters, with the command that changes it", () => {
    const outdated = { letters: 1, algorithms: ["redrive-0"] };
    expect(textOf({ outdated } as Partial<typeof list>)).toContain(
      "1 letter was grouped by an older algorithm (redrive-0): redrive groups rebuild\n",
    );
    expect(textOf({ groups: [] })).toMatch(/^No groups\.\n/);
  });
});
