/** Reads letters and the selections of operations page by page, so that memory use is bounded. */
import type { Engine, LetterQuery, StoredLetter } from "../engine.ts";
import type { SelectedLetter } from "../item/operation.ts";

/** Yields the letters of a query in pages of its limit. No page is empty. */
export async function* letterPages(
  engine: Engine,
  query: LetterQuery,
): AsyncGenerator<readonly StoredLetter[]> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await engine.listLetters({
      ...query,
      counted: false,
      ...(cursor !== undefined && { cursor }),
    });
    if (page.letters.length > 0) yield page.letters;
    cursor = page.next;
  }
}

const PAGE_MAX = 500;

export async function* selectedPages(
  engine: Engine,
  operationId: string,
  status: SelectedLetter["status"],
): AsyncGenerator<readonly SelectedLetter[]> {
  for (let after = 0; ; ) {
    const page = await engine.listSelected(operationId, { status, after, limit: PAGE_MAX });
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    after = last.letterSequence;
  }
}
