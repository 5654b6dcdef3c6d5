/** The steps of the shared SQL code on SQLite. */
import { expect, it } from "vitest";
import { runNow, together } from "../../../src/engines/sql/db.ts";
import { SqliteDb } from "../../../src/engines/sqlite/db.ts";
import { Session } from "../../../src/engines/sqlite/session.ts";
import { TestClock } from "../../support/test-clock.ts";

it("a statement runs when its step is reached, not when it is created", () => {
  const session = new Session({ path: ":memory:", clock: new TestClock(), busyMsMax: 0, readOnly: false });
  session.exec("CREATE TABLE t (n INTEGER)");
  const db = new SqliteDb(session);
  const rows = () => session.all<{ n: number }>("SELECT n FROM t").map(({ n }) => n);
  const [first, second] = [1, 2].map((n) => db.run("INSERT INTO t (n) VALUES (?)", n));
  expect(rows()).toEqual([]);
  if (first === undefined || second === undefined) throw new Error("two steps were written");
  expect(runNow(together(second, first))).toEqual([1, 1]);
  expect(rows()).toEqual([2, 1]);
  session.close();
});
