/** Our on-chain attributes, audits and the market's parameters, read in the background; the last good reading stays. */
import type { AuditedProvider } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { Chain, QueryOptions, Step } from "../chain/chain.ts";
import { showAttribute } from "../market/attributes.ts";
import type { Attribute } from "../market/group-spec.ts";
import { growingPauseMs } from "../runtime/back-off.ts";
import { largest } from "../runtime/bigint.ts";
import type { RuntimeDeps } from "../runtime/deps.ts";
import { minute, second } from "../runtime/durations.ts";
import { ProviderError } from "../runtime/errors.ts";
import { jsonText } from "../runtime/json-text.ts";
import { createWakeSignal } from "../runtime/wake-signal.ts";
import { listed } from "./decision/bounded-text.ts";
import type { BidParams, ProviderRecord } from "./decision/inputs.ts";

/** Blocks report most changes; this is for the others, such as votes on parameters. */
const recordReadEveryMs = 10 * minute;
/** Attributes kept of one auditor: ten times what providers publish, and any account may sign anything about us. */
const auditorAttributes = 500;
/** Until it has been read nothing is bid on, so the first retries come quickly. */
const recordRetryFirstMs = second;
const recordRetryMostMs = minute;

interface ProviderRecordDeps extends RuntimeDeps {
  readonly chain: Pick<Chain, "queries" | "provider">;
}

interface Reading {
  readonly record: ProviderRecord;
  readonly params: BidParams | undefined;
}

const unread: Reading = { record: { state: "unknown", attributes: [], audited: new Map() }, params: undefined };

export type FollowedProviderRecord = ReturnType<typeof followProviderRecord>;

/** `configured` are the attributes in provider.yaml. */
export function followProviderRecord(configured: readonly Attribute[], { chain, clock, log }: ProviderRecordDeps) {
  const listeners: (() => void)[] = [];
  const wakeup = createWakeSignal(clock);
  const firstRead = Promise.withResolvers<void>();
  let current = unread;
  let readAtMs: number | undefined;
  let failure: string | undefined;
  /** A node that has not come so far would still report the old. */
  let changedAt = 0n;

  async function read(signal: AbortSignal): Promise<void> {
    const found = await readProviderRecord(chain, { atOrAbove: changedAt || undefined, signal });
    readAtMs = clock.monotonicMs();
    failure = undefined;
    if (textOf(found) === textOf(current)) return;
    const { state, attributes, audited } = found.record;
    log.info(current === unread ? "on-chain provider record loaded" : "on-chain provider record changed", {
      ...{ state, attributes: attributes.length, auditors: audited.size },
    });
    current = found;
    for (const listener of listeners) listener();
  }

  const difference = () => differenceFrom(configured, current.record);
  return {
    get current(): ProviderRecord {
      return current.record;
    },
    get params(): BidParams | undefined {
      return current.params;
    },
    get ageMs(): number | undefined {
      return readAtMs === undefined ? undefined : clock.monotonicMs() - readAtMs;
    },
    /** Not readable, not registered, or registered with other attributes. */
    get error(): string | undefined {
      return failure ?? difference();
    },
    get difference(): string | undefined {
      return difference();
    },
    /** Resolves after the first attempt, also a failed one: before it every decision would be a no. */
    firstRead: firstRead.promise,
    onChange: (listener: () => void) => void listeners.push(listener),
    /** Reads it again now: the chain rejected a bid, so the parameters may be old. */
    refresh: wakeup.notify,
    onStep({ block, gap, changed }: Step): void {
      const isOurs = changed.some(({ kind }) => kind === "provider");
      // A lost or unreadable block may have changed it.
      const mayHaveChanged = gap !== undefined || (block?.malformed.length ?? 0) > 0;
      if (!isOurs && !mayHaveChanged) return;
      changedAt = largest(changedAt, block?.height ?? gap?.to ?? 0n);
      wakeup.notify();
    },
    async run(signal: AbortSignal): Promise<void> {
      for (let failures = 0; !signal.aborted; ) {
        try {
          await read(signal);
          failures = 0;
        } catch (thrown) {
          if (signal.aborted) break;
          const error = ProviderError.from(thrown);
          failures += 1;
          failure = `what the chain has of us cannot be read: ${error.message}`;
          log.warn("failed to read on-chain provider record", { error, failures });
        }
        firstRead.resolve();
        const retryMs = growingPauseMs(recordRetryFirstMs, recordRetryMostMs, failures);
        await wakeup.wait(failures > 0 ? retryMs : recordReadEveryMs, signal);
      }
      firstRead.resolve();
    },
  };
}

async function readProviderRecord(
  { queries, provider }: ProviderRecordDeps["chain"],
  options: QueryOptions,
): Promise<Reading> {
  const [record, audited, params] = await Promise.all([
    queries.provider(provider, options),
    queries.auditedAttributes(provider, options),
    queries.marketParams(undefined, options),
  ]);
  return {
    record: {
      state: record.value ? "registered" : "not registered",
      attributes: plain(record.value?.attributes ?? []),
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

/** Why `register` should be run, if it should. Without configured attributes those on the chain stay. */
function differenceFrom(configured: readonly Attribute[], { state, attributes }: ProviderRecord): string | undefined {
  if (state === "unknown") return undefined;
  if (state === "not registered") return "we are not registered on the chain: run akash-provider register";
  if (configured.length === 0) return undefined;
  const [ours, theirs] = [new Set(configured.map(showAttribute)), new Set(attributes.map(showAttribute))];
  const [missing, other] = [ours.difference(theirs), theirs.difference(ours)];
  if (missing.size + other.size === 0) return undefined;
  const parts = [
    ...(missing.size > 0 ? [`it lacks ${listed([...missing])}`] : []),
    ...(other.size > 0 ? [`it has ${listed([...other])} besides`] : []),
  ];
  return `the chain has other attributes of us than provider.yaml (${parts.join("; ")}): run akash-provider register`;
}

function textOf({ record, params }: Reading): string {
  return jsonText([record.state, record.attributes, [...record.audited], params]);
}
