/** Checkpoints of Prodigy: which step is next, and which items are left. */
import { expect, test } from "vitest";
import { continueFrom, readProdigyCheckpoint } from "../../src/workflow/prodigy/checkpoint.ts";
import { parseWorkflow } from "../../src/workflow/read-workflow.ts";

const read = (content: unknown) => readProdigyCheckpoint(JSON.stringify(content), "c.json");

function continued(text: string, content: unknown) {
  const parsed = parseWorkflow(text, { file: "w.yml" });
  if (!("workflow" in parsed)) throw new Error(JSON.stringify(parsed.problems));
  return continueFrom(parsed.workflow, read(content), parsed.stepStarts).map;
}

const STATE = { current_step_index: 2, total_steps: 3, status: "Interrupted" };

test("a sequential workflow continues at its next step, with its captures", () => {
  const variables = { version: "1.2", "shell.output": "last", item: "no", "map.total": "no" };
  const checkpoint = { execution_state: STATE, variable_state: variables, completed_steps: [] };
  expect(continued("- shell: a\n- shell: b\n- shell: c ${version}\n", checkpoint).startAt).toEqual({
    step: 2,
    variables: { version: "1.2", shell: expect.objectContaining({ output: "last" }) as object },
  });
});

test("a session has the same", () => {
  const session = { workflow_data: { current_step: 1, completed_steps: [0], variables: { x: "1" } } };
  expect(continued("- shell: a\n- shell: b\n", session).startAt).toEqual({ step: 1, variables: { x: "1" } });
});

test("steps that stand for one step of the file are counted as one", () => {
  const text =
    '- shell: a\n  id: one\n  outputs: { x: { file_pattern: "*.md" } }\n- shell: "b ${cmd:ls}"\n- shell: c\n';
  const steps = (next: number) =>
    continued(text, { execution_state: { current_step_index: next } }).startAt?.step;
  expect([0, 1, 2].map(steps)).toEqual([0, 2, 4]);
});

const MAP =
  "mode: mapreduce\nmap:\n  input: i.json\n  json_path: $[*]\n  filter: score > 3\n  sort_by: id\n  offset: 2\n  max_items: 1\n  distinct: id\n  agent_template: [{ shell: a }]\n";

test("a map phase has the items that are pending, were running or have failed", () => {
  const item = (id: string) => ({ id, data: { n: id } });
  const state = {
    pending_items: [item("p")],
    in_progress_items: { r: { work_item: item("r"), agent_id: "a" } },
    completed_items: [{ work_item: item("c") }],
    failed_items: [{ work_item: item("f"), error: "no" }],
  };
  const map = continued(MAP, { metadata: { phase: "Map" }, work_item_state: state });
  expect(map).toMatchObject({ input: { items: [item("p"), item("r"), item("f")] }, sortBy: [], offset: 0 });
  expect(Object.keys(map)).not.toEqual(expect.arrayContaining(["filter"]));
  expect([map.jsonPath, map.maxItems, map.distinct]).toEqual([undefined, undefined, undefined]);
});

test("items without their data are an error, because they would be left out", () => {
  const state = { pending: ["item-1", { id: "item-2", data: 2 }], in_progress: [], failed: [] };
  expect(() => read({ work_items: state })).toThrow("names items without their data: 1 of 2");
});

test("the oldest form names items by their number", () => {
  const job = {
    work_items: ["a", "b", "c"],
    pending_items: ["item_2"],
    failed_agents: { item_0: { attempts: 1 } },
  };
  expect(continued(MAP, job).input).toEqual({
    items: [
      { id: "item_2", data: "c" },
      { id: "item_0", data: "a" },
    ],
  });
});

test.each([
  ["[]", "is not a checkpoint of Prodigy"],
  ["{", "is not a checkpoint of Prodigy"],
])("%s is refused", (text, message) => {
  expect(() => readProdigyCheckpoint(text, "c.json")).toThrow(message);
});

test.each([
  ["- shell: a\n", { work_items: [], pending_items: [] }, "the checkpoint has items"],
  [MAP, { execution_state: STATE }, "the checkpoint has steps, and no items"],
  ["- shell: a\n- shell: b\n", { execution_state: STATE }, "the workflow has 2 steps, and 2 are done"],
])("a checkpoint of another workflow is refused", (text, content, message) => {
  expect(() => continued(text, content)).toThrow(message);
});
