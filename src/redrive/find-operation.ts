/** Finds an operation by what a person calls it: its id or the beginning of it. */
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { Operation } from "../item/operation.ts";

const CANDIDATES_MAX = 6;

/** Exactly one, or an error that says which there are. */
export async function requireOperation(engine: Engine, idOrPrefix: string): Promise<Operation> {
  const exact = await engine.findOperation(idOrPrefix);
  if (exact !== null) return exact;
  const fitting = (await engine.listOperations({})).filter(({ id }) => fits(id, idOrPrefix));
  const [only, second] = fitting;
  if (only === undefined) {
    throw new WorkError("operation_not_found", `There is no operation ${idOrPrefix}.`, {
      hint: "`redrive ops list` lists all.",
    });
  }
  if (second === undefined) return only;
  throw severalOperations(`${idOrPrefix} fits several operations`, fitting, "Give more of the id.");
}

/** The `op-` in front may be left out. */
function fits(id: string, prefix: string): boolean {
  return prefix !== "" && (id.startsWith(prefix) || id.startsWith(`op-${prefix}`));
}

/** No operation named: the only one that has not ended, or an error that lists those there are. */
export async function onlyOpenOperation(engine: Engine): Promise<Operation> {
  const open = await engine.listOperations({ open: true });
  const [only, second] = open;
  if (only === undefined) {
    throw new WorkError("operation_not_found", "There is no operation to go on with: all have ended.");
  }
  if (second === undefined) return only;
  throw severalOperations(`${open.length} operations have not ended`, open, "Name one of them.");
}

function severalOperations(what: string, operations: readonly Operation[], hint: string): WorkError {
  const names = operations
    .slice(0, CANDIDATES_MAX)
    .map(({ id, kind, queue }) => `${id} (${kind} of ${queue})`);
  const more = operations.length > CANDIDATES_MAX ? ", …" : "";
  return new WorkError("ambiguous", `${what}: ${names.join(", ")}${more}.`, { hint });
}
