/** The messages of failed shell steps, the results of validations, and the values of sort keys and prompts. */
import { describe, expect, it } from "vitest";
import { itemsJson, ONE_TRY, openFolder, plainMap } from "./project.ts";

describe("the message of a failed shell step", () => {
  const BUILD = "set -eu\nnpm_config=x\nsh build.sh ${item.id}; ./more.sh\necho never\n";
  const project = () => openFolder({ ...itemsJson("one", "two"), "build.sh": "exit 2" });

  it("names a long script by its id and its first command, the same for every item", async () => {
    const folder = project();
    await folder.runJson({
      map: plainMap([{ id: "build", shell: BUILD }]),
      error_policy: ONE_TRY,
    });
    const messages = (await folder.letters()).map(({ failure_history: [failure] }) => failure?.error_message);
    const message = "step build (sh build.sh …) failed with exit code 2";
    expect(messages).toEqual([message, message]);
  });

  it("is a short script itself, without an unfilled variable", async () => {
    const folder = project();
    await folder.runJson({ map: plainMap("sh build.sh ${item.id}"), error_policy: ONE_TRY });
    const letters = await folder.letters();
    expect(letters.map(({ failure_history: [failure] }) => failure?.error_message)).toEqual(
      Array(2).fill("sh build.sh … failed with exit code 2"),
    );
    expect(new Set(letters.map(({ error_signature }) => error_signature)).size).toBe(1);
  });
});
