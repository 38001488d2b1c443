/** Gas that kinds of messages used. A batch like one that landed needs no simulation: that costs time and node quota. */
import type { Intent } from "../../journal/intents.ts";
import { largest } from "../../runtime/bigint.ts";
import { bodyOf } from "./intent.ts";

/** Messages from which on a simulation may be spared: a node runs fewer in a moment, and a mistake costs their fee. */
export const outboxSparedMessages = 10;
/** The dearest of so many batches that landed last says what a message of their kind costs. */
export const outboxLandedBatches = 8;

export type GasMemory = ReturnType<typeof createGasMemory>;

export function createGasMemory() {
  /** By kind of message; the kinds are few. */
  const simulated = new Map<string, bigint>();
  const landed = new Map<string, { readonly gas: bigint; readonly length: bigint }[]>();

  /** A larger message costs more; one that is smaller may cost as much all the same. */
  function expectedOf(intent: Intent): bigint | undefined {
    const known = landed.get(intent.what);
    if (!known) return undefined;
    const length = lengthOf(intent);
    return largest(...known.map((each) => (each.gas * largest(length, each.length)) / each.length));
  }

  return {
    /** Estimated gas of the message from earlier simulations, 0 without any. For packing. */
    about: ({ what }: Intent) => simulated.get(what) ?? 0n,
    simulated(intents: readonly Intent[], gasUsed: bigint): void {
      for (const { what } of intents) simulated.set(what, gasUsed / BigInt(intents.length));
    },
    /** What these will use, going by what landed; undefined where that is not known well enough to do without a node. */
    expected(intents: readonly Intent[]): bigint | undefined {
      if (intents.length < outboxSparedMessages) return undefined;
      // What was in a transaction that failed is looked at by a node before it costs another fee.
      if (intents.some(({ failures = 0, billed }) => failures > 0 || billed !== undefined)) return undefined;
      const shares = intents.flatMap((intent) => expectedOf(intent) ?? []);
      return shares.length < intents.length ? undefined : shares.reduce((total, share) => total + share, 0n);
    },
    /** A block holds these, and all took effect. Small batches say little: the cost of the transaction itself weighs more there. */
    landed(intents: readonly Intent[], gasUsed: bigint): void {
      const [{ what = "" } = {}] = intents;
      if (intents.length < outboxSparedMessages || intents.some((intent) => intent.what !== what)) return;
      const count = BigInt(intents.length);
      const length = intents.map(lengthOf).reduce((total, each) => total + each, 0n) / count;
      const newest = { gas: gasUsed / count + 1n, length };
      landed.set(what, [newest, ...(landed.get(what) ?? [])].slice(0, outboxLandedBatches));
    },
    /** They failed in a block: their kinds have to land once more before anyone does without a simulation. */
    failed(intents: readonly Intent[]): void {
      for (const { what } of intents) landed.delete(what);
    },
  };
}

/** For comparing messages; the text of its bytes costs nothing to measure. */
function lengthOf(intent: Intent): bigint {
  return BigInt(bodyOf(intent).value.length + 1);
}
