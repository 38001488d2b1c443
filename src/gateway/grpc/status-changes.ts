/** Tells those who follow the status of each change: one look at a time for all of them, and none while nobody follows. */
import { type Clock, sleep } from "../../runtime/clock.ts";
import { followedStatusMs } from "./lease-rpc.ts";
import type { StatusMessage } from "./status-message.ts";

/** The status as it is, then as often as it changes; who is slow finds the newest next. */
type FollowStatus = (signal: AbortSignal) => AsyncGenerator<Uint8Array, void>;

export function createStatusChanges(status: () => StatusMessage, clock: Clock): FollowStatus {
  let next: Promise<void> | undefined;

  /** The same look for all who wait. */
  function nextLook(): Promise<void> {
    next ??= sleep(clock, followedStatusMs).then(() => {
      next = undefined;
    });
    return next;
  }

  return async function* (signal) {
    for (let told: Uint8Array | undefined; !signal.aborted; await nextLook()) {
      const { content, message } = status();
      if (content === told) continue;
      told = content;
      yield message;
    }
  };
}
