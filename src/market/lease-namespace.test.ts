import assert from "node:assert/strict";
import { test } from "node:test";
import type { Address } from "./address.ts";
import { leaseNamespace } from "./lease-namespace.ts";

test("a lease's namespace is the one that the rest of the network would give it, whatever the number of the bid", () => {
  const lease = {
    owner: "akash1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqkgj2rc" as Address,
    dseq: 12_345n,
    gseq: 1,
    oseq: 1,
    provider: "akash1pppppppppppppppppppppppppppppppp0fsq2l" as Address,
    bseq: 0,
  };
  const expected = "3cs3atap68luflqvql4g50n685lhg0n8ok0mg3a7khb8e";
  assert.equal(leaseNamespace(lease), expected);
  assert.equal(leaseNamespace({ ...lease, bseq: 7 }), expected);
  assert.notEqual(leaseNamespace({ ...lease, dseq: 12_346n }), expected);
});
