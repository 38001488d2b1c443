import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFolder } from "../../test/support/folder.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import type { Chain } from "../chain/chain.ts";
import type { Bid } from "../chain/records.ts";
import { openJournal } from "../journal/open.ts";
import { decimalOf } from "../market/decimal.ts";
import { formatBidId, parseBidId } from "../market/ids.ts";
import { ProviderError } from "../runtime/errors.ts";
import { rpcRetryFirstMs } from "../runtime/limits.ts";
import { silentLog } from "../runtime/log.ts";
import { createBookkeeper } from "./bookkeeper.ts";

const id = parseBidId(
  "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr/7/1/1/akash1zs23v9ccrydpk8qarc0jqgfzyvjz2f38jm8da6",
);

test("a journal that another program holds for an instant delays a step and does not end it", async (t) => {
  const clock = createVirtualClock();
  const { journal } = await openJournal({ dir: temporaryFolder(t), clock, log: silentLog });
  t.after(() => journal.close());
  let failuresLeft = 2;
  const durable: typeof journal.durable = (label, unit) => {
    if (failuresLeft === 0) return journal.durable(label, unit);
    failuresLeft -= 1;
    return Promise.reject(new ProviderError("AKP_JOURNAL_BUSY", { path: "journal.db", reason: "a backup" }));
  };
  const funds = [{ denom: "uakt", amount: decimalOf(500_000n) }];
  const bid = { id, escrow: { state: "open", height: 5n, funds } } as unknown as Bid;
  const mirror = { height: 5n, timeNs: 1_000_000n, bid: () => bid, lease: () => undefined } as unknown;
  const chain = { mirror, queries: {}, provider: id.provider } as unknown as Chain;
  const { onStep } = createBookkeeper({ chain, journal: { ...journal, durable }, clock, log: silentLog });
  const step = onStep({ changed: [{ kind: "bid", key: formatBidId(id) }] });
  await clock.advance(3 * rpcRetryFirstMs);
  await step;
  assert.equal(journal.read.deposits.get(formatBidId(id))?.amount, 500_000n);
  const { units } = journal.counts;
  await onStep({ changed: [{ kind: "bid", key: formatBidId(id) }] });
  assert.equal(journal.counts.units, units, "what is booked already costs no unit of work");
});
