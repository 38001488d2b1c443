import assert from "node:assert/strict";
import { test } from "node:test";
import { rateLimitKeyOfAddress } from "./rate-limit-key.ts";

test("rate limit key is an IPv4 address or an IPv6 /64", () => {
  const places: readonly [address: string, place: string][] = [
    ["192.0.2.7", "192.0.2.7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:db8::6", "2001:db8:0:0"],
    ["2001:db8:1:2::", "2001:db8:1:2"],
    ["::1", "0:0:0:0"],
    ["::4:5:6:7:8", "0:0:0:4"],
    ["fe80::1%eth0", "fe80:0:0:0"],
    ["", ""],
  ];
  for (const [address, place] of places) assert.equal(rateLimitKeyOfAddress(address), place, address);
});
