import assert from "node:assert/strict";
import { test } from "node:test";
import {
  addressRangeText,
  countAddresses,
  doOverlap,
  ipAddressText,
  isWithin,
  readAddressRange,
  readIpAddress,
} from "./ip-range.ts";

test("a range is a prefix, or goes from one address to another", () => {
  const rows = [
    ["172.30.0.200-172.30.0.203", "172.30.0.200-172.30.0.203", 4n],
    ["172.30.0.200 - 172.30.0.200", "172.30.0.200", 1n],
    ["192.0.2.7/30", "192.0.2.4-192.0.2.7", 4n],
    ["192.0.2.7/32", "192.0.2.7", 1n],
    ["fd00::5-fd00::8", "fd00::5-fd00::8", 4n],
    ["fd00::/64", "fd00::-fd00::ffff:ffff:ffff:ffff", 2n ** 64n],
  ] as const;
  for (const [text, shown, count] of rows) {
    const range = readAddressRange(text);
    assert.deepEqual([addressRangeText(range), countAddresses([range])], [shown, count], text);
  }
  for (const text of [
    "",
    "a-b",
    "10.0.0.9-10.0.0.1",
    "10.0.0.1-fd00::1",
    "10.0.0.1-10.0.0.2-10.0.0.3",
    "10.0.0.0/33",
  ]) {
    assert.throws(() => readAddressRange(text), { code: "AKP_VALUE_MALFORMED" }, text);
  }
});

test("an address is in a range, and ranges overlap where they share one", () => {
  const range = readAddressRange("172.30.0.200-172.30.0.203");
  const isIn = (text: string) => {
    const address = readIpAddress(text);
    return address && isWithin(address, range);
  };
  assert.deepEqual(["172.30.0.199", "172.30.0.200", "172.30.0.203", "172.30.0.204", "::1", "x"].map(isIn), [
    false,
    true,
    true,
    false,
    false,
    undefined,
  ]);
  assert.equal(doOverlap(range, readAddressRange("172.30.0.203/32")), true);
  assert.equal(doOverlap(range, readAddressRange("172.30.0.204/30")), false);
  assert.equal(countAddresses([range, readAddressRange("172.30.0.202-172.30.0.209"), range]), 10n);
  assert.equal(ipAddressText({ family: 6, value: 1n }), "::1");
});
