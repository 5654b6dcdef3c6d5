/** Runs one round of a campaign in its own process: `node campaign-round.mjs '{"kind":…,"seed":…,"minutes":…}'`. */
import { KINDS } from "./campaign-kinds.mjs";

const { kind, ...round } = JSON.parse(process.argv[2]);
const report = await KINDS[kind].run(round);
if (process.send === undefined) console.log(report);
else process.send(report, () => process.exit());
