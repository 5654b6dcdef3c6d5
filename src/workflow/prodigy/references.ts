/** Parses the inside of `${…}` in Prodigy's conditions as a path. */

const REFERENCE = /^\s*([A-Za-z_][\w-]*)((?:\.[\w-]+|\[\d+\])*)\s*$/;

/** Returns the names and indexes of a path, or undefined if the text is not a path. */
export function readReference(text: string): readonly (string | number)[] | undefined {
  const match = REFERENCE.exec(text.replace(/^env:/, "env."));
  if (!match) return undefined;
  const [, name = "", rest = ""] = match;
  const steps = Array.from(rest.matchAll(/\.([\w-]+)|\[(\d+)\]/g), ([, field, index]) =>
    index === undefined ? (field ?? "") : Number(index),
  );
  return [name, ...steps];
}
