import assert from "node:assert/strict";
import { test } from "node:test";
import type { Endpoint } from "./group-spec.ts";
import { leasedAddressesOf } from "./group-totals.ts";

test("endpoints of one number share an address, in whichever unit they stand", () => {
  const endpoint = (kind: Endpoint["kind"], sequenceNumber: number): Endpoint => ({ kind, sequenceNumber });
  const addresses = (...units: Endpoint[][]) => leasedAddressesOf(units.map((endpoints) => ({ endpoints })));
  assert.equal(addresses([endpoint("shared-http", 0), endpoint("random-port", 0)]), 0);
  const [blue, red] = [endpoint("leased-ip", 1), endpoint("leased-ip", 2)];
  assert.equal(addresses([blue, blue], [blue, endpoint("random-port", 0)], [red]), 2);
});
