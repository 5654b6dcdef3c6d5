/** `redrive store check`: verifies the store, and says what is wrong. */
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";

export async function storeCheck(context: Context): Promise<number> {
  const problems = await context.withStore((engine) => engine.check());
  const document = { ok: problems.length === 0, problems: problems.map((problem) => ({ ...problem })) };
  context.answer(document, () =>
    problems.length === 0
      ? "The store is sound: the file and every invariant hold.\n"
      : `${problems.map(({ rule, detail }) => `${rule}: ${detail}\n`).join("")}${problems.length} problems.\n`,
  );
  return problems.length === 0 ? EXIT.done : EXIT.failed;
}
