/** `redrive store info`: where the store is and what is in it. */
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";

export async function storeInfo(context: Context): Promise<number> {
  const info = await context.withStore((engine) => engine.info(), { mustExist: true });
  const { engine, location, bytes, jobs, items, letters, attempts, events } = info;
  const document = {
    engine,
    location,
    schema_version: info.schemaVersion,
    bytes,
    jobs,
    items,
    letters,
    attempts,
    events,
  };
  context.answer(document, () =>
    Object.entries(document)
      .map(
        ([name, value]) =>
          `${name.replace("_", " ").padEnd(15)} ${typeof value === "number" ? value.toLocaleString("en") : value}\n`,
      )
      .join(""),
  );
  return EXIT.done;
}
