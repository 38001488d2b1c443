/**
 * Our provider in a process of its own, killed at a boundary if it is told one. Its chain is in the parent, which also says
 * when it is enough: it then rests at that height and ends.
 */
import { createHttpTransport } from "../src/chain/comet/http-transport.ts";
import type { Journal } from "../src/journal/journal.ts";
import type { Boundary } from "../src/runtime/boundary.ts";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { startLife } from "./money-life.ts";
import { storyParts } from "./money-story.ts";

export type Asked =
  | {
      readonly what: "live";
      readonly dir: string;
      readonly rpcUrl: string;
      readonly blockMs: number;
      /** The boundary to die at, counted from 1, or where a withdrawal has just left. */
      readonly killAt?: number | "withdrawal";
    }
  /** There is no block after this height. */
  | { readonly what: "end"; readonly height: bigint };

const clock = realClock;
/** Longer than anything takes that follows from the last block. */
const restMs = 500;

/** Block after block in which nothing happens is one boundary. */
const isCursor = (at: string) => at.startsWith("journal cursor commit");

const lastHeight = Promise.withResolvers<bigint>();
process.on("message", (asked: Asked) => {
  if (asked.what === "live") void live(asked);
  else lastHeight.resolve(asked.height);
});

async function live({ dir, rpcUrl, blockMs, killAt }: Extract<Asked, { what: "live" }>): Promise<void> {
  let crossings = 0;
  let last = "";
  let books: Journal["read"] | undefined;
  const isUnderWay = () =>
    books?.intents.unsettled(100).some(({ what, state }) => what === "withdrawLease" && state === "sent");
  const isPlace = (at: string) =>
    killAt === crossings || (killAt === "withdrawal" && at === "broadcast broadcast:after" && isUnderWay());
  const boundary: Boundary = {
    cross(kind, point) {
      const at = `${kind} ${point}`;
      const isIdle = isCursor(at) && isCursor(last);
      last = at;
      if (isIdle) return;
      crossings += 1;
      if (!isPlace(at)) return;
      process.kill(process.pid, "SIGKILL");
      // The signal arrives at once, but not before the next instruction.
      for (;;);
    },
  };
  const transport = () => createHttpTransport({ url: rpcUrl }, clock);
  const life = startLife({ clock, transport, ...storyParts(dir, blockMs), boundary });
  const { chain, journal } = await life.ready;
  books = journal.read;
  process.send?.("ready");
  const height = await lastHeight.promise;
  while (chain.height < height) await sleep(clock, 20);
  await sleep(clock, restMs);
  await life.stop();
  process.disconnect();
}
