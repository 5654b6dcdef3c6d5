/** The SDK for MCP is installed by those who use it; without it the error names the package. */
import { expect, it } from "vitest";
import { loadSdk } from "../../src/delivery/mcp.ts";

it("a target that speaks MCP without the SDK is refused with the package to install", async () => {
  const missing = () => import(`@modelcontextprotocol/${"nowhere"}/index.js`);
  await expect(loadSdk(missing)).rejects.toMatchObject({
    code: "usage",
    hint: expect.stringContaining("@modelcontextprotocol/sdk"),
  });
});

it("any other error while it is loaded is passed on", async () => {
  const broken = async () => Promise.reject(new SyntaxError("x"));
  await expect(loadSdk(broken)).rejects.toBeInstanceOf(SyntaxError);
});
