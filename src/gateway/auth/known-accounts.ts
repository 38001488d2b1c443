/** What is known of accounts, their keys and certificates, put together. */
import type { Chain, Step } from "../../chain/chain.ts";
import { isOfChain } from "../../chain/chain-failure.ts";
import { runs } from "../../chain/records.ts";
import type { Journal } from "../../journal/journal.ts";
import { type Address, parseAddress } from "../../market/address.ts";
import type { Clock } from "../../runtime/clock.ts";
import { minute } from "../../runtime/durations.ts";
import type { Log } from "../../runtime/log.ts";
import type { Metrics } from "../../runtime/metrics.ts";
import { done, type Outcome, recheck, waiting } from "../../runtime/outcome.ts";
import { createQueue } from "../../runtime/queue.ts";
import type { Random } from "../../runtime/random.ts";
import { createAccountKeys, type KeptKeys } from "./account-keys.ts";
import { createChainCertificates, type KeptCertificates, type OwnedCertificate } from "./chain-certificates.ts";
import { createLookups, type LookupCounts } from "./lookups.ts";

export type KnownAccounts = ReturnType<typeof createKnownAccounts>;

interface KnownAccountsDeps {
  readonly chain: Pick<Chain, "queries" | "mirror" | "onStep">;
  readonly journal: Pick<Journal, "read" | "relaxed">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export function createKnownAccounts(deps: KnownAccountsDeps) {
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
    /** To be run: it learns about those who have leases. */
    queue: owners.queue,
    get counts(): LookupCounts {
      return lookups.counts;
    },
    measure(metrics: Metrics): void {
      metrics.readEach("counter", "akash_provider_gateway", [
        ["lookups", "Keys and certificates of strangers that the chain was asked for", () => lookups.counts.sent],
        [
          "lookups_refused",
          "Requests answered with 503, because the chain was silent or too many strangers waited",
          () => lookups.counts.rejected,
        ],
      ]);
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

// Lease owners' keys and certificates are read ahead and kept in the journal: they are let in while the chain is silent, also after a restart.

/** Those who have leases are asked for so many at once: after a start that may be thousands. */
const gatewayOwnersAtOnce = 4;
const gatewayKeylessMs = 10 * minute;

type LeaseOwnersDeps = KnownAccountsDeps & { readonly keys: KeptKeys; readonly certificates: KeptCertificates };

function createLeaseOwners(deps: LeaseOwnersDeps) {
  const { chain, journal, keys, certificates, clock, random, log } = deps;
  const work = { concurrency: gatewayOwnersAtOnce, work: look, clock, random, log };
  const queue = createQueue({ name: "lease owners", ...work });
  let owners = runningOwners();

  function runningOwners(): ReadonlySet<string> {
    return new Set([...chain.mirror.leases()].filter(runs).map(({ id }) => id.owner));
  }

  async function look(key: string, signal: AbortSignal): Promise<Outcome> {
    const owner = parseAddress(key);
    if (!owners.has(owner)) return release(owner);
    try {
      const hasKey = keys.isKept(owner) || (await learnKey(owner, signal));
      await learnCertificates(owner, signal);
      // Others may have signed for it; some day it may sign itself.
      return hasKey ? done() : recheck(gatewayKeylessMs);
    } catch (thrown) {
      if (!isOfChain(thrown)) throw thrown;
      // What a block has told of is not to come back with the next start.
      await write(owner, certificates.keptOf(owner));
      return waiting("chain", thrown.message);
    }
  }

  async function learnKey(owner: Address, signal: AbortSignal): Promise<boolean> {
    const found = await keys.read(owner, signal);
    if (found.kind === "none") return false;
    const { key } = found;
    keys.keep(owner, key);
    await journal.relaxed("a tenant's key", ({ tenants }) => tenants.put({ owner, key }));
    return true;
  }

  async function learnCertificates(owner: Address, signal: AbortSignal): Promise<void> {
    const found = await certificates.read(owner, signal);
    certificates.keep(owner, found.certificates, found.height);
    await write(owner, found.certificates);
  }

  async function write(owner: Address, wanted: readonly OwnedCertificate[]): Promise<void> {
    const written = new Set(journal.read.certificates.of(owner).map(({ serial }) => serial));
    const serials = new Set(wanted.map(({ serial }) => serial));
    const added = wanted.filter(({ serial }) => !written.has(serial));
    const gone = [...written].filter((serial) => !serials.has(serial));
    if (added.length + gone.length === 0) return;
    await journal.relaxed("a tenant's certificates", (tables) => {
      for (const { serial, der } of added) tables.certificates.put({ owner, serial, der });
      for (const serial of gone) tables.certificates.remove(owner, serial);
    });
  }

  async function release(owner: Address): Promise<Outcome> {
    keys.release(owner);
    certificates.release(owner);
    await write(owner, []);
    if (journal.read.tenants.get(owner)) await journal.relaxed("a tenant left", ({ tenants }) => tenants.remove(owner));
    return done();
  }

  for (const { owner, key } of journal.read.tenants.all()) {
    if (owners.has(owner)) keys.keep(parseAddress(owner), key);
    else queue.add(owner);
  }
  for (const owner of journal.read.certificates.owners()) {
    if (owners.has(owner)) certificates.keep(parseAddress(owner), journal.read.certificates.of(owner), 0n);
    else queue.add(owner);
  }
  for (const owner of owners) queue.add(owner);

  return {
    has: (address: Address) => owners.has(address),
    note({ block, gap, changed }: Step): void {
      if (changed.some(({ kind }) => kind === "lease")) {
        const before = owners;
        owners = runningOwners();
        for (const owner of owners) if (!before.has(owner)) queue.add(owner);
        for (const owner of before) if (!owners.has(owner)) queue.add(owner);
      }
      if (gap) for (const owner of owners) queue.add(owner);
      for (const owner of block?.certificatesOf ?? []) if (owners.has(owner)) queue.add(owner, "high");
    },
    queue,
  };
}
