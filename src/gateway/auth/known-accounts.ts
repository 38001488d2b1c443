/** What is known of accounts, their keys and certificates, put together. */
import type { Chain } from "../../chain/chain.ts";
import type { Journal } from "../../journal/journal.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Log } from "../../runtime/log.ts";
import type { Metrics } from "../../runtime/metrics.ts";
import type { Queue } from "../../runtime/queue.ts";
import type { Random } from "../../runtime/random.ts";
import { type AccountKeys, createAccountKeys } from "./account-keys.ts";
import { type ChainCertificates, createChainCertificates } from "./chain-certificates.ts";
import { createLeaseOwners } from "./lease-owners.ts";
import { createLookups, type LookupCounts } from "./lookups.ts";

export interface KnownAccounts {
  readonly keys: AccountKeys;
  readonly certificates: ChainCertificates;
  /** To be run: it learns about those who have leases. */
  readonly queue: Queue;
  readonly counts: LookupCounts;
  measure(metrics: Metrics): void;
}

interface KnownAccountsDeps {
  readonly chain: Pick<Chain, "queries" | "mirror" | "onStep">;
  readonly journal: Pick<Journal, "read" | "relaxed">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export function createKnownAccounts(deps: KnownAccountsDeps): KnownAccounts {
  const lookups = createLookups(deps.clock);
  const keys = createAccountKeys({ ...deps, lookups, hasLease: (address) => owners.has(address) });
  const certificates = createChainCertificates({ ...deps, lookups });
  const owners = createLeaseOwners({ ...deps, keys, certificates });
  deps.chain.onStep((step) => {
    certificates.note(step);
    owners.note(step);
  });
  return {
    keys,
    certificates,
    queue: owners.queue,
    get counts() {
      return lookups.counts;
    },
    measure(metrics) {
      metrics.read(
        {
          name: "akash_provider_gateway_lookups_total",
          help: "Keys and certificates of strangers that the chain was asked for",
          kind: "counter",
        },
        () => lookups.counts.asked,
      );
      metrics.read(
        {
          name: "akash_provider_gateway_lookups_refused_total",
          help: "Requests answered with 503, because the chain was silent or too many strangers waited",
          kind: "counter",
        },
        () => lookups.counts.refused,
      );
      metrics.read(
        {
          name: "akash_provider_gateway_known",
          help: "Keys and certificates remembered, what is missing included",
          kind: "gauge",
          labels: ["what"],
        },
        () => [
          [{ what: "keys" }, keys.size],
          [{ what: "certificates" }, certificates.size],
        ],
      );
    },
  };
}
