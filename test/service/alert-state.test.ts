/** The stored state of alerts, as later versions read what earlier ones wrote. */
import { expect, it } from "vitest";
import { alertStateFromJson, NO_ALERTS } from "../../src/service/alert-state.ts";

const LAST_SENT = { pager: { raisedAt: 1, at: 2, isOver: false } };
const ALERT = { key: "k", rule: "depth", kind: "depth", queue: "q", severity: "warning", value: 2, limit: 1 };
const TEXTS = { text: "Deep.", overText: "No longer deep.", raisedAt: 1 };

it("reads when alerts were last sent from documents of earlier versions, which call it `told`", () => {
  const stored = (name: string) =>
    alertStateFromJson({
      ...JSON.parse(JSON.stringify(NO_ALERTS)),
      alerts: { k: { ...ALERT, ...TEXTS, [name]: LAST_SENT } },
    });
  expect(stored("told").alerts.k?.sent).toEqual(LAST_SENT);
  expect(stored("told")).toEqual(stored("sent"));
});
