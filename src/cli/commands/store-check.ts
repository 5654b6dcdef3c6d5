/** `redrive store check`: verifies the store, and says what is wrong. */
import type { Problem } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";

export async function storeCheck(context: Context): Promise<number> {
  const problems = await context.withStore((engine) => engine.check().catch(damageOf), { mustExist: true });
  const document = { ok: problems.length === 0, problems: problems.map((problem) => ({ ...problem })) };
  context.answer(document, () =>
    problems.length === 0
      ? "The store is sound: nothing is damaged, and every invariant holds.\n"
      : `${problems.map(({ rule, detail }) => `${rule}: ${detail}\n`).join("")}${problems.length} problems.\n`,
  );
  return problems.length === 0 ? EXIT.done : EXIT.failed;
}

/** A file that is too damaged to be asked has been checked, and found wanting. */
function damageOf(error: unknown): readonly Problem[] {
  if (!(error instanceof WorkError) || error.code !== "store_corrupt") throw error;
  return [{ rule: "integrity", detail: error.message }];
}
