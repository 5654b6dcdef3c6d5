/** Reads the selected letters several times in a new process and prints the CPU time of each call. */
import { LIBRARY, timed } from "../kit.mjs";

const { url, where, calls } = JSON.parse(process.argv[2]);
const { openStore, selectLetters } = await import(LIBRARY);

const engine = await openStore(url);
const selection = { filter: {}, ...(where !== undefined && { where }) };
const read = async () => {
  const letters = [];
  for await (const letter of selectLetters(engine, selection)) letters.push(letter);
  return letters.length;
};
const cpuMs = [];
for (let call = 0; call < calls; call += 1) cpuMs.push((await timed(read)).cpuMs);
await engine.close();
console.log(JSON.stringify({ cpuMs }));
