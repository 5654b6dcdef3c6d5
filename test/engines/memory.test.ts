import { openMemoryEngine } from "../../src/engines/sqlite/open.ts";
import { engineSuite } from "../conformance/suite.ts";

engineSuite("memory", { open: async (clock) => openMemoryEngine({ clock }) });
