import { openMemoryEngine } from "../../src/engines/memory/open.ts";
import { engineSuite } from "../conformance/suite.ts";

engineSuite("memory", { open: async (clock) => openMemoryEngine({ clock }) });
