import assert from "node:assert/strict";
import { test } from "node:test";
import { migrationNames, readMigration } from "./migrate-routes.ts";

const read = (text: string) => readMigration(Buffer.from(text), "hostnames_to_migrate");
const none = { names: [], dseq: 0n, gseq: 0 };

test("what Go's decoder takes is taken, and what it leaves empty is empty", () => {
  const names = ["a.example.com", "A.example.com", ""];
  const rows: [string, unknown][] = [
    ["null", none],
    ["{}", none],
    ['{"hostnames_to_migrate":null,"destination_dseq":null,"destination_gseq":null}', none],
    [`{"hostnames_to_migrate":${JSON.stringify(names)},"destination_dseq":7}`, { names, dseq: 7n, gseq: 0 }],
    ['{"hostnames_to_migrate":[null]}', { ...none, names: [""] }],
    ['{"HOSTNAMES_to_migrate":["a"],"Destination_Gseq":2} behind it', { names: ["a"], dseq: 0n, gseq: 2 }],
    ['{"destination_dseq":18446744073709551615}', { ...none, dseq: 2n ** 64n - 1n }],
    ['{"destination_gseq":4294967295}', { ...none, gseq: 4_294_967_295 }],
    [
      '{"destination_dseq":1,"destination_dseq":2,"hostnames_to_migrate":["a"],"hostnames_to_migrate":null}',
      { ...none, dseq: 2n },
    ],
    ['{"endpoints_to_migrate":[1],"__proto__":{"names":["x"]},"more":[{"deep":true}]}', none],
  ];
  for (const [text, wanted] of rows) assert.deepEqual(read(text), wanted, text);
});

test("what is no migration is none", () => {
  const numbers = ["18446744073709551616", "-1", "1.0", "1e3", '"1"', "true", "[]", "{}"];
  const bad = ["", " ", "hello", "[]", "1", '"text"', "true", "{", '{"hostnames_to_migrate":["a"', "\ufeff{}"];
  const lists = ['"a"', "[1]", "[[]]", "[{}]", "{}", "0", "false"].map((list) => `{"hostnames_to_migrate":${list}}`);
  const gseqs = [...numbers, "4294967296"].map((number) => `{"destination_gseq":${number}}`);
  const dseqs = numbers.map((number) => `{"destination_dseq":${number}}`);
  for (const text of [...bad, ...lists, ...dseqs, ...gseqs]) assert.equal(read(text), undefined, text);
  assert.equal(readMigration(Uint8Array.of(0xff, 0xfe), "hostnames_to_migrate"), undefined);
});

test("a list is no longer than the longest manifest", () => {
  const list = (length: number) => JSON.stringify({ hostnames_to_migrate: Array.from({ length }, () => "a") });
  assert.equal(read(list(migrationNames))?.names.length, migrationNames);
  assert.throws(() => read(list(migrationNames + 1)), { code: "AKP_MIGRATION_TOO_LONG" });
  assert.equal(read(list(100_000)), undefined);
  assert.equal(read(`${"[".repeat(10_000)}`), undefined);
});
