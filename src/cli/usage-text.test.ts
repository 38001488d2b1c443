import assert from "node:assert/strict";
import { test } from "node:test";
import { usageCells, usageNote } from "./leases.ts";

const leased = { cpuMilli: "1500", memoryBytes: "536870912", storageBytes: "500000000" };

test("what is used stands before what is leased, each as short as it can be read", () => {
  const usage = { cpuNano: "119000001", memoryBytes: "42257613", storageBytes: "1023" };
  assert.deepEqual(usageCells({ leased, usage }), ["120m of 1.5", "40.3Mi of 512Mi", "1023 of 476.8Mi"]);
  const { storageBytes: _, ...stock } = usage;
  assert.deepEqual(usageCells({ leased, usage: stock }).at(-1), "? of 476.8Mi");
  const hard = { leased: { ...leased, cpuMilli: "112000" }, usage: { ...usage, cpuNano: "75039000001" } };
  assert.equal(usageCells(hard)[0], "75.04 of 112");
  const none = { cpuNano: "0", memoryBytes: "0" };
  assert.deepEqual(usageCells({ leased, usage: none }).slice(0, 2), ["0 of 1.5", "0 of 512Mi"]);
});

test("what is not known is a question mark, and there is a word for why", () => {
  const usage = { unknown: "no metrics API" } as const;
  assert.deepEqual(usageCells({ leased, usage }), ["? of 1.5", "? of 512Mi", "? of 476.8Mi"]);
  assert.deepEqual(usageCells({}), ["", "", ""]);
  const notYet = { unknown: "not measured" } as const;
  assert.equal(usageNote([{ usage: notYet }, {}]), undefined);
  assert.equal(usageNote([{ usage: notYet }, { usage }]), "usage not known: no metrics API");
});
