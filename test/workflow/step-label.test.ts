import { expect, test } from "vitest";
import { stepName } from "../../src/workflow/step-label.ts";
import { shell, stepOf } from "./run-steps/step-kit.ts";

test.each([
  ["cargo test", "cargo test"],
  ["  cargo test --all\n", "cargo test --all"],
  ["./lint.sh ${item}", "./lint.sh …"],
  ["pay ${item.id} --to ${item.to:-nobody} now", "pay … --to … now"],
  ["echo $${HOME}; exit 5", "echo ${HOME}; exit 5"],
  ["", "the script"],
])("a short script is its own name, without values: %j", (script, name) => {
  expect(stepName(shell(script))).toBe(name);
  expect(stepName(shell(script, { id: "build" }))).toBe(name);
});

test.each([
  ["npm run build\nnpm test\n", "npm run build …"],
  ["# why\nset -eu\ncd ${item.folder}\nout=$(pwd)\nnpm run build && npm test", "npm run build …"],
  ["set -eu\nTARGET='a b'\ncd web\nnpm run build 2>&1 | tail -n 3", "npm run build 2>&1 …"],
  [`curl -sf "https://example.org/a;b?c=$X" -o \${item.id}.json && jq . \${item.id}.json`, "curl -sf …"],
  [`convert ${"--option value ".repeat(20)}`, "convert --option value …"],
  ["set -e\ncd web", "set -e …"],
])(
  "a longer script is named after its first command, and after its id if it has one: %j",
  (script, start) => {
    const [command = ""] = start.split(" …");
    const name = stepName(shell(script));
    expect(name.startsWith(command)).toBe(true);
    expect(name.endsWith(" …")).toBe(true);
    expect(name.length).toBeLessThanOrEqual(42);
    expect(name).not.toContain("${");
    expect(stepName(shell(script, { id: "build" }))).toBe(`step build (${name})`);
  },
);

test("the path of a write_file step is also shown without values", () => {
  const step = stepOf({ kind: "write_file", path: "out/${item.id}.txt", content: "" });
  expect(stepName(step)).toBe("write_file out/….txt");
});
