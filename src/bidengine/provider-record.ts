/** Our on-chain attributes, audits and the market's parameters, read in the background; the last good reading stays. */
import type { AuditedProvider } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { Chain, QueryOptions, Step } from "../chain/chain.ts";
import { showAttribute } from "../market/attributes.ts";
import type { Attribute } from "../market/group-spec.ts";
import { growingPauseMs } from "../runtime/back-off.ts";
import { largest } from "../runtime/bigint.ts";
import type { Clock } from "../runtime/clock.ts";
import { minute, second } from "../runtime/durations.ts";
import { ProviderError } from "../runtime/errors.ts";
import { jsonText } from "../runtime/json-text.ts";
import type { Log } from "../runtime/log.ts";
import { createWakeSignal } from "../runtime/wake-signal.ts";
import { listed } from "./decision/bounded-text.ts";
import type { MarketTerms, ProviderRecord } from "./decision/inputs.ts";

/** Changes are told by blocks; this is for what none has told, such as the network's vote on parameters. */
const ownEntryEveryMs = 10 * minute;
/** Of what one auditor has signed: ten times what anybody publishes, and anybody may sign anything about us. */
const auditorAttributes = 500;
/** Until it has been read nothing is bid on, so the first tries come quickly. */
const ownEntryRetryFirstMs = second;
const ownEntryRetryMostMs = minute;

interface OwnEntryDeps {
  readonly chain: Pick<Chain, "queries" | "provider">;
  readonly configured: readonly Attribute[];
  readonly clock: Clock;
  readonly log: Log;
}

interface Reading {
  readonly entry: ProviderRecord;
  readonly params: MarketTerms | undefined;
}

const unread: Reading = { entry: { state: "unknown", attributes: [], audited: new Map() }, params: undefined };

export type FollowedProviderRecord = ReturnType<typeof followProviderRecord>;

export function followProviderRecord({ chain, configured, clock, log }: OwnEntryDeps) {
  const listeners: (() => void)[] = [];
  const pause = createWakeSignal(clock);
  const firstLook = Promise.withResolvers<void>();
  let current = unread;
  let readAtMs: number | undefined;
  let failure: string | undefined;
  /** A node that has not come so far would still tell the old. */
  let changedAt = 0n;

  async function look(signal: AbortSignal): Promise<void> {
    const read = await readProviderRecord(chain, { atOrAbove: changedAt || undefined, signal });
    readAtMs = clock.monotonicMs();
    failure = undefined;
    if (textOf(read) === textOf(current)) return;
    log.info(current === unread ? "on-chain provider record loaded" : "on-chain provider record changed", {
      state: read.entry.state,
      attributes: read.entry.attributes.length,
      auditors: read.entry.audited.size,
    });
    current = read;
    for (const listener of listeners) listener();
  }

  return {
    get entry(): ProviderRecord {
      return current.entry;
    },
    get params(): MarketTerms | undefined {
      return current.params;
    },
    get ageMs(): number | undefined {
      return readAtMs === undefined ? undefined : clock.monotonicMs() - readAtMs;
    },
    /** What an operator should know: not registered, registered with other attributes, not readable. */
    get trouble(): string | undefined {
      return failure ?? differenceFrom(configured, current.entry);
    },
    get difference(): string | undefined {
      return differenceFrom(configured, current.entry);
    },
    /** Resolves after the first look, also where it came to nothing: whoever decides before it says no to everything. */
    looked: firstLook.promise,
    onChange: (listener: () => void) => void listeners.push(listener),
    /** To be read again soon: the chain refused a bid, so what we know of its demands may be old. */
    doubt: pause.notify,
    onStep({ block, gap, changed }: Step): void {
      const isOurs = changed.some(({ kind }) => kind === "provider");
      // What lost or unreadable blocks said of us, nobody knows.
      const isInDoubt = gap !== undefined || (block?.malformed.length ?? 0) > 0;
      if (!isOurs && !isInDoubt) return;
      changedAt = largest(changedAt, block?.height ?? gap?.to ?? 0n);
      pause.notify();
    },
    async run(signal: AbortSignal): Promise<void> {
      for (let failures = 0; !signal.aborted; ) {
        try {
          await look(signal);
          failures = 0;
        } catch (thrown) {
          if (signal.aborted) break;
          const error = ProviderError.from(thrown);
          failures += 1;
          failure = `what the chain has of us cannot be read: ${error.message}`;
          log.warn("failed to read on-chain provider record", { error, failures });
        }
        firstLook.resolve();

        await pause.wait(
          failures > 0 ? growingPauseMs(ownEntryRetryFirstMs, ownEntryRetryMostMs, failures) : ownEntryEveryMs,
          signal,
        );
      }
      firstLook.resolve();
    },
  };
}

async function readProviderRecord(
  { queries, provider }: OwnEntryDeps["chain"],
  options: QueryOptions,
): Promise<Reading> {
  const [entry, audited, params] = await Promise.all([
    queries.provider(provider, options),
    queries.auditedAttributes(provider, options),
    queries.marketParams(undefined, options),
  ]);
  return {
    entry: {
      state: entry.value ? "registered" : "not registered",
      attributes: plain(entry.value?.attributes ?? []),
      audited: new Map(
        audited.items.map(({ auditor, attributes }: AuditedProvider) => [
          auditor,
          plain(attributes.slice(0, auditorAttributes)),
        ]),
      ),
    },
    params: params.value && {
      minDeposits: params.value.bidMinDeposits.map(({ denom, amount }) => ({ denom, amount: BigInt(amount) })),
      orderMaxBids: params.value.orderMaxBids,
      minReclamationWindowNs: params.value.minReclamationWindowNs,
      maxReclamationWindowNs: params.value.maxReclamationWindowNs,
    },
  };
}

function plain(attributes: readonly Attribute[]): Attribute[] {
  return attributes.map(({ key, value }) => ({ key, value }));
}

/** Why `register` should be run, if it should. Who configures no attributes leaves those on the chain as they are. */
function differenceFrom(configured: readonly Attribute[], { state, attributes }: ProviderRecord): string | undefined {
  if (state === "unknown") return undefined;
  if (state === "not registered") return "we are not registered on the chain: run akash-provider register";
  if (configured.length === 0) return undefined;
  const [ours, theirs] = [new Set(configured.map(showAttribute)), new Set(attributes.map(showAttribute))];
  const missing = [...ours].filter((each) => !theirs.has(each));
  const other = [...theirs].filter((each) => !ours.has(each));
  if (missing.length + other.length === 0) return undefined;
  const parts = [
    ...(missing.length > 0 ? [`it lacks ${listed(missing, (each) => each)}`] : []),
    ...(other.length > 0 ? [`it has ${listed(other, (each) => each)} besides`] : []),
  ];
  return `the chain has other attributes of us than provider.yaml (${parts.join("; ")}): run akash-provider register`;
}

function textOf({ entry, params }: Reading): string {
  return jsonText([entry.state, entry.attributes, [...entry.audited], params]);
}
