/** Bytes that clients make us hold, bounded for each client and for all of them together. */
import { createCounts } from "./counts.ts";

/** What one request or stream of a client holds. */
export interface Holding {
  readonly bytes: number;
  /** False, and nothing changes, where there is no room for more. Zero gives all back. */
  resize(bytes: number): boolean;
}

export interface ByteBudget {
  open(client: string): Holding;
}

interface Most {
  readonly ofClient: number;
  readonly ofAll: number;
}

/** No client may hold more than is still free, so that a few greedy ones leave room for others. */
export function createByteBudget({ ofClient, ofAll }: Most): ByteBudget {
  const ofClients = createCounts();
  let all = 0;
  return {
    open(client) {
      let held = 0;
      return {
        get bytes() {
          return held;
        },
        resize(bytes) {
          const more = bytes - held;
          if (more > 0 && ofClients.of(client) + more > Math.min(ofClient, ofAll - all)) return false;
          ofClients.add(client, more);
          all += more;
          held = bytes;
          return true;
        },
      };
    },
  };
}
