/** Whether we may bid at all just now: nobody stopped us, and what we know is not too old. */
import { formatTime } from "../../runtime/clock.ts";
import { minute } from "../../runtime/durations.ts";
import { type BidQuestion, byPolicy, fail, pass } from "./decision.ts";
import type { Pause } from "./inputs.ts";

/** What is further behind shows orders that are gone already, and coins that are spent. */
export const bidMirrorBlocksBehind = 5;
/** The network's operator tells every few seconds; a cluster may have changed a lot in more than this. */
export const bidPictureAgeMs = 2 * minute;

export const biddingIsOn: BidQuestion = ({ context: { pause, policies, nowMs } }) => {
  if (pause) {
    return fail("policies", pausedText(pause));
  }
  return byPolicy(policies.bidding(nowMs));
};

export function pausedText({ reason, sinceMs }: Pause): string {
  return `bidding is paused since ${formatTime(sinceMs)}${reason && `, ${reason}`}: akash-provider resume`;
}

export const settingsComplete: BidQuestion = ({ context: { missingSettings } }) =>
  missingSettings.length === 0
    ? pass("every setting that a lease needs is given")
    : fail("never", missingSettingsText(missingSettings), { missingSettings: [...missingSettings] });

export function missingSettingsText(flags: readonly string[]): string {
  return `every lease needs settings that are missing: set ${flags.join(" and ")}, and restart`;
}

/** What is behind shows orders that are gone, and a wallet that is spent. */
export const mirrorIsFresh: BidQuestion = ({ context: { mirror } }) => {
  const most = bidMirrorBlocksBehind;
  if (!mirror.ready) return fail("time", "the chain has not been read yet");
  if (mirror.behind === undefined) return fail("time", "no node has told which block is the newest");
  const evidence = { behind: Number(mirror.behind), most };
  const told = `what we know of the chain is ${mirror.behind} blocks behind`;
  return mirror.behind > BigInt(most) ? fail("time", `${told}, more than ${most}`, evidence) : pass(told, evidence);
};

/** The first one is told of as room; that an old one is proven again, nobody tells. */
export const inventoryFresh: BidQuestion = ({ context: { capacity } }) => {
  const { ageMs, error } = capacity.inventory;
  const most = bidPictureAgeMs;
  if (ageMs === undefined) return fail("room", error ?? "no inventory snapshot has come yet");
  const evidence = { ageMs: Math.round(ageMs), mostMs: most };
  const told = `inventory snapshot is ${Math.round(ageMs / 1000)} s old`;
  if (ageMs > most) return fail("time", `${told}, more than ${most / 1000} s`, evidence);
  return error === undefined ? pass(told, evidence) : fail("time", error, evidence);
};
