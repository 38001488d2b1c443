import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../test/support/runs.ts";
import { armor, known } from "../../../test/support/samples/keyring-samples.ts";
import { type Armor, crc24, readArmor } from "./armored-key.ts";

function read(text: string): Armor {
  const result = readArmor(text);
  if ("fault" in result) throw new Error(result.fault);
  return result;
}

function faultOf(text: string): string {
  const result = readArmor(text);
  return "fault" in result ? result.fault : "none";
}

test("the checksum is that of the RFC", () => {
  // The check value of CRC-24/OPENPGP.
  assert.equal(crc24(Buffer.from("123456789")), 0x21cf02);
});

test("an export has its kind, its headers and its bytes", () => {
  const { kind, headers, bytes } = read(known.argon2Export);
  assert.equal(kind, "TENDERMINT PRIVATE KEY");
  assert.deepEqual([...headers.keys()].sort(), ["kdf", "salt", "type"]);
  assert.equal(headers.get("kdf"), "argon2");
  assert.equal(bytes.length, 4 + 1 + 32 + 16);
});

test("what armor holds comes out again, whatever it is", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 500 }), (bytes) => {
      assert.deepEqual(Buffer.from(read(armor("X", { a: "b" }, bytes)).bytes), Buffer.from(bytes));
    }),
    { numRuns: runs(100, 5000) },
  );
});

test("text around it, indentation, Windows line ends and a lost blank line do no harm", () => {
  const { bytes } = read(known.argon2Export);
  for (const text of [
    `here it is:\n${known.argon2Export}\nbye`,
    known.argon2Export.replace(/^/gm, "    "),
    known.argon2Export.replaceAll("\n", "\r\n"),
    known.argon2Export.replace("\n\n", "\n"),
    known.argon2Export.replace("=3b2+\n", ""),
  ]) {
    assert.deepEqual(read(text).bytes, bytes);
  }
});

test("a changed or lost character → the error says so", () => {
  assert.match(faultOf(known.argon2Export.replace("Kzn448", "Kzn449")), /checksum does not match/);
  assert.match(faultOf(known.argon2Export.replace("Kzn448", "Kzn44")), /checksum does not match/);
  assert.match(faultOf(known.argon2Export.replace("Kzn448", "Kzn44ß")), /line 6 is not base64/);
  assert.match(faultOf(known.argon2Export.replace("-----END", "")), /no line that says END/);
  assert.match(faultOf(known.argon2Export.slice(0, 200)), /no line that says END/);
  assert.match(faultOf("-----BEGIN something"), /BEGIN line is not whole/);
});
