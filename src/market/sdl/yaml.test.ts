import assert from "node:assert/strict";
import { test } from "node:test";
import { readSdl } from "./sdl.ts";

const sdlText = `
version: "2.0"
services:
  web:
    image: nginx
    expose: [{ port: 80, to: [{ global: true }] }]
profiles:
  compute:
    small: { resources: { cpu: { units: 0.1 }, memory: { size: 512Mi }, storage: { size: 1Gi } } }
  placement:
    akash: { pricing: { small: { denom: uakt, amount: 10 } } }
deployment:
  web: { akash: { profile: small, count: 1 } }
`;

test("a quoted text may go on at any indentation, as the network's tools read it", () => {
  const cases: [string, string][] = [
    ["    args:\n      - 'one;\n      two'", "one; two"],
    ['    args:\n      - "one;\n  two"', "one; two"],
    ["    args: ['it''s # one\n\ntwo', three]", "it's # one\ntwo"],
    ['    args:\n      - "one\\\n\\"two\\""', 'one"two"'],
  ];
  for (const [args, expected] of cases) {
    const text = sdlText.replace("    image: nginx\n", `    image: nginx\n${args}\n`);
    assert.notEqual(text, sdlText);
    assert.equal(readSdl(text).manifest[0]?.services[0]?.args?.[0], expected);
  }
  const rejected = ["'one\n--- two'", "'one\ntwo", Array(21).fill("'one\ntwo'").join("\n      - ")];
  for (const arg of rejected) {
    const text = sdlText.replace("    image: nginx\n", `    image: nginx\n    args:\n      - ${arg}\n`);
    assert.throws(() => readSdl(text), { code: "AKP_SDL_REFUSED" });
  }
});

test("whole numbers are read as Go reads them", () => {
  const cases: [string, number][] = [
    ["0080", 80],
    ["0120", 80],
    ["0o120", 80],
    ["0x50", 80],
    ["+0120", 80],
    ["+0o120", 80],
    ["+0x5_0", 80],
    ["0b1010000", 80],
    ["+80", 80],
    ["80.0", 80],
    ["8e1", 80],
    ["8_0", 80],
  ];
  for (const [written, expected] of cases) {
    const text = sdlText.replace("port: 80", `port: ${written}`);
    assert.notEqual(text, sdlText);
    assert.equal(readSdl(text).manifest[0]?.services[0]?.expose[0]?.port, expected, written);
  }
  for (const written of ["80.5", "-80", '"80"', "0x", "80e-2", "1e400", "0200000", "_80", "++80"]) {
    assert.throws(() => readSdl(sdlText.replace("port: 80", `port: ${written}`)), /port/, written);
  }
});
