/** Whether we may bid at all just now: not paused, and our data is not too old. */
import { formatTime } from "../../runtime/clock.ts";
import { minute } from "../../runtime/durations.ts";
import { type BidQuestion, byPolicy, fail, pass } from "./decision.ts";
import type { BidContext } from "./inputs.ts";

/** A mirror further behind shows orders that are gone, and coins that are spent. */
export const bidMirrorBlocksBehind = 5;
/** The network's operator reports every few seconds. */
export const bidSnapshotAgeMs = 2 * minute;

export const biddingIsOn: BidQuestion = ({ context: { pause, policies, nowMs } }) => {
  if (pause) return fail("policies", pausedText(pause));
  return byPolicy(policies.bidding(nowMs));
};

export function pausedText({ reason, sinceMs }: NonNullable<BidContext["pause"]>): string {
  return `bidding is paused since ${formatTime(sinceMs)}${reason && `, ${reason}`}: akash-provider resume`;
}

export const settingsComplete: BidQuestion = ({ context: { missingSettings } }) =>
  missingSettings.length === 0
    ? pass("every setting that a lease needs is given")
    : fail("never", missingSettingsText(missingSettings), { missingSettings: [...missingSettings] });

export function missingSettingsText(flags: readonly string[]): string {
  return `every lease needs settings that are missing: set ${flags.join(" and ")}, and restart`;
}

export const mirrorIsFresh: BidQuestion = ({ context: { mirror } }) => {
  const most = bidMirrorBlocksBehind;
  if (!mirror.ready) return fail("time", "the chain has not been read yet");
  if (mirror.behind === undefined) return fail("time", "no node has reported the newest block");
  const evidence = { behind: Number(mirror.behind), most };
  const reason = `what we know of the chain is ${mirror.behind} blocks behind`;
  return mirror.behind > BigInt(most) ? fail("time", `${reason}, more than ${most}`, evidence) : pass(reason, evidence);
};

/** The first snapshot is notified as room; that an old one is current again is only seen by a recheck. */
export const inventoryFresh: BidQuestion = ({ context: { capacity } }) => {
  const { ageMs, error } = capacity.inventory;
  const most = bidSnapshotAgeMs;
  if (ageMs === undefined) return fail("room", error ?? "no inventory snapshot has come yet");
  const evidence = { ageMs: Math.round(ageMs), mostMs: most };
  const reason = `inventory snapshot is ${Math.round(ageMs / 1000)} s old`;
  if (ageMs > most) return fail("time", `${reason}, more than ${most / 1000} s`, evidence);
  return error === undefined ? pass(reason, evidence) : fail("time", error, evidence);
};
