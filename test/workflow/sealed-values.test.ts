/** What is captured is stored without its secrets, and is whole again where they are known. */
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/std/json.ts";
import { sealerOf } from "../../src/workflow/secrets.ts";
import { fc } from "../support/properties.ts";

const SECRETS = [
  { name: "TOKEN", value: "t0ken" },
  { name: "LONGER", value: "t0ken-and-more" },
];
const same = (text: string) => text;

describe("sealed values", () => {
  it("have the names of secrets in their place, at any depth and in keys", () => {
    const { seal, unseal } = sealerOf(SECRETS, same);
    const values = { a: "x t0ken-and-more y", b: [{ t0ken: "t0kent0ken" }, 1, null] };
    const sealed = seal(values);
    expect(JSON.stringify(sealed)).not.toContain("t0ken");
    expect(JSON.stringify(sealed)).toContain("LONGER");
    expect(unseal(sealed)).toEqual(values);
  });

  it("are unchanged after sealing and unsealing", () => {
    const { seal, unseal } = sealerOf(SECRETS, same);
    const json = fc.dictionary(fc.string(), fc.oneof(fc.jsonValue(), fc.constant("at0ken-and-more t0ken")));
    fc.assert(
      fc.property(json, (values) => {
        const sealed = seal(values as Record<string, Json>);
        expect(JSON.stringify(sealed)).not.toContain("t0ken");
        expect(unseal(sealed)).toEqual(values);
      }),
    );
  });

  it("lose what the mask matches besides", () => {
    const { seal } = sealerOf(SECRETS, (text) => text.replace("t0k%65n", "***"));
    expect(seal({ a: "t0k%65n" })).toEqual({ a: "***" });
  });

  it("leave an empty secret alone", () => {
    expect(sealerOf([{ name: "NONE", value: "" }], same).seal({ a: "x" })).toEqual({ a: "x" });
  });
});
